// Starts the server without being asked where it is needed: beside a chat file, or in a workspace that knows Lithify.
import * as vscode from "vscode";
import { tellFailure } from "../commands/tell";
import { HEAD_CHARACTERS, looksLikeChat } from "../looks-like-chat";
import type { Server } from "./server";

const USED = "lithify.used";
const OFFERED = "lithify.offered";

/** Says once for each version why the server does not run, with what can be done; from then on the status bar tells it. */
function offerOnce(context: vscode.ExtensionContext, error: unknown): void {
  const version = context.extension.packageJSON.version;
  if (context.globalState.get(OFFERED) !== version) {
    context.globalState.update(OFFERED, version);
    tellFailure(error);
  }
}

export function startWhenNeeded(context: vscode.ExtensionContext, server: Server): vscode.Disposable[] {
  const start = () => {
    server.client().catch((error) => offerOnce(context, error));
  };
  const look = (document: vscode.TextDocument) => {
    const head = new vscode.Range(0, 0, 200, 0);
    if (
      server.state === "resting" &&
      looksLikeChat(document.uri.path, document.getText(head).slice(0, HEAD_CHARACTERS))
    ) {
      start();
    }
  };
  if (context.workspaceState.get(USED) === true) {
    start();
  }
  for (const editor of vscode.window.visibleTextEditors) {
    look(editor.document);
  }
  return [
    vscode.window.onDidChangeActiveTextEditor((editor) => editor && look(editor.document)),
    server.onDidChangeState((state) => state === "running" && context.workspaceState.update(USED, true)),
  ];
}
