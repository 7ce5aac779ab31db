// Puts the extension together. Activation is cheap: the server starts when something needs it.
import * as vscode from "vscode";
import type { LithifyApi } from "../api";
import { makeApi } from "./api";
import { startChatWith } from "./chat/continue";
import { Front } from "./chat/front";
import { registerParticipant } from "./chat/participant";
import { answerInstructions } from "./commands/ask-instructions";
import { registerCommands } from "./commands/register";
import { middleware } from "./commands/shown";
import { registerMemory } from "./memory/register";
import { answerCompletions, followModels } from "./models/complete";
import { registerOfflineModel } from "./models/offline-provider";
import { registerSessions } from "./panel/register";
import { registerReadOnlyDocuments } from "./read-only-documents";
import { followSettings } from "./server/follow-settings";
import { Server } from "./server/server";
import { sessionChanges } from "./server/session-changes";
import { startWhenNeeded } from "./server/start-when-needed";
import { BufferStatuses } from "./status/buffer-status";
import { keepContextKeys } from "./status/context-keys";
import { StatusBar } from "./status/status-bar";
import { speakWith } from "./text";

let running: Server | undefined;

export function activate(context: vscode.ExtensionContext): LithifyApi {
  speakWith((sentence, ...values) => vscode.l10n.t(sentence, ...values));
  const log = vscode.window.createOutputChannel("Lithify", { log: true });
  const server: Server = new Server(
    context,
    log,
    middleware(() => server),
  );
  running = server;
  const statuses = new BufferStatuses(server);
  const front = new Front();
  answerInstructions(server);
  const changes = sessionChanges(server);
  const api = makeApi(server, changes);
  context.subscriptions.push(
    log,
    server,
    statuses,
    front,
    changes(({ sessionId }) => front.touched(sessionId)),
    new StatusBar(server, statuses, front),
    ...keepContextKeys(server, statuses),
    ...registerCommands(context, server, front, log),
    ...registerSessions(context, server, changes, front, startChatWith),
    ...registerMemory(server),
    ...followSettings(server),
    answerCompletions(context, server),
    followModels(server),
    registerReadOnlyDocuments(),
    registerOfflineModel(),
    registerParticipant(context, server, front),
    ...startWhenNeeded(context, server),
  );
  return api;
}

/** VS Code waits for the server to end in order. */
export async function deactivate(): Promise<void> {
  await running?.stop();
}
