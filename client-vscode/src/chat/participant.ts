// The chat participant @lithify: plain text goes to the chosen model, commands to the server.
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { messages, tokens } from "../amounts";
import { failureOf } from "../commands/failures";
import { type CompactionResult, summaryStep, undone, undoSteps } from "../commands/results";
import { escaped } from "../markdown";
import { rememberModel } from "../models/complete";
import { projectUri } from "../project";
import type { Compacted, Message, Noop } from "../protocol";
import { isCompactionEnabled } from "../read-settings";
import { ask, type CommandOptions, run } from "../server/requests";
import type { Server } from "../server/server";
import { type NextStep, ServerTrouble } from "../server/trouble";
import { t } from "../text";
import { compactionAnswer, memoryAnswer, statusAnswer } from "./answers";
import { attachments } from "./attachments";
import { source } from "./continue";
import type { Front } from "./front";
import { titleOf, toolMessages } from "./history";
import { ChatSessions } from "./sessions";
import { type Talked, talk } from "./talk";
import { answerId, marksOf, type TurnMark } from "./turns";

const MOST_FOUND = 10;

/** One turn of a chat: what was asked, where the answer goes, and the turns before it. */
interface Turn {
  request: vscode.ChatRequest;
  stream: vscode.ChatResponseStream;
  token: vscode.CancellationToken;
  marks: TurnMark[];
}

/** What a turn added to its session; `failure` where it ended in an error. */
interface Heard {
  heard: Message[];
  answerId?: string;
  failure: vscode.ChatResult;
}

