// What `vscode.extensions.getExtension("lithify.lithify").activate()` gives another extension. Copy this file to use it.
import type { Event } from "vscode";

/** One thing that happened while somebody worked with an agent. */
export interface LithifyEvent {
  /** A ULID; the same id is recorded once. Made up where it is absent. */
  eventId?: string;
  parentEventId?: string;
  /** 1 to 128 characters. */
  sessionId: string;
  actorId?: string;
  kind: "prompt" | "tool_use" | "session_summary" | "note";
  body:
    | { type: "text"; content: string }
    | { type: "message"; turns: { role: string; content: string }[] }
    /** A use of a tool has `tool_name`, `tool_input` and, once there is one, `tool_response`. */
    | { type: "json"; data: unknown };
  /** ISO 8601 with an offset; now where it is absent. */
  validTime?: string;
  source?: { surface?: string; version?: string; clientId?: string; projectPath?: string };
}

/** What became of an event; `reason` says why one was rejected. */
export interface LithifyEventResult {
  eventId: string | null;
  status: "buffered" | "stored" | "duplicate" | "rejected";
  reason?: string | null;
}

/** A message; keys that are not named here are kept. */
export interface LithifyMessage {
  id?: string | null;
  role: string;
  content?: string | { type: string; text?: string; [key: string]: unknown }[] | null;
  [key: string]: unknown;
}

export interface LithifySessionOptions {
  /** 1 to 128 characters. Opening an id again replaces its messages. */
  sessionId: string;
  title?: string;
  messages?: LithifyMessage[];
  /** The model, its window in tokens and how it is compacted; absent: as the settings say. */
  agent?: {
    model?: string;
    contextWindow?: number;
    compaction?: { enabled?: boolean; type?: string; maxPreservedMessages?: number };
  };
  /** A file URI; absent: the project in front. */
  projectUri?: string;
  /** How much of what is said is recorded; absent: as the settings say. */
  record?: "turns" | "all" | "none";
}

/** What a compaction did. */
export type LithifyCompaction =
  | {
      type: "compacted";
      compactionId: string;
      messages?: LithifyMessage[] | null;
      summary: LithifyMessage;
      range: { start: number; end: number };
      stats: {
        messagesBefore: number;
        messagesAfter: number;
        tokensBefore: number;
        tokensAfter: number;
        durationMs: number;
      };
      warnings: { code: string; message: string }[];
    }
  | { type: "noop"; reason: string };

/** A conversation that Lithify keeps. Every method rejects with an `Error` whose `data.type` names the case. */
export interface LithifySession {
  readonly sessionId: string;
  /** Fires when a compaction or its undoing changed the messages: show these from now on. */
  readonly onDidChange: Event<LithifyMessage[]>;
  append(messages: LithifyMessage[]): Promise<void>;
  /** An edit, a rewind: `deleteCount` messages from `start` on give way to others. */
  splice(start: number, deleteCount: number, messages?: LithifyMessage[]): Promise<void>;
  messages(): Promise<LithifyMessage[]>;
  status(): Promise<{ messages: number; tokens: number; window?: number | null; share?: number | null }>;
  compact(options?: { instructions?: string; maxPreservedMessages?: number }): Promise<LithifyCompaction>;
  compactUpTo(anchor: { messageId: string } | { index: number }, instructions?: string): Promise<LithifyCompaction>;
  /** Puts the original messages back, by default those of the last compaction. */
  undo(compactionId?: string): Promise<LithifyMessage[]>;
  /** Says that it is no longer shown. It stays stored. */
  close(): Promise<void>;
}

export interface LithifyMemoryRecord {
  recordId: string;
  type: string;
  title: string;
  summary: string;
  facts: string[];
  files: string[];
  createdAt: string;
}

export interface LithifyApi {
  /** Grows when something is taken away or changes its meaning. */
  readonly version: 1;
  /** Records events; answers when they are stored. Starts the server where it does not run. */
  recordEvents(events: LithifyEvent[]): Promise<LithifyEventResult[]>;
  openSession(options: LithifySessionOptions): Promise<LithifySession>;
  /** The memory records of a project that fit, the best first; of the project in front where none is named. */
  searchMemory(query: string, options?: { projectUri?: string; limit?: number }): Promise<LithifyMemoryRecord[]>;
}
