// The language client of one run of the server: how it is started, and what it is told first.
import * as vscode from "vscode";
import type { LanguageClient, LanguageClientOptions, Middleware } from "vscode-languageclient/node";
import { settingsInForce, userSettings } from "../read-settings";
import { nested } from "../settings";

const CHAT_FILES = "**/*.{json,jsonl,ndjson,traj,md}";

/** What the server may send us, beside questions to VS Code's model; each is handled in a file of its own. */
const HANDLED = { bufferStatus: true, sessionChanged: true, askInstructions: true };

/** What a run of the server needs of its surroundings. */
export interface Surroundings {
  python: string;
  /** The folder the server runs in: no workspace's, since Python would import from it. */
  folder: string;
  log: vscode.LogOutputChannel;
  middleware: Middleware;
  /** Whether VS Code has a language model. Where it has none the server must know, to take another way. */
  hasModel: boolean;
  onClosed(client: LanguageClient): void;
  onErrorOutput(line: string): void;
}

/** A client that is not started yet. The library is loaded here and not before: most of the bundle is it. */
export async function makeClient({
  python,
  folder,
  log,
  middleware,
  hasModel,
  onClosed,
  onErrorOutput,
}: Surroundings): Promise<LanguageClient> {
  const { CloseAction, ErrorAction, LanguageClient, TransportKind } = await import("vscode-languageclient/node");
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", pattern: CHAT_FILES },
      { scheme: "untitled", pattern: CHAT_FILES },
      ...["json", "jsonl", "markdown"].map((language) => ({ scheme: "untitled", language })),
      { scheme: "lithify-session" },
    ],
    initializationOptions: () => ({ ...nested(userSettings()), client: { ...HANDLED, complete: hasModel } }),
    outputChannel: log,
    middleware: {
      ...middleware,
      workspace: { ...middleware.workspace, configuration: () => [nested(settingsInForce())] },
    },
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        onClosed(client);
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    },
    initializationFailedHandler: () => false,
    stdioOptions: {
      stdout: () => undefined,
      stderr: (stream) => {
        // The log comes as messages too; here is what the server says when it cannot speak the protocol.
        stream.setEncoding("utf8").on("data", (text: string) => {
          for (const line of text.split("\n").filter((one) => one.trim() !== "")) {
            onErrorOutput(line);
          }
        });
      },
    },
  };
  const server = {
    command: python,
    args: ["-P", "-m", "lithify", "serve"],
    transport: TransportKind.stdio,
    options: { cwd: folder },
  };
  const client: LanguageClient = new LanguageClient("lithify", "Lithify", server, options);
  return client;
}

/** Tells the server the settings in force, the workspace's among them. */
export function tellSettings(client: LanguageClient): Promise<void> {
  const settings = { lithify: nested(settingsInForce()) };
  return client.sendNotification("workspace/didChangeConfiguration", { settings });
}

/** Whether the server that answered speaks our version of the protocol. */
export function speaksOurProtocol(client: LanguageClient): boolean {
  const { experimental } = client.initializeResult?.capabilities ?? {};
  return experimental?.lithify?.protocolVersion === 1;
}

/** The folder for the server and for probing Pythons; made where it is not there. */
export async function safeFolder(context: vscode.ExtensionContext): Promise<string> {
  await vscode.workspace.fs.createDirectory(context.globalStorageUri);
  return context.globalStorageUri.fsPath;
}