export function registerParticipant(context: vscode.ExtensionContext, server: Server, front: Front): vscode.Disposable {
  const chat = new Participant(context, server, front);
  const participant = vscode.chat.createChatParticipant("lithify.chat", (request, { history }, stream, token) => {
    const results = history.map((turn) => (turn instanceof vscode.ChatResponseTurn ? turn.result.metadata : undefined));
    return chat.answer({ request, stream, token, marks: marksOf(results) });
  });
  participant.iconPath = new vscode.ThemeIcon("database");
  return participant;
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
  async answer(turn: Turn): Promise<vscode.ChatResult> {
    try {
      return await this.byCommand(turn);
    } catch (error) {
      const metadata = passedOn(turn.marks);
      return turn.token.isCancellationRequested ? { metadata } : { ...told(error, turn.stream), metadata };
    }
  }

  private byCommand(turn: Turn): Promise<vscode.ChatResult> {
    switch (turn.request.command) {
      case "compact":
        return this.compact(turn);
      case "compact-up-to":
        return this.compactUpTo(turn);
      case "memory":
        return this.memory(turn);
      case "status":
        return this.status(turn);
      case "undo":
        return this.undo(turn);
      case "continue":
        return this.goOn(turn);
      default:
        return this.talk(turn);
    }
  }

  private async talk(turn: Turn): Promise<vscode.ChatResult> {
    const { request, stream, marks } = turn;
    rememberModel(this.context, request.model);
    const title = titleOf(request.prompt);
    const resumed = await this.sessions.resume(marks, request.model, title);
    const { sessionId } = resumed;
    note(turn, resumed.note);
    const asked = await this.asked(request);
    await this.sessions.append(sessionId, asked);
    const { heard, answerId, failure } = await this.heard(turn, sessionId);
    await this.sessions.append(sessionId, heard);
    this.offer(stream, sessionId, answerId);
    this.front.show({ sessionId, title });
    const ids = [...asked, ...heard].map((one) => one.id as string);
    return { ...failure, metadata: await this.sessions.ended(sessionId, ids, answerId) };
  }

  /** What the model and its tools said, kept also where it ends in an error or is cancelled. */
  private async heard({ request, stream, token }: Turn, sessionId: string): Promise<Heard> {
    const talked: Talked = { text: "", toolUses: [] };
    let failure: vscode.ChatResult = {};
    try {
      await talk(request, await this.sessions.messages(sessionId), stream, token, talked);
    } catch (error) {
      failure = token.isCancellationRequested ? {} : told(error, stream);
    }
    const uses = talked.toolUses.flatMap((use) => toolMessages(use, randomUUID));
    if (talked.text === "") {
      return { heard: uses, failure };
    }
    const answerId = randomUUID();
    return { heard: [...uses, { id: answerId, role: "assistant", content: talked.text }], answerId, failure };
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
    const instructions = turn.request.prompt.trim() || undefined;
    return this.inSession(turn, async (sessionId) => {
      const argument = { sessionId, instructions };
      this.show(turn, await run(this.server, "lithify.compact_conversation", argument, options(turn)));
    });
  }

  private compactUpTo(turn: Turn): Promise<vscode.ChatResult> {
    const { request, stream, marks } = turn;
    return this.inSession(turn, async (sessionId) => {
      const messageId = answerId(marks, Number(request.prompt.trim()));
      if (messageId === undefined) {
        const answers = marks.filter((mark) => mark.answerId !== undefined).length;
        stream.markdown(t("Say up to which answer, as a number from 1 to {0}: /compact-up-to 1", answers));
        return;
      }
      const argument = { sessionId, messageId };
      this.show(turn, await run(this.server, "lithify.compact_up_to_here", argument, options(turn)));
    });
  }

  private undo(turn: Turn): Promise<vscode.ChatResult> {
    return this.inSession(turn, async (sessionId) => {
      turn.stream.markdown(undone(await run(this.server, "lithify.undo_compaction", { sessionId })));
    });
  }

  /** Begins the chat with the messages of another conversation; the user writes the next. */
  private async goOn({ request, stream }: Turn): Promise<vscode.ChatResult> {
    const { title, messages: earlier } = await source(this.server, request.prompt.trim());
    const sessionId = await this.sessions.begin(request.model, title, earlier);
    const status = await ask(this.server, "lithify/sessionStatus", { sessionId });
    const size = [messages(status.messages), tokens(status.tokens)] as const;
    stream.markdown(t("This chat goes on from “{0}”: {1}, {2}. Write on.", escaped(title), ...size));
    this.front.show({ sessionId, title });
    return { metadata: await this.sessions.ended(sessionId, []) };
  }

  /** Does something to the session of a chat, which is first rewound as the chat was. */
  private async inSession(turn: Turn, act: (sessionId: string) => Promise<void>): Promise<vscode.ChatResult> {
    const session = await this.sessions.existing(turn.marks);
    if (session === undefined) {
      turn.stream.markdown(t("This chat has no message yet. Ask something first."));
      return {};
    }
    note(turn, session.note);
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

  private async memory({ request, stream, marks }: Turn): Promise<vscode.ChatResult> {
    const query = request.prompt.trim();
    const place = { projectUri: projectUri(), limit: MOST_FOUND };
    const { records } =
      query === ""
        ? await run(this.server, "lithify.list_memory", place)
        : await run(this.server, "lithify.search_memory", { query, ...place });
    stream.markdown(ownMarkdown(memoryAnswer(records, query)));
    return { metadata: passedOn(marks) };
  }

  private async status({ stream, marks }: Turn): Promise<vscode.ChatResult> {
    const buffer = await ask(this.server, "lithify/bufferStatus", { projectUri: projectUri() });
    const sessionId = marks.at(-1)?.sessionId;
    const chat = sessionId === undefined ? undefined : await ask(this.server, "lithify/sessionStatus", { sessionId });
    stream.markdown(ownMarkdown(statusAnswer(buffer, chat)));
    return { metadata: passedOn(marks) };
  }
}

/** How a command of a turn is run: cancelled with the turn, its progress shown in it. */
function options({ stream, token }: Turn): CommandOptions {
  return { token, onProgress: (message) => stream.progress(message) };
}

function note({ stream }: Turn, text: string | undefined): void {
  if (text !== undefined) {
    stream.markdown(`*${escaped(text)}*\n\n`);
  }
}

/** The mark of a turn that added nothing: the chat's session, so that the next turn finds it. */
function passedOn(marks: readonly TurnMark[]): TurnMark | undefined {
  const last = marks.at(-1);
  return last && { ...last, messageIds: [], answerId: undefined };
}

/** Markdown of our own making, with icons; foreign text in it is escaped. */
function ownMarkdown(text: string): vscode.MarkdownString {
  return new vscode.MarkdownString(text, true);
}

/** Says what went wrong; the buttons stand under the answer. */
function told(error: unknown, stream: vscode.ChatResponseStream): { errorDetails: vscode.ChatErrorDetails } {
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
