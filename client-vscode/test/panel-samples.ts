// A server and an editor as the sessions panel sees them, for its tests: what is asked is kept, answers are given.
import type { FromPage, ToPage } from "../src/panel/messages";
import { Panel } from "../src/panel/panel";
import type { Kept, PanelState } from "../src/panel/state";
import type { Surroundings } from "../src/panel/surroundings";
import type { Draft, FoundSession, Preview, Session } from "../src/protocol";
import { compacted } from "./samples";

export const STATS = { messagesBefore: 4, messagesAfter: 2, tokensBefore: 900, tokensAfter: 300, durationMs: 10 };
const PREFIX = "<system>Previous context has been compacted. Here is the compaction output:</system>";

export function session(changes: Partial<Session> = {}): Session {
  return {
    sessionId: "chat-1",
    title: "Checkout test",
    revision: 1,
    messages: [
      { id: "m1", role: "user", content: "Why does the checkout fail?" },
      {
        id: "m2",
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "read_file", arguments: '{"path":"cart.py"}' } }],
      },
      { id: "m3", role: "tool", tool_call_id: "c1", content: "def checkout(cart): ..." },
      { id: "m4", role: "assistant", content: "The key was renamed." },
    ],
    compactions: [],
    agent: null,
    record: "turns",
    closed: false,
    createdAt: "2026-07-01T07:30:00.000+00:00",
    updatedAt: "2026-07-01T07:31:00.000+00:00",
    ...changes,
  };
}

export function foundSession(changes: Partial<FoundSession> = {}): FoundSession {
  return {
    uri: "file:///home/ana/.codex/rollout.jsonl",
    agent: "codex",
    title: "Read the cart",
    messages: 2,
    tokens: 40,
    updatedAt: "2026-07-01T07:31:00.000+00:00",
    live: false,
    writable: true,
    resumeCommand: "cd /home/ana/shop && codex resume 1",
    ...changes,
  };
}

export function preview(changes: Partial<Preview> = {}): Preview {
  return {
    type: "preview",
    range: { start: 0, end: 3 },
    requestedRange: { start: 0, end: 3 },
    requests: 1,
    request: { systemPrompt: "You", message: { role: "user", content: [] }, tools: [], settings: {} },
    stats: STATS,
    promptSource: "lithify",
    digest: "d1",
    ...changes,
  };
}

export function draft(changes: Partial<Draft> = {}): Draft {
  return {
    type: "draft",
    draftId: "draft-1",
    sessionId: "chat-1",
    range: { start: 0, end: 3 },
    requestedRange: { start: 0, end: 3 },
    summary: { role: "user", content: `${PREFIX}\nThe key was renamed.` },
    stats: STATS,
    method: "model",
    provider: "editor",
    model: "gpt-5-mini",
    promptSource: "lithify",
    warnings: [],
    ...changes,
  };
}

export type Answer = (argument: Record<string, unknown>, options?: CancelOptions) => unknown;
interface CancelOptions {
  token?: { isCancellationRequested: boolean };
  onProgress?: (message: string) => void;
}

/** A panel whose server answers as told. `sent` holds what it was asked, `state()` what the page was told last. */
export function makePanel(answers: Record<string, Answer> = {}, changes: Partial<Surroundings> = {}) {
  const sent: [string, Record<string, unknown>][] = [];
  const posted: ToPage[] = [];
  const done: unknown[][] = [];
  let kept: Record<string, Kept> = {};
  const usual: Record<string, Answer> = {
    "lithify/listSessions": () => ({
      sessions: [{ sessionId: "chat-1", title: "Checkout test", messages: 4, tokens: 90, updatedAt: "2026-07-01" }],
    }),
    "lithify/listAgentSessions": () => ({ sessions: [foundSession()] }),
    "lithify/getSession": () => session(),
    "lithify/sessionActions": () => ({ actions: [{ command: "x", title: "x", target: "session" }] }),
    "lithify/getAgentSession": () => ({
      ...foundSession(),
      messages: [{ role: "user", text: "Read the cart", toolCalls: [], answers: [], tokens: 5, compactable: true }],
      compactions: [],
      folds: [],
    }),
    "lithify.compact_conversation": ({ dryRun }) => (dryRun ? preview() : draft()),
    "lithify.compact_up_to_here": ({ dryRun }) => (dryRun ? preview() : draft()),
    "lithify.apply_compaction": () => compacted({ compactionId: "k1" }),
    "lithify.discard_draft": () => ({ discarded: true }),
    "lithify.undo_compaction": () => ({ compactionId: "k1", messages: session().messages }),
    "lithify.preview_compaction": () => ({ type: "preview_document" }),
  };
  const answer = async (name: string, argument: unknown, options?: CancelOptions) => {
    sent.push([name, argument as Record<string, unknown>]);
    const give = answers[name] ?? usual[name];
    if (give === undefined) {
      throw new Error(`nobody answers ${name}`);
    }
    return give(argument as Record<string, unknown>, options);
  };
  const noted =
    (name: string) =>
    async (...values: unknown[]) =>
      void done.push([name, ...values]);
  const around: Surroundings = {
    ask: answer as Surroundings["ask"],
    run: answer as Surroundings["run"],
    newCancellation: cancellation,
    project: () => "file:///home/ana/shop",
    compactionEnabled: () => true,
    trusted: () => true,
    words: () => ({}),
    post: (message) => void posted.push(message),
    kept: () => kept,
    keep: (all) => {
      kept = all;
    },
    chooseModel: async () => "gpt-5-mini",
    copy: noted("copy"),
    save: noted("save"),
    openFile: noted("openFile"),
    runInTerminal: (...values) => void done.push(["terminal", ...values]),
    newChat: noted("newChat"),
    doStep: noted("step"),
    ...changes,
  };
  const panel = new Panel(around);
  const state = () => posted.findLast((one) => one.type === "state")?.state as PanelState;
  const hear = (...said: FromPage[]) =>
    said.reduce((before, one) => before.then(() => panel.hear(one)), Promise.resolve());
  return {
    panel,
    hear,
    sent,
    kept: () => around.kept(),
    posted,
    done,
    state,
    asked: (name: string) => sent.filter(([one]) => one === name),
  };
}

/** A token and the way to cancel it, as VS Code's own. */
function cancellation() {
  const listeners: (() => void)[] = [];
  const token = {
    isCancellationRequested: false,
    onCancellationRequested: (listener: () => void) => {
      listeners.push(listener);
      return { dispose: () => undefined };
    },
  };
  const cancel = () => {
    token.isCancellationRequested = true;
    for (const listener of listeners) {
      listener();
    }
  };
  return { token: token as never, cancel };
}
