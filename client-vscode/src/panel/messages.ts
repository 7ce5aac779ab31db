// What the panel's page and the extension say to each other. What the page says is checked before it is heeded.
import type { Row } from "./conversation";
import type { PanelState } from "./state";

/** A row as it is sent to the page; `length` is the characters of a text that was cut. */
export interface ShownRow extends Row {
  length?: number;
}

export type ToPage =
  | { type: "words"; words: Record<string, string> }
  | { type: "state"; state: PanelState }
  | { type: "rows"; key: string; version: number; rows: ShownRow[] }
  | { type: "text"; key: string; version: number; index: number; text: string }
  | { type: "show"; index: number };

/** Acts that need nothing but their name. */
const PLAIN = [
  "ready",
  "refresh",
  "more",
  "close",
  "reload",
  "chooseModel",
  "showRequest",
  "write",
  "earlier",
  "cancel",
  "discard",
  "dismiss",
  "undo",
  "copySummary",
  "saveMarkdown",
  "newChat",
  "resume",
  "openFile",
] as const;

export type PlainAct = (typeof PLAIN)[number];

/** Acts with a text that the user wrote. */
const WITH_TEXT = ["typed", "instructions", "draftText", "accept", "again", "open"] as const;

/** Acts on a message, by its index. */
const WITH_INDEX = ["wholeText", "step"] as const;

export type FromPage =
  | { type: PlainAct }
  | { type: (typeof WITH_TEXT)[number]; text: string }
  | { type: (typeof WITH_INDEX)[number]; index: number }
  | { type: "compact"; index?: number };

/** What the page said, or undefined where that is nothing it may say. */
export function readFromPage(said: unknown): FromPage | undefined {
  const { type, text, index } = (typeof said === "object" && said !== null ? said : {}) as Record<string, unknown>;
  const isIndex = Number.isSafeInteger(index) && (index as number) >= 0;
  if (isOne(PLAIN, type)) {
    return { type };
  }
  if (isOne(WITH_TEXT, type) && typeof text === "string") {
    return { type, text };
  }
  if (isOne(WITH_INDEX, type) && isIndex) {
    return { type, index: index as number };
  }
  if (type === "compact" && (isIndex || index === undefined)) {
    return isIndex ? { type, index: index as number } : { type };
  }
  return undefined;
}

const TO_PAGE: readonly unknown[] = ["words", "state", "rows", "text", "show"] satisfies ToPage["type"][];

/** Whether something that reached the page is a message of the extension. */
export function isToPage(said: unknown): said is ToPage {
  return typeof said === "object" && said !== null && TO_PAGE.includes((said as { type?: unknown }).type);
}

/** Characters of a text that the page gets at first; it asks for the whole one. */
export const CUT_AT = 4_000;

/** A row as it is sent: a long text is cut. */
export function shownRow(row: Row): ShownRow {
  return row.text.length > CUT_AT ? { ...row, text: row.text.slice(0, CUT_AT), length: row.text.length } : row;
}

function isOne<Name extends string>(names: readonly Name[], type: unknown): type is Name {
  return (names as readonly unknown[]).includes(type);
}
