// The commands of the palette, the menus and the buttons.
import * as vscode from "vscode";
import type { Front } from "../chat/front";
import { once } from "../chat/once";
import { projectUri } from "../project";
import { openToRead } from "../read-only-documents";
import { ask } from "../server/requests";
import type { Server } from "../server/server";
import { t } from "../text";
import { registerPythonCommands } from "./python";
import { registerReports } from "./reports";
import { runShown } from "./shown";
import { tellFailure } from "./tell";

type Target = { sessionId: string };

export function registerCommands(
  context: vscode.ExtensionContext,
  server: Server,
  front: Front,
  log: vscode.LogOutputChannel,
): vscode.Disposable[] {
  const command = vscode.commands.registerCommand;
  const here = () => ({ projectUri: projectUri() });
  return [
    ...registerPythonCommands(context, server, log),
    ...registerReports(server, log),
    ...registerChatCommands(server, front),
    ...registerDocumentCommands(server),
    command("lithify.extractNow", () => runShown(server, "lithify.extract_now", here())),
    command("lithify.compactBuffer", () => runShown(server, "lithify.compact_buffer", here())),
    command("lithify.pauseRecording", () => runShown(server, "lithify.set_recording", { enabled: false, ...here() })),
    command("lithify.resumeRecording", () => runShown(server, "lithify.set_recording", { enabled: true, ...here() })),
  ];
}

/** The buttons under answers, and the menu of the conversation's gauge. */
function registerChatCommands(server: Server, front: Front): vscode.Disposable[] {
  const command = vscode.commands.registerCommand;
  const inFront = (target?: Target) => target?.sessionId ?? front.current?.sessionId;
  const withSession = (act: (sessionId: string) => unknown) => (target?: Target) => {
    const sessionId = inFront(target);
    return sessionId === undefined ? undefined : act(sessionId);
  };
  const compacting = once();
  return [
    command("lithify.compactChatUpTo", (target: Target & { messageId: string }) =>
      compacting(target.sessionId, () => runShown(server, "lithify.compact_up_to_here", target)),
    ),
    command(
      "lithify.compactChatAll",
      withSession((sessionId) => compacting(sessionId, () => compactAll(server, sessionId))),
    ),
    command(
      "lithify.compactChat",
      withSession((sessionId) => runShown(server, "lithify.compact_conversation", { sessionId })),
    ),
    command(
      "lithify.undoChatCompaction",
      withSession((sessionId) => runShown(server, "lithify.undo_compaction", { sessionId })),
    ),
    command("lithify.showSummary", ({ text }: { text: string }) => openToRead(`${t("Summary")}.md`, text)),
    command("lithify.undoCompaction", (argument) => runShown(server, "lithify.undo_compaction", argument)),
  ];
}

/** Compacts every message there is now, the tail included. */
async function compactAll(server: Server, sessionId: string): Promise<void> {
  try {
    const { messages } = await ask(server, "lithify/sessionStatus", { sessionId });
    await runShown(server, "lithify.compact_conversation", { sessionId, start: 0, end: messages });
  } catch (error) {
    tellFailure(error);
  }
}

function registerDocumentCommands(server: Server): vscode.Disposable[] {
  const command = vscode.commands.registerTextEditorCommand;
  return [
    command("lithify.compactDocument", ({ document }) => {
      runShown(server, "lithify.compact_conversation", { uri: document.uri.toString() });
    }),
    command("lithify.compactDocumentUpToCursor", ({ document, selection }) => {
      const line = selection.active.line;
      runShown(server, "lithify.compact_up_to_here", { uri: document.uri.toString(), line });
    }),
  ];
}
