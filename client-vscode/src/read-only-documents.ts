// Texts that are opened to be read: a memory record, the buffer, the ledger.
import * as vscode from "vscode";

const SCHEME = "lithify";
const texts = new Map<string, string>();
const changed = new vscode.EventEmitter<vscode.Uri>();

export function registerReadOnlyDocuments(): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: changed.event,
      provideTextDocumentContent: (uri) => texts.get(uri.path) ?? "",
    }),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => uri.scheme === SCHEME && texts.delete(uri.path)),
  );
}

/** Opens a text under a name, whose ending says its language. One that is open already is brought up to date. */
export async function openToRead(name: string, text: string): Promise<void> {
  const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}` });
  texts.set(uri.path, text);
  changed.fire(uri);
  await vscode.window.showTextDocument(uri, { preview: true });
}
