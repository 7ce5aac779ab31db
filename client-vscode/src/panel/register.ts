// The sessions panel as a view of VS Code: its page, its commands, and what it needs of the editor.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Front } from "../chat/front";
import { tellFailure } from "../commands/tell";
import { projectUri } from "../project";
import type { SessionChanged } from "../protocol";
import { isCompactionEnabled } from "../read-settings";
import { ask, run } from "../server/requests";
import type { Server } from "../server/server";
import { t } from "../text";
import { chooseModelFor } from "./choose-model";
import { readFromPage, type ToPage } from "./messages";
import { pageHtml } from "./page";
import { Panel } from "./panel";
import type { Surroundings } from "./surroundings";

const VIEW = "lithify.sessions";
const KEPT = "lithify.keptCompactions";

/** Where in the page a context menu was opened. */
interface Place {
  messageIndex?: unknown;
}

export function registerSessions(
  context: vscode.ExtensionContext,
  server: Server,
  changes: vscode.Event<SessionChanged>,
  front: Front,
  newChat: Surroundings["newChat"],
): vscode.Disposable[] {
  const pages = new Pages(context.extensionUri);
  const panel = new Panel(surroundings(context, server, (message) => pages.post(message), newChat));
  pages.hear = (said) => server.inBackground(panel.hear(said));
  const command = (name: string, act: (place?: Place) => Promise<unknown>) =>
    vscode.commands.registerCommand(name, (place) => act(place).catch((error) => tellFailure(error)));
  const inBackground = (work: Promise<void>) => server.inBackground(work);
  return [
    vscode.window.registerWebviewViewProvider(VIEW, pages),
    changes(({ sessionId }) => inBackground(panel.sessionChanged(sessionId))),
    front.onDidShow(({ sessionId }) => pages.isThere && inBackground(panel.turnEnded(sessionId))),
    server.onDidChangeState((state) => state === "running" && pages.isThere && inBackground(panel.restarted())),
    vscode.workspace.onDidChangeConfiguration(
      (change) => change.affectsConfiguration("lithify") && pages.isThere && inBackground(panel.settingsChanged()),
    ),
    vscode.workspace.onDidGrantWorkspaceTrust(() => pages.isThere && inBackground(panel.settingsChanged())),
    command("lithify.showSessions", async () => vscode.commands.executeCommand(`${VIEW}.focus`)),
    vscode.commands.registerCommand("lithify.openSession", async (key: string) => {
      await vscode.commands.executeCommand(`${VIEW}.focus`);
      await panel.show(key).catch(tellFailure);
    }),
    command("lithify.refreshSessions", () => panel.refresh()),
    command("lithify.sessions.compactUpTo", async (place) => {
      if (typeof place?.messageIndex === "number") {
        await panel.hear({ type: "compact", index: place.messageIndex });
      }
    }),
    command("lithify.sessions.copyMessage", async (place) => {
      const text = typeof place?.messageIndex === "number" ? panel.textAt(place.messageIndex) : undefined;
      await vscode.env.clipboard.writeText(text ?? "");
    }),
  ];
}

/** The page, as often as VS Code makes it: it goes when the view is hidden, and what it showed is sent anew. */
class Pages implements vscode.WebviewViewProvider {
  private view: vscode.WebviewView | undefined;
  hear: (said: NonNullable<ReturnType<typeof readFromPage>>) => void = () => undefined;

  constructor(private readonly extensionUri: vscode.Uri) {}

  get isThere(): boolean {
    return this.view !== undefined;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    const folder = vscode.Uri.joinPath(this.extensionUri, "dist");
    const file = (name: string) => view.webview.asWebviewUri(vscode.Uri.joinPath(folder, name)).toString();
    view.webview.options = { enableScripts: true, localResourceRoots: [folder] };
    view.webview.onDidReceiveMessage((said) => {
      const known = readFromPage(said);
      if (known !== undefined) {
        this.hear(known);
      }
    });
    view.onDidDispose(() => {
      this.view = undefined;
    });
    view.webview.html = pageHtml({
      script: file("panel.js"),
      style: file("panel.css"),
      origin: view.webview.cspSource,
      nonce: randomBytes(18).toString("base64url"),
    });
  }

  post(message: ToPage): void {
    this.view?.webview.postMessage(message);
  }
}

function surroundings(
  { workspaceState }: vscode.ExtensionContext,
  server: Server,
  post: (message: ToPage) => void,
  newChat: Surroundings["newChat"],
): Surroundings {
  return {
    kept: () => workspaceState.get(KEPT, {}),
    keep: (all) => {
      workspaceState.update(KEPT, all);
    },
    ask: (method, params) => ask(server, method, params),
    run: (command, argument, options) => run(server, command, argument, options),
    newCancellation: () => new vscode.CancellationTokenSource(),
    project: projectUri,
    compactionEnabled: isCompactionEnabled,
    trusted: () => vscode.workspace.isTrusted,
    words,
    post,
    newChat,
    chooseModel: chooseModelFor,
    copy: async (text) => {
      await vscode.env.clipboard.writeText(text);
      vscode.window.setStatusBarMessage(`$(check) ${t("The summary is copied.")}`, 3_000);
    },
    save,
    openFile: async (uri) => {
      await vscode.window.showTextDocument(vscode.Uri.parse(uri, true));
    },
    runInTerminal: (name, command) => {
      const terminal = vscode.window.createTerminal({ name });
      terminal.show();
      terminal.sendText(command);
    },
    doStep: async ({ command, argument }) => {
      await vscode.commands.executeCommand(command, ...(argument === undefined ? [] : [argument]));
    },
  };
}

/** The sentences of the page in the user's language; none where that is English. */
function words(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(vscode.l10n.bundle ?? {}).filter((one): one is [string, string] => typeof one[1] === "string"),
  );
}

async function save(name: string, text: string): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const defaultUri = folder && vscode.Uri.joinPath(folder, name);
  const place = await vscode.window.showSaveDialog({ defaultUri, filters: { Markdown: ["md"] } });
  if (place !== undefined) {
    await vscode.workspace.fs.writeFile(place, new TextEncoder().encode(text));
    await vscode.window.showTextDocument(place, { preview: true });
  }
}
