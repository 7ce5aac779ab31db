// The language client of one run of the server: how it is started, and what it is told first.
import type { ChildProcess } from "node:child_process";
import * as vscode from "vscode";
import type { LanguageClient, LanguageClientOptions, Middleware } from "vscode-languageclient/node";
import { settingsInForce } from "../read-settings";
import { type Flat, nested } from "../settings";
import { t } from "../text";
import { isConnectionLost } from "./connection";

/** How long a server may take for its first answer, on a machine that is busy. */
const START_MS = 60_000;

const CHAT_FILES = "**/*.{json,jsonl,ndjson,traj,md}";

/** What the server may send us, beside questions to VS Code's model; each is handled in a file of its own. */
const HANDLED = { bufferStatus: true, sessionChanged: true, askInstructions: true };

/** What a run of the server needs of its surroundings. */
export interface Surroundings {
  process: ChildProcess;
  /** The user's own settings; those of the workspace are told after the start. */
  settings: Flat;
  log: vscode.LogOutputChannel;
  middleware: Middleware;
  /** Whether VS Code has a language model. Where it has none the server must know, to take another way. */
  hasModel: boolean;
  onClosed(client: LanguageClient): void;
  /** What was printed is not the protocol. */
  onUnreadable(): void;
  onErrorOutput(line: string): void;
}

/** A client that is not started yet. The library is loaded here and not before: most of the bundle is it. */
export async function makeClient({
  process,
  settings,
  log,
  middleware,
  hasModel,
  onClosed,
  onUnreadable,
  onErrorOutput,
}: Surroundings): Promise<LanguageClient> {
  const { CloseAction, ErrorAction } = await import("vscode-languageclient/node");
  const { QuietClient } = await import("./quiet-client");
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", pattern: CHAT_FILES },
      { scheme: "untitled", pattern: CHAT_FILES },
      ...["json", "jsonl", "markdown"].map((language) => ({ scheme: "untitled", language })),
      { scheme: "lithify-session" },
    ],
    initializationOptions: () => ({ ...nested(settings), client: { ...HANDLED, complete: hasModel } }),
    outputChannel: log,
    middleware: {
      ...middleware,
      workspace: { ...middleware.workspace, configuration: () => [nested(settingsInForce())] },
    },
    errorHandler: {
      error: (error, written) => {
        const isOfTheSystem = "code" in error; // such as a broken pipe: then the process ends
        if (written === undefined && !isOfTheSystem) {
          onUnreadable();
        }
        return { action: ErrorAction.Continue, handled: true };
      },
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
  const client: LanguageClient = new QuietClient("lithify", "Lithify", async () => process, options);
  return client;
}

/** Waits for the server's first answer. Rejects where it ends before, takes too long, or a signal stops it. */
export async function answers(client: LanguageClient, process: ChildProcess, signals: AbortSignal[]): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve, reject) => {
    for (const signal of signals) {
      const stop = () => reject(signal.reason);
      signal.aborted ? stop() : signal.addEventListener("abort", stop, { once: true });
    }
    const tooLong = t("it did not answer within {0} seconds", START_MS / 1000);
    late = setTimeout(() => reject(new Error(tooLong)), START_MS);
    process.once("close", () => reject(new Error(t("it ended before it was ready"))));
    // Where the connection is lost the process ends too, and all that it said is heard by then.
    client.start().then(resolve, (error) => isConnectionLost(error) || reject(error));
  }).finally(() => clearTimeout(late));
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

/** The folder for the server and for probing Pythons: no workspace's, imports begin there. Made where it is not there. */
export async function safeFolder(context: vscode.ExtensionContext): Promise<string> {
  await vscode.workspace.fs.createDirectory(context.globalStorageUri);
  return context.globalStorageUri.fsPath;
}
