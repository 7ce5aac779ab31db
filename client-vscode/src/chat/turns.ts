// Which session of the server a chat is, and what of it the chat no longer shows: from what earlier answers left behind.
import type { KeptCompaction, Message } from "../protocol";

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

/** The marks in the metadata of a chat's answers, in order; what is none of ours is passed over. */
export function marksOf(metadata: readonly unknown[]): TurnMark[] {
  return metadata.filter(isMark);
}

function isMark(value: unknown): value is TurnMark {
  const mark = value as Partial<TurnMark> | undefined;
  return typeof mark?.sessionId === "string" && Array.isArray(mark.messageIds) && typeof mark.endedAt === "number";
}

/** The id of the n-th answer of a chat, counted from 1. */
export function answerId(marks: readonly TurnMark[], number: number): string | undefined {
  return marks.map((mark) => mark.answerId).filter((id) => id !== undefined)[number - 1];
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

/** Where a session's messages begin that its chat no longer shows, or undefined where it shows all of them. */
export function firstHidden(messages: readonly Message[], marks: readonly TurnMark[]): number | undefined {
  const shown = new Set(marks.flatMap((mark) => mark.messageIds));
  const index = messages.findIndex(({ id }) => typeof id === "string" && !shown.has(id));
  return index === -1 ? undefined : index;
}
