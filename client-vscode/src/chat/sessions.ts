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
import { difference, isRewound, type ShownTurn, type TurnMark, toUndo } from "./turns";

const LAST_ENDED = "lithify.lastTurnOf.";

/** A chat as it is shown: its turns, and the marks that tell its session. */
export interface Shown {
  turns: readonly ShownTurn[];
  marks: readonly TurnMark[];
}

/** The session of a turn; `note` tells the user of something that could not be kept. */
export interface Resumed {
  sessionId: string;
  title: string;
  note?: string;
}

export class ChatSessions {
  /** The agents of the sessions that this window knows. */
  private readonly agents = new Map<string, AgentConfig>();

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {}

  /** The session of a chat, made where there is none, with just the messages that the chat shows. */
  async resume(shown: Shown, model: vscode.LanguageModelChat, title: string): Promise<Resumed> {
    const found = await this.existing(shown, model);
    if (found !== undefined) {
      return found;
    }
    if (shown.marks.length > 0) {
      const note = t("Lithify no longer has the earlier turns of this chat; the model does not see them.");
      return { sessionId: await this.open(agentOf(model), title), title, note };
    }
    const { missing } = difference([], shown.turns);
    return { sessionId: await this.open(agentOf(model), title, missing.map(withId)), title };
  }

  /** The session of a chat, with just the messages that the chat shows; undefined where it has none (yet). */
  async existing(shown: Shown, model: vscode.LanguageModelChat): Promise<Resumed | undefined> {
    const sessionId = shown.marks.at(-1)?.sessionId;
    const session = sessionId === undefined ? undefined : await this.find(sessionId);
    if (session === undefined) {
      return undefined;
    }
    const agent = agentOf(model);
    if (JSON.stringify(session.agent) !== JSON.stringify(agent)) {
      await notify(this.server, "lithify/didChangeSession", { sessionId: session.sessionId, agent });
    }
    this.agents.set(session.sessionId, agent);
    return { sessionId: session.sessionId, title: session.title ?? "", note: await this.rewind(session, shown) };
  }

  /** Compaction was set in another way: the chats of this window heed it from now on. */
  async settingsChanged(): Promise<void> {
    for (const [sessionId, before] of this.agents) {
      const agent = { ...before, compaction: compactionSetting() };
      this.agents.set(sessionId, agent);
      await notify(this.server, "lithify/didChangeSession", { sessionId, agent });
    }
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

  /** A turn begins. Should the window go before it ends, a compaction made after that is known to be later. */
  async begins(sessionId: string): Promise<void> {
    await this.context.workspaceState.update(LAST_ENDED + sessionId, Date.now());
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
    this.agents.set(sessionId, agent);
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

  /** Makes a session hold what its chat shows: no more, and no less. What cannot be taken back is told. */
  private async rewind(session: Session, shown: Shown): Promise<string | undefined> {
    const { sessionId } = session;
    const isBack = isRewound(shown.marks, this.context.workspaceState.get(LAST_ENDED + sessionId));
    const note = isBack ? await this.undoLater(session, shown.marks) : undefined;
    const messages = isBack ? await this.messages(sessionId) : session.messages;
    const { hidden, missing } = difference(messages, shown.turns);
    for (const { start, end } of hidden) {
      const deleteCount = end - start;
      await notify(this.server, "lithify/didSpliceMessages", { sessionId, start, deleteCount, messages: [] });
    }
    await this.append(sessionId, missing.map(withId));
    return note;
  }

  /** Takes back the compactions that came after the last turn that the chat still shows. */
  private async undoLater(
    { sessionId, compactions }: Session,
    marks: readonly TurnMark[],
  ): Promise<string | undefined> {
    for (const compactionId of toUndo(compactions, marks)) {
      try {
        await run(this.server, "lithify.undo_compaction", { sessionId, compactionId });
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        return t("A summary of later turns stays in this chat, since it cannot be undone: {0}", reason);
      }
    }
    return undefined;
  }
}

function withId(message: Message): Message {
  return { ...message, id: randomUUID() };
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
