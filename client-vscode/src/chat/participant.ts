// The chat participant @lithify: plain text goes to the chosen model, commands to the server.
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { messages, tokens } from "../amounts";
import { failureOf } from "../commands/failures";
import { type CompactionResult, summaryStep, undone, undoSteps } from "../commands/results";
import { escaped } from "../markdown";
import { OWN_VENDOR } from "../models/choosing";
import { rememberModel } from "../models/complete";
import { projectUri } from "../project";
import type { Compacted, Message, Noop } from "../protocol";
import { isCompactionEnabled } from "../read-settings";
import { ask, type CommandOptions, run } from "../server/requests";
import type { Server } from "../server/server";
import { type NextStep, ServerTrouble } from "../server/trouble";
import { t } from "../text";
import { compactionAnswer, memoryAnswer, statusAnswer, upToAnswer } from "./answers";
import { attachments } from "./attachments";
import { inNewChat, source } from "./continue";
import type { Front } from "./front";
import { titleOf, toolMessages } from "./history";
import { ChatSessions, type Shown } from "./sessions";
import { shownTurns } from "./shown-turns";
import { type Talked, talk } from "./talk";
import { answered, marksOf, type ShownTurn, type TurnMark } from "./turns";
import { typedCommand } from "./typed-command";

const MOST_FOUND = 10;

/** One turn of a chat: what was asked, where the answer goes, and the turns before it. */
interface Turn {
  request: vscode.ChatRequest;
  command?: string;
  prompt: string;
  stream: vscode.ChatResponseStream;
  token: vscode.CancellationToken;
  shown: Shown;
}

/** What a model and its tools said; `ending` tells an error that this ended in. */
interface Heard {
  heard: Message[];
  ending: vscode.ChatResult;
}

export function registerParticipant(context: vscode.ExtensionContext, server: Server, front: Front): vscode.Disposable {
  const chat = new Participant(context, server, front);
  const participant = vscode.chat.createChatParticipant("lithify.chat", (request, { history }, stream, token) => {
    return chat.answer(request, stream, token, shownTurns(history));
  });
  participant.iconPath = new vscode.ThemeIcon("database");
  const following = vscode.workspace.onDidChangeConfiguration((change) => {
    if (change.affectsConfiguration("lithify.conversation.compaction")) {
      server.inBackground(chat.settingsChanged());
    }
  });
  const again = vscode.commands.registerCommand("lithify.continueInNewChat", inNewChat);
  return vscode.Disposable.from(participant, following, again);
}

