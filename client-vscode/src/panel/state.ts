// What the sessions panel shows at a time, and how each event changes that. Messages travel apart from it: they are large.
import type { CompactionStats, MessageRange } from "../protocol";
import { ofWork, resumed } from "./work";

/** Something that went wrong, in a sentence; `steps` are the titles of what can be done next. */
export interface Problem {
  text: string;
  steps: string[];
}

/** A session of the list. `agent` is absent for live chats; `live` tells whether its agent has it open now. */
export interface Listed {
  key: string;
  agent?: string;
  title: string;
  messages: number;
  tokens: number;
  updatedAt: string;
  live: boolean | null;
  /** Why it can only be read; absent where a summary can be written into it. */
  readOnly?: string;
  resumeCommand?: string;
  /** Whether it is a file that the editor can open. */
  file: boolean;
  /** Whether a draft of a summary was left in it. */
  drafted?: boolean;
}

/** What a compaction would do. */
export interface PreviewShown {
  range: MessageRange;
  requests: number;
  stats: CompactionStats;
  model?: string;
  promptSource?: string;
  digest?: string;
}

/** What the user chose for a compaction; `upTo` is a message's index, absent where all but the tail is compacted. */
export interface Chosen {
  upTo?: number;
  instructions: string;
  model?: string;
}

/** A part of a conversation that its agent does not send any more, such as what was compacted away. */
export interface Fold {
  title: string;
  messages: number;
}

export interface Drafted {
  draftId: string;
  text: string;
  /** The text as the model wrote it. */
  written: string;
  /** The user's own text before this one was written anew. */
  earlier?: string;
  /** Whether the server has it no more: the model has to write once more before the text can be accepted. */
  lost?: boolean;
  digest?: string;
  range: MessageRange;
  stats: CompactionStats;
  by: string;
  warnings: string[];
}

/** Where a compaction stands. */
export type Work =
  | { kind: "none" }
  | ({ kind: "options"; looking: boolean; preview?: PreviewShown; noop?: string; problem?: Problem } & Chosen)
  | ({ kind: "writing"; doing: string; before?: Drafted; preview?: PreviewShown } & Chosen)
  | ({ kind: "draft"; draft: Drafted; applying: boolean; problem?: Problem } & Chosen)
  | { kind: "done"; told: string; warnings: string[]; problem?: Problem };

/** What the user left in a conversation, to go on with when it is opened again: a draft, or only what was chosen. */
export interface Kept {
  chosen: Chosen;
  draft?: Drafted;
}

/** The conversation that is open. `version` changes with its messages. */
export interface Opened {
  item: Listed;
  version: number;
  reading: boolean;
  tokens: number;
  messages: number;
  /** Whether compaction is offered in it. */
  compactable: boolean;
  /** Whether there is a compaction to undo. */
  undoable: boolean;
  summarised: boolean;
  folds: Fold[];
  problem?: Problem;
  work: Work;
}

export interface PanelState {
  items: Listed[];
  /** Whether there are more sessions than are listed. */
  more: boolean;
  listing: boolean;
  problem?: Problem;
  open?: Opened;
}

/** What is known of a conversation that was read. */
export interface ReadConversation {
  title: string;
  tokens: number;
  messages: number;
  compactable: boolean;
  undoable: boolean;
  summarised: boolean;
  folds: Fold[];
}

export type PanelEvent =
  | { type: "listing" }
  | { type: "listed"; items: Listed[]; more: boolean }
  | { type: "listFailed"; problem: Problem }
  | { type: "opening"; item: Listed; kept?: Kept }
  | { type: "reading" }
  | ({ type: "read" } & ReadConversation)
  | { type: "readFailed"; problem: Problem }
  | { type: "closed" }
  | { type: "asked"; upTo?: number }
  | { type: "chose"; instructions?: string; model?: string | null }
  | { type: "looking" }
  | { type: "previewed"; preview: PreviewShown }
  | { type: "nothing"; why: string }
  | { type: "writing"; instructions?: string }
  | { type: "progress"; doing: string }
  | { type: "drafted"; draft: Drafted }
  | { type: "edited"; text: string }
  | { type: "lost" }
  | { type: "earlier" }
  | { type: "applying" }
  | { type: "compacted"; told: string; warnings: string[] }
  | { type: "undone"; told: string }
  | { type: "failed"; problem: Problem }
  | { type: "cancelled" }
  | { type: "dropped" };

export const START: PanelState = { items: [], more: false, listing: false };

/** The state after an event. An event that does not fit the state changes nothing. */
export function reduce(state: PanelState, event: PanelEvent): PanelState {
  switch (event.type) {
    case "listing":
      return { ...state, listing: true, problem: undefined };
    case "listed":
      return {
        ...state,
        items: event.items,
        more: event.more,
        listing: false,
        problem: undefined,
        open: renewed(state.open, event.items),
      };
    case "listFailed":
      return { ...state, listing: false, problem: event.problem };
    case "opening":
      return { ...state, open: opened(event.item, event.kept) };
    case "closed":
      return { ...state, open: undefined };
    default:
      return state.open === undefined ? withoutOpen(state, event) : { ...state, open: ofOpen(state.open, event) };
  }
}

/** What happens to the conversation that is open. */
export type OpenEvent = Exclude<PanelEvent, { type: "listing" | "listed" | "listFailed" | "opening" | "closed" }>;

function withoutOpen(state: PanelState, event: OpenEvent): PanelState {
  return event.type === "failed" ? { ...state, problem: event.problem } : state;
}

function opened(item: Listed, kept: Kept | undefined): Opened {
  const { messages, tokens } = item;
  const unknown = { compactable: false, undoable: false, summarised: false, folds: [] };
  return { item, version: 0, reading: true, messages, tokens, ...unknown, work: resumed(kept) };
}

/** The open conversation with what the list tells of it by now. */
function renewed(open: Opened | undefined, items: readonly Listed[]): Opened | undefined {
  const item = items.find((one) => one.key === open?.item.key);
  return open === undefined || item === undefined ? open : { ...open, item };
}

function ofOpen(open: Opened, event: OpenEvent): Opened {
  switch (event.type) {
    case "reading":
      return { ...open, reading: true, problem: undefined };
    case "read": {
      const { type: _, title, ...found } = event;
      const item = title === "" ? open.item : { ...open.item, title };
      const work: Work = open.work.kind === "options" && !found.compactable ? { kind: "none" } : open.work;
      return { ...open, ...found, item, work, reading: false, problem: undefined, version: open.version + 1 };
    }
    case "readFailed":
      return { ...open, reading: false, problem: event.problem };
    case "undone":
      return { ...open, work: { kind: "done", told: event.told, warnings: [] } };
    default:
      return { ...open, work: ofWork(open, event) };
  }
}
