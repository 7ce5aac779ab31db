// Which session of the server a chat is, and what of it the chat no longer shows: from what earlier answers left behind.
import type { KeptCompaction, Message, MessageRange } from "../protocol";

/** What an answer leaves in its metadata, so that the next turn finds its session. */
export interface TurnMark {
  sessionId: string;
  /** Ids of the messages that this turn added to the session. */
  messageIds: string[];
  /** The id of the answer itself; absent for a turn that was a command. */
  answerId?: string;
  /** When the turn ended, in milliseconds since 1970. */
  endedAt: number;
}

/** A turn as the chat shows it: what was asked and answered, and what the answer left behind. */
export interface ShownTurn {
  prompt: string;
  command?: string;
  answer: string;
  /** Whether it ended in an error. */
  failed: boolean;
  metadata: unknown;
}

/** The marks in the metadata of a chat's answers, in order; what is none of ours is passed over. */
export function marksOf(turns: readonly ShownTurn[]): TurnMark[] {
  return turns.map(({ metadata }) => metadata).filter(isMark);
}

function isMark(value: unknown): value is TurnMark {
  const mark = value as Partial<TurnMark> | undefined;
  return typeof mark?.sessionId === "string" && Array.isArray(mark.messageIds) && typeof mark.endedAt === "number";
}

/** The turns of a chat that have an answer, in the order that `/compact-up-to` counts them. */
export function answered(marks: readonly TurnMark[]): TurnMark[] {
  return marks.filter((mark) => mark.answerId !== undefined);
}

/** When the last of these turns ended; 0 where there is none. */
export function shownUntil(marks: readonly TurnMark[]): number {
  return Math.max(0, ...marks.map((mark) => mark.endedAt));
}

/**
 * Whether a chat was rewound, an earlier prompt edited or sent again: its session had a turn that it no longer shows.
 *
 * @param lastEndedAt when the session's last turn ended, as far as it is known
 */
export function isRewound(marks: readonly TurnMark[], lastEndedAt: number | undefined): boolean {
  return lastEndedAt !== undefined && lastEndedAt > shownUntil(marks);
}

/** The compactions that a rewound chat has to undo first, the newest first: they came after its last shown turn. */
export function toUndo(compactions: readonly KeptCompaction[], marks: readonly TurnMark[]): string[] {
  return compactions
    .filter((one) => !one.undone && Date.parse(one.at) > shownUntil(marks))
    .map((one) => one.compactionId)
    .reverse();
}

/** What has to change in a session for it to hold what its chat shows. */
export interface Difference {
  /** Messages that the chat does not show, the last ones first: ranges to be taken out in turn. */
  hidden: MessageRange[];
  /** Messages without ids that it shows and the session lacks; they belong at the end. */
  missing: Message[];
}

/**
 * How a session differs from its chat. A turn whose window was closed or reloaded while it was answered has left no mark:
 * its messages are known by its prompt.
 */
export function difference(messages: readonly Message[], turns: readonly ShownTurn[]): Difference {
  const marked = new Set(marksOf(turns).flatMap((mark) => mark.messageIds));
  const broken = turns.filter(isBroken);
  const last = new Map<ShownTurn, Message>();
  const hidden: MessageRange[] = [];
  let current: ShownTurn | undefined;
  for (const [index, message] of messages.entries()) {
    if (typeof message.id !== "string" || marked.has(message.id)) {
      current = undefined;
      continue;
    }
    if (message.role === "user") {
      current = broken.find((turn) => !last.has(turn) && turn.prompt === message.content);
    }
    if (current !== undefined) {
      last.set(current, message);
    } else if (hidden.at(-1)?.end === index) {
      (hidden.at(-1) as MessageRange).end += 1;
    } else {
      hidden.push({ start: index, end: index + 1 });
    }
  }
  const newest = turns.slice(turns.findLastIndex(({ metadata }) => isMark(metadata)) + 1).filter(isBroken);
  return { hidden: hidden.reverse(), missing: newest.flatMap((turn) => missingOf(turn, last.get(turn))) };
}

function isBroken({ metadata, command, failed }: ShownTurn): boolean {
  return !isMark(metadata) && command === undefined && !failed;
}

/** What a session lacks of a broken turn, whose last message there is given: its prompt, or its answer as far as it came. */
function missingOf({ prompt, answer }: ShownTurn, last: Message | undefined): Message[] {
  const isAnswered = last?.role === "assistant" && !Array.isArray(last.tool_calls);
  return [
    ...(last === undefined ? [{ role: "user", content: prompt }] : []),
    ...(isAnswered || answer.trim() === "" ? [] : [{ role: "assistant", content: answer }]),
  ];
}