class Participant {
  private readonly sessions: ChatSessions;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
    private readonly front: Front,
  ) {
    this.sessions = new ChatSessions(context, server);
  }

  /** Answers one turn; what goes wrong is said in the answer, with its next steps as buttons. */
  async answer(
    request: vscode.ChatRequest,
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
    turns: readonly ShownTurn[],
  ): Promise<vscode.ChatResult> {
    const { command, prompt } = typedCommand(request);
    const turn: Turn = { request, command, prompt, stream, token, shown: { turns, marks: marksOf(turns) } };
    try {
      return await this.byCommand(turn);
    } catch (error) {
      return { ...failure(turn, error), metadata: passedOn(turn) };
    }
  }

  settingsChanged(): Promise<void> {
    return this.sessions.settingsChanged();
  }

  private byCommand(turn: Turn): Promise<vscode.ChatResult> {
    switch (turn.command) {
      case "compact":
        return this.whereOn(turn, () => this.compact(turn));
      case "compact-up-to":
        return this.whereOn(turn, () => this.compactUpTo(turn));
      case "memory":
        return this.memory(turn);
      case "status":
        return this.status(turn);
      case "undo":
        return this.whereOn(turn, () => this.undo(turn));
      case "continue":
        return this.goOn(turn);
      default:
        return this.talk(turn);
    }
  }

  /** Does something where compaction is on, else says that it is off; no model sees the command. */
  private async whereOn(turn: Turn, act: () => Promise<vscode.ChatResult>): Promise<vscode.ChatResult> {
    if (isCompactionEnabled()) {
      return act();
    }
    const argument = "lithify.conversation.compaction";
    turn.stream.markdown(t("Compaction is switched off by the setting {0}.", `\`${argument}\``));
    turn.stream.button({
      title: t("Open Settings"),
      command: "workbench.action.openSettings",
      arguments: [argument],
    });
    return { metadata: passedOn(turn) };
  }

  private async talk(turn: Turn): Promise<vscode.ChatResult> {
    const { request, stream, shown, prompt } = turn;
    rememberModel(this.context, request.model);
    const { sessionId, title, note } = await this.sessions.resume(
      shown,
      request.model,
      titleOf(shown.turns[0]?.prompt ?? prompt),
    );
    say(turn, note);
    const asked = await this.asked(request);
    const ids = asked.map((one) => one.id as string);
    // Our own model's answer says nothing of the work: it is not kept, and the prompt stands for it.
    const answerId = request.model.vendor === OWN_VENDOR ? ids.at(-1) : undefined;
    await this.sessions.begins(sessionId);
    try {
      await this.sessions.append(sessionId, asked);
      this.front.touched(sessionId);
      const { heard, ending } = await this.heard(turn, sessionId);
      const kept = answerId === undefined ? heard : [];
      await this.sessions.append(sessionId, kept);
      ids.push(...kept.map((one) => one.id as string));
      const anchor = answerId ?? answerOf(kept);
      this.offer(stream, sessionId, anchor);
      return { ...ending, metadata: await this.sessions.ended(sessionId, ids, anchor) };
    } catch (error) {
      return { ...failure(turn, error), metadata: await this.sessions.ended(sessionId, ids, answerId) };
    } finally {
      this.front.show({ sessionId, title });
    }
  }

  /** What the model and its tools said, kept also where it ends in an error or is cancelled. */
  private async heard(turn: Turn, sessionId: string): Promise<Heard> {
    const { request, stream, token } = turn;
    const talked: Talked = { text: "", toolUses: [] };
    let ending: vscode.ChatResult = {};
    try {
      await talk(request, await this.sessions.messages(sessionId), stream, token, talked);
    } catch (error) {
      ending = failure(turn, error);
    }
    const uses = talked.toolUses.flatMap((use) => toolMessages(use, randomUUID));
    const answer: Message = { id: randomUUID(), role: "assistant", content: talked.text };
    return { heard: talked.text === "" ? uses : [...uses, answer], ending };
  }

  private async asked(request: vscode.ChatRequest): Promise<Message[]> {
    const attached = await attachments(request.references, randomUUID);
    const prompt: Message = { id: randomUUID(), role: "user", content: request.prompt };
    return [prompt, ...attached.flatMap((use) => toolMessages(use, randomUUID))];
  }

  /** The buttons under an answer. */
  private offer(stream: vscode.ChatResponseStream, sessionId: string, messageId: string | undefined): void {
    if (!isCompactionEnabled() || messageId === undefined) {
      return;
    }
    const upTo = { command: "lithify.compactChatUpTo", title: t("Compact up to here") };
    stream.button({ ...upTo, arguments: [{ sessionId, messageId }] });
    stream.button({ command: "lithify.compactChatAll", title: t("Compact all"), arguments: [{ sessionId }] });
  }

  private compact(turn: Turn): Promise<vscode.ChatResult> {
    const instructions = turn.prompt.trim() || undefined;
    return this.inSession(turn, async (sessionId) => {
      const argument = { sessionId, instructions };
      this.show(turn, await run(this.server, "lithify.compact_conversation", argument, options(turn)));
    });
  }

  private compactUpTo(turn: Turn): Promise<vscode.ChatResult> {
    const { stream, shown, prompt } = turn;
    return this.inSession(turn, async (sessionId) => {
      const answers = answered(shown.marks);
      const chosen = answers[Number(prompt.trim()) - 1];
      if (chosen?.sessionId !== sessionId) {
        stream.markdown(upToAnswer(answers.length));
        return;
      }
      const argument = { sessionId, messageId: chosen.answerId };
      this.show(turn, await run(this.server, "lithify.compact_up_to_here", argument, options(turn)));
    });
  }

  private undo(turn: Turn): Promise<vscode.ChatResult> {
    return this.inSession(turn, async (sessionId) => {
      turn.stream.markdown(undone(await run(this.server, "lithify.undo_compaction", { sessionId })));
    });
  }

  /** Begins the chat with the messages of another conversation; the user writes the next. */
  private async goOn(turn: Turn): Promise<vscode.ChatResult> {
    const { request, stream, shown, prompt } = turn;
    if (shown.turns.length > 0) {
      stream.markdown(t("/continue begins a chat, and this one has begun: write it in a new chat."));
      const again = { command: "lithify.continueInNewChat", title: t("Continue in a New Chat") };
      stream.button({ ...again, arguments: [prompt.trim()] });
      return { metadata: passedOn(turn) };
    }
    const { title, messages: earlier } = await source(this.server, prompt.trim());
    const sessionId = await this.sessions.begin(request.model, title, earlier);
    const status = await ask(this.server, "lithify/sessionStatus", { sessionId });
    const size = [messages(status.messages), tokens(status.tokens)] as const;
    stream.markdown(t("This chat goes on from “{0}”: {1}, {2}. Write on.", escaped(title), ...size));
    this.front.show({ sessionId, title });
    return { metadata: await this.sessions.ended(sessionId, []) };
  }

  /** Does something to the session of a chat, which is first made to hold what the chat shows. */
  private async inSession(turn: Turn, act: (sessionId: string) => Promise<void>): Promise<vscode.ChatResult> {
    const session = await this.sessions.existing(turn.shown, turn.request.model);
    if (session === undefined) {
      turn.stream.markdown(t("This chat has no message yet. Ask something first."));
      return {};
    }
    say(turn, session.note);
    await act(session.sessionId);
    return { metadata: await this.sessions.ended(session.sessionId, []) };
  }

  private show({ stream }: Turn, answered: CompactionResult): void {
    const result = answered as Compacted | Noop; // neither a draft nor a preview was asked for
    stream.markdown(ownMarkdown(compactionAnswer(result)));
    if (result.type === "compacted") {
      for (const step of [summaryStep(result), ...undoSteps(result)]) {
        stream.button(asCommand(step));
      }
    }
  }

  private async memory(turn: Turn): Promise<vscode.ChatResult> {
    const query = turn.prompt.trim();
    const place = { projectUri: projectUri(), limit: MOST_FOUND };
    const { records } =
      query === ""
        ? await run(this.server, "lithify.list_memory", place)
        : await run(this.server, "lithify.search_memory", { query, ...place });
    turn.stream.markdown(ownMarkdown(memoryAnswer(records, query)));
    return { metadata: passedOn(turn) };
  }

  private async status(turn: Turn): Promise<vscode.ChatResult> {
    const buffer = await ask(this.server, "lithify/bufferStatus", { projectUri: projectUri() });
    const sessionId = turn.shown.marks.at(-1)?.sessionId;
    const chat = sessionId === undefined ? undefined : await ask(this.server, "lithify/sessionStatus", { sessionId });
    turn.stream.markdown(ownMarkdown(statusAnswer(buffer, chat)));
    return { metadata: passedOn(turn) };
  }
}

