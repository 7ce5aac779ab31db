// The server's side of @lithify chats: each chat is a session there, whose messages are the history.
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { failureData } from "../commands/failures";
import { OWN_VENDOR } from "../models/choosing";
import { projectUri } from "../project";
import type { AgentConfig, DidOpenSession, Message, Session } from "../protocol";
import { compactionSetting, settingsInForce } from "../read-settings";
import { ask, notify, run } from "../server/requests";
import type { Server } from "../server/server";
import { t } from "../text";
import { firstHidden, isRewound, type TurnMark, toUndo } from "./turns";

const LAST_ENDED = "lithify.lastTurnOf.";

/** The session of a turn; `note` tells the user of something that could not be kept. */
export interface Resumed {
  sessionId: string;
  note?: string;
}

export class ChatSessions {
  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {}

  /** The session of the chat with these earlier turns, made where there is none, and rewound as the chat was. */
  async resume(marks: readonly TurnMark[], model: vscode.LanguageModelChat, title: string): Promise<Resumed> {
    const sessionId = marks.at(-1)?.sessionId;
    const agent = agentOf(model);
    if (sessionId === undefined) {
      return { sessionId: await this.open(agent, title) };
    }
    const session = await this.find(sessionId);
    if (session === undefined) {
      const note = t("Lithify no longer has the earlier turns of this chat; the model does not see them.");
      return { sessionId: await this.open(agent, title), note };
    }
    if (JSON.stringify(session.agent) !== JSON.stringify(agent)) {
      await notify(this.server, "lithify/didChangeSession", { sessionId, agent });
    }
    return { sessionId, note: await this.rewind(session, marks) };
  }

  /** The session of the chat with these earlier turns, rewound as the chat was; undefined where it has none (yet). */
  async existing(marks: readonly TurnMark[]): Promise<Resumed | undefined> {
    const sessionId = marks.at(-1)?.sessionId;
    const session = sessionId === undefined ? undefined : await this.find(sessionId);
    return session && { sessionId: session.sessionId, note: await this.rewind(session, marks) };
  }

  /** Adds messages at the end of a session. */
  async append(sessionId: string, messages: Message[]): Promise<void> {
    if (messages.length > 0) {
      await notify(this.server, "lithify/didAppendMessages", { sessionId, messages });
    }
  }

  /** The messages of a session as they are now. */
  async messages(sessionId: string): Promise<Message[]> {
    return (await ask(this.server, "lithify/getSession", { sessionId })).messages;
  }

  /** The mark of a turn that ends now. */
  async ended(sessionId: string, messageIds: string[], answerId?: string): Promise<TurnMark> {
    const endedAt = Date.now();
    await this.context.workspaceState.update(LAST_ENDED + sessionId, endedAt);
    return { sessionId, messageIds, answerId, endedAt };
  }

  /** A new session that begins with messages of another one. These are not recorded again. */
  async begin(model: vscode.LanguageModelChat, title: string, messages: Message[]): Promise<string> {
    return this.open(agentOf(model), title, messages);
  }

  private async open(agent: AgentConfig, title: string, messages: Message[] = []): Promise<string> {
    const sessionId = `vscode-${randomUUID()}`;
    const source = { surface: "vscode", version: vscode.version };
    const opening: DidOpenSession = { sessionId, title, agent, messages, projectUri: projectUri(), source };
    if (messages.length > 0) {
      await notify(this.server, "lithify/didOpenSession", { ...opening, record: "none" });
    }
    const record = "sessions.record" in settingsInForce() ? undefined : "all"; // no one else tells the server of its tools
    await notify(this.server, "lithify/didOpenSession", { ...opening, record });
    return sessionId;
  }

  private async find(sessionId: string): Promise<Session | undefined> {
    try {
      return await ask(this.server, "lithify/getSession", { sessionId });
    } catch (error) {
      if (failureData(error)?.type === "unknown_session") {
        return undefined;
      }
      throw error;
    }
  }

  /** Takes back what came after the last turn that the chat still shows; what cannot be taken back is told. */
  private async rewind(session: Session, marks: readonly TurnMark[]): Promise<string | undefined> {
    const { sessionId } = session;
    if (!isRewound(marks, this.context.workspaceState.get(LAST_ENDED + sessionId))) {
      return undefined;
    }
    let note: string | undefined;
    for (const compactionId of toUndo(session.compactions, marks)) {
      try {
        await run(this.server, "lithify.undo_compaction", { sessionId, compactionId });
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        note = t("A summary of later turns stays in this chat, since it cannot be undone: {0}", reason);
        break;
      }
    }
    const messages = await this.messages(sessionId);
    const start = firstHidden(messages, marks);
    if (start !== undefined) {
      const deleteCount = messages.length - start;
      await notify(this.server, "lithify/didSpliceMessages", { sessionId, start, deleteCount, messages: [] });
    }
    return note;
  }
}

/** The agent of a chat: its model and window, compacted as the settings say. */
function agentOf(model: vscode.LanguageModelChat): AgentConfig {
  const provider = settingsInForce()["model.provider"] ?? "auto";
  const named = model.vendor !== OWN_VENDOR && (provider === "auto" || provider === "editor");
  return {
    ...(named ? { model: model.id } : {}), // names of VS Code's models mean nothing to an agent or an endpoint
    contextWindow: model.maxInputTokens,
    compaction: compactionSetting(),
  };
}