function answerOf(heard: readonly Message[]): string | undefined {
  const last = heard.at(-1);
  return last?.role === "assistant" ? (last.id as string) : undefined;
}

/** How a command of a turn is run: cancelled with the turn, its progress shown in it. */
function options({ stream, token }: Turn): CommandOptions {
  return { token, onProgress: (message) => stream.progress(message) };
}

function say({ stream }: Turn, text: string | undefined): void {
  if (text !== undefined) {
    stream.markdown(`*${escaped(text)}*\n\n`);
  }
}

/** The mark of a turn that added nothing: the chat's session, so that the next turn finds it. */
function passedOn({ shown }: Turn): TurnMark | undefined {
  const last = shown.marks.at(-1);
  return last && { ...last, messageIds: [], answerId: undefined };
}

/** Markdown of our own making, with icons; foreign text in it is escaped. */
function ownMarkdown(text: string): vscode.MarkdownString {
  return new vscode.MarkdownString(text, true);
}

/** Says what went wrong, unless the user cancelled; the buttons stand under the answer. */
function failure({ stream, token }: Turn, error: unknown): vscode.ChatResult {
  if (token.isCancellationRequested) {
    return {};
  }
  const { text, steps } =
    error instanceof ServerTrouble ? { text: error.message, steps: error.steps } : failureOf(error);
  for (const step of steps) {
    stream.button(asCommand(step));
  }
  return { errorDetails: { message: text } };
}

function asCommand({ title, command, argument }: NextStep): vscode.Command {
  return { title, command, arguments: argument === undefined ? [] : [argument] };
}
