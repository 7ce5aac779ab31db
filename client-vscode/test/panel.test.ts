import { describe, expect, test } from "vitest";
import { draft, foundSession, makePanel, preview, session } from "./panel-samples";
import { compacted, serverError } from "./samples";

const OPEN = { type: "open", text: "chat:chat-1" } as const;
const FILE = { type: "open", text: "file:///home/ana/.codex/rollout.jsonl" } as const;

describe("the list", () => {
  test("holds the chats of the project and the sessions of agents", async () => {
    const { hear, state, sent } = makePanel();
    await hear({ type: "ready" });
    expect(state().items.map((one) => [one.key, one.agent])).toEqual([
      ["chat:chat-1", undefined],
      ["file:///home/ana/.codex/rollout.jsonl", "Codex"],
    ]);
    expect(sent[0]?.[1]).toMatchObject({ projectUri: "file:///home/ana/shop" });
  });

  test("says why a session can only be read", async () => {
    const reason = "opencode keeps it in a database";
    const sessions = [foundSession({ writable: false, reason })];
    const { hear, state } = makePanel({ "lithify/listAgentSessions": () => ({ sessions }) });
    await hear({ type: "ready" });
    expect(state().items[1]?.readOnly).toBe(reason);
  });

  test("offers neither writing nor resuming of agents' sessions where the workspace is not trusted", async () => {
    const { hear, state } = makePanel({}, { trusted: () => false });
    await hear({ type: "ready" });
    expect(state().items[1]).toMatchObject({ readOnly: expect.stringContaining("not trusted") });
    expect(state().items[1]).not.toHaveProperty("resumeCommand");
  });

  test.each([
    ["chats", "lithify/listSessions", { sessions: [], cursor: "next" }],
    ["sessions of agents", "lithify/listAgentSessions", { sessions: [], more: true }],
  ])("tells that there are more %s, and reads them when asked", async (_, method, answer) => {
    const { hear, state, asked } = makePanel({ [method]: () => answer });
    await hear({ type: "ready" });
    expect(state().more).toBe(true);
    await hear({ type: "more" });
    expect(asked(method).map(([, params]) => params.limit)).toEqual([100, 200]);
  });

  test("asks for no more than the server lists", async () => {
    const { hear, state, asked } = makePanel({ "lithify/listSessions": () => ({ sessions: [], cursor: "next" }) });
    await hear({ type: "ready" }, ...Array<{ type: "more" }>(12).fill({ type: "more" }));
    expect(asked("lithify/listSessions").at(-1)?.[1].limit).toBe(1_000);
    expect(state().more).toBe(false);
  });

  test("is read anew when it comes into sight again", async () => {
    const { hear, asked } = makePanel();
    await hear({ type: "ready" }, { type: "ready" });
    expect(asked("lithify/listSessions")).toHaveLength(2);
  });

  test("is read anew when a turn of a chat ends", async () => {
    const { panel, hear, asked } = makePanel();
    await hear({ type: "ready" });
    await panel.turnEnded("chat-1");
    expect(asked("lithify/listSessions")).toHaveLength(2);
  });

  test("that cannot be read says so, with what can be done", async () => {
    const fails = () => {
      throw serverError("storage_failed", true, "the disk is full");
    };
    const { hear, state, done } = makePanel({ "lithify/listSessions": fails });
    await hear({ type: "ready" }, { type: "step", index: 0 });
    expect(state().problem).toEqual({ text: "The disk is full.", steps: ["Show Log"] });
    expect(done[0]?.[1]).toMatchObject({ command: "lithify.showLog" });
  });
});

describe("a conversation", () => {
  test("is sent with its messages, and told apart from what it holds", async () => {
    const { hear, posted, state } = makePanel();
    await hear({ type: "ready" }, OPEN);
    const rows = posted.findLast((one) => one.type === "rows");
    expect(rows).toMatchObject({ key: "chat:chat-1", rows: { length: 4 } });
    expect(state().open).toMatchObject({ messages: 4, reading: false, compactable: true });
  });

  test("of an agent is read from its file", async () => {
    const { hear, posted, asked } = makePanel();
    await hear({ type: "ready" }, FILE);
    expect(asked("lithify/getAgentSession")[0]?.[1]).toEqual({ uri: FILE.text });
    expect(posted.findLast((one) => one.type === "rows")).toMatchObject({ rows: [{ text: "Read the cart" }] });
  });

  test("that is read-only offers no compaction", async () => {
    const readOnly = { ...foundSession({ writable: false }), messages: [], compactions: [], folds: [] };
    const { hear, state } = makePanel({ "lithify/getAgentSession": () => readOnly });
    await hear({ type: "ready" }, FILE);
    expect(state().open?.compactable).toBe(false);
  });

  test("offers no compaction where it is switched off", async () => {
    const { hear, state, asked } = makePanel({}, { compactionEnabled: () => false });
    await hear({ type: "ready" }, OPEN, { type: "compact", index: 1 });
    expect(state().open).toMatchObject({ compactable: false, work: { kind: "none" } });
    expect(asked("lithify.compact_up_to_here")).toEqual([]);
  });

  test("offers no compaction where its agent has none", async () => {
    const { hear, state } = makePanel({ "lithify/sessionActions": () => ({ actions: [] }) });
    await hear({ type: "ready" }, OPEN);
    expect(state().open?.compactable).toBe(false);
  });

  test("that cannot be read says so where it would stand", async () => {
    const fails = () => {
      throw serverError("unknown_session", false, "it is gone");
    };
    const { hear, state } = makePanel({ "lithify/getSession": fails });
    await hear({ type: "ready" }, OPEN);
    expect(state().open).toMatchObject({ reading: false, problem: { text: "It is gone." } });
  });

  test("is read anew when the server changed it", async () => {
    const { panel, hear, asked } = makePanel();
    await hear({ type: "ready" }, OPEN);
    await panel.sessionChanged("chat-1");
    await panel.sessionChanged("chat-2");
    expect(asked("lithify/getSession")).toHaveLength(2);
  });

  test("is read anew when a turn of its chat ends", async () => {
    const { panel, hear, asked } = makePanel();
    await hear({ type: "ready" }, OPEN);
    await panel.turnEnded("chat-1");
    await panel.turnEnded("chat-2");
    expect(asked("lithify/getSession")).toHaveLength(2);
  });

  test("tells what its agent does not send any more", async () => {
    const folds = [{ title: "Compacted: 8 messages", messages: 8 }];
    const shown = { ...foundSession(), messages: [], compactions: [], folds };
    const { hear, state } = makePanel({ "lithify/getAgentSession": () => shown });
    await hear({ type: "ready" }, FILE);
    expect(state().open?.folds).toEqual(folds);
  });

  test("comes back with its messages when the page is made anew", async () => {
    const { hear, posted } = makePanel();
    await hear({ type: "ready" }, OPEN);
    posted.length = 0;
    await hear({ type: "ready" });
    expect(posted.map((one) => one.type)).toEqual(["words", "state", "rows"]);
  });

  test("sends a long text cut, and the whole one when it is asked for", async () => {
    const text = "x".repeat(9_000);
    const messages = [{ id: "a", role: "user", content: text }];
    const { hear, posted } = makePanel({ "lithify/getSession": () => session({ messages }) });
    await hear({ type: "ready" }, OPEN);
    expect(posted.findLast((one) => one.type === "rows")).toMatchObject({ rows: [{ length: 9_000 }] });
    await hear({ type: "wholeText", index: 0 });
    expect(posted.at(-1)).toMatchObject({ type: "text", index: 0, text });
  });

  test("resumes its agent in a terminal", async () => {
    const { hear, done } = makePanel();
    await hear({ type: "ready" }, FILE, { type: "resume" });
    expect(done).toEqual([["terminal", "Codex", "cd /home/ana/shop && codex resume 1"]]);
  });

  test("starts a new chat by its key and title", async () => {
    const { hear, done } = makePanel();
    await hear({ type: "ready" }, OPEN, { type: "newChat" });
    expect(done).toEqual([["newChat", "chat:chat-1", "Checkout test"]]);
  });

  test("is saved as Markdown under its title", async () => {
    const { hear, done } = makePanel();
    await hear({ type: "ready" }, OPEN, { type: "saveMarkdown" });
    expect(done[0]?.slice(0, 2)).toEqual(["save", "Checkout test.md"]);
    expect(done[0]?.[2]).toContain("## 3. Tool result\n\n```\ndef checkout(cart): ...\n```");
  });
});

describe("a compaction", () => {
  const PREPARED = [{ type: "ready" }, OPEN, { type: "compact", index: 2 }] as const;

  test("begins with what it would do, and no model is asked", async () => {
    const { hear, state, sent } = makePanel();
    await hear(...PREPARED);
    expect(sent.at(-1)).toEqual(["lithify.compact_up_to_here", { sessionId: "chat-1", index: 2, dryRun: true }]);
    expect(state().open?.work).toMatchObject({ kind: "options", looking: false, preview: { range: { end: 3 } } });
  });

  test("of the whole conversation names no message", async () => {
    const { hear, sent } = makePanel();
    await hear({ type: "ready" }, OPEN, { type: "compact" });
    expect(sent.at(-1)).toEqual(["lithify.compact_conversation", { sessionId: "chat-1", dryRun: true }]);
  });

  test("that would do nothing says so", async () => {
    const { hear, state } = makePanel({
      "lithify.compact_conversation": () => ({ type: "noop", reason: "too_few_messages" }),
    });
    await hear({ type: "ready" }, OPEN, { type: "compact" });
    expect(state().open?.work).toMatchObject({ noop: expect.stringContaining("Nothing to compact") });
  });

  test("heeds instructions and the chosen model, on just the messages that were shown", async () => {
    const { hear, sent } = makePanel();
    await hear(...PREPARED, { type: "instructions", text: " keep names " }, { type: "chooseModel" }, { type: "write" });
    expect(sent.at(-1)?.[1]).toEqual({
      sessionId: "chat-1",
      index: 2,
      instructions: "keep names",
      compactionModel: "gpt-5-mini",
      digest: "d1",
      draft: true,
    });
  });

  test("tells what it is doing", async () => {
    const seen: unknown[] = [];
    const { hear } = makePanel(
      {
        "lithify.compact_up_to_here": ({ dryRun }, options) => {
          options?.onProgress?.("Summarising 3 messages");
          return dryRun ? preview() : draft();
        },
      },
      { post: (message) => message.type === "state" && seen.push(message.state.open?.work) },
    );
    await hear(...PREPARED, { type: "write" });
    expect(seen).toContainEqual(expect.objectContaining({ kind: "writing", doing: "Summarising 3 messages" }));
  });

  test("that is cancelled goes back to what was chosen", async () => {
    const { hear, state } = makePanel({
      "lithify.compact_up_to_here": ({ dryRun }, options) =>
        dryRun
          ? preview()
          : new Promise((_, reject) => {
              const token = options?.token as unknown as { onCancellationRequested(act: () => void): void };
              token.onCancellationRequested(() => reject(serverError("cancelled", true)));
            }),
    });
    await hear(...PREPARED, { type: "instructions", text: "names" });
    const writing = hear({ type: "write" });
    await expect.poll(() => state().open?.work.kind).toBe("writing");
    await hear({ type: "cancel" });
    await writing;
    expect(state().open?.work).toMatchObject({
      kind: "options",
      instructions: "names",
      upTo: 2,
      preview: { requests: 1 },
    });
  });

  test("that fails says why, and what was chosen stays", async () => {
    const { hear, state } = makePanel({
      "lithify.compact_up_to_here": ({ dryRun }) => {
        if (dryRun) {
          return preview();
        }
        throw serverError("model_unavailable", true, "no model is there");
      },
    });
    await hear(...PREPARED, { type: "write" });
    expect(state().open?.work).toMatchObject({
      kind: "options",
      problem: { text: "No model is there.", steps: ["Choose a Model"] },
    });
  });

  test("is a draft first, without the sentence in front of the summary", async () => {
    const { hear, state } = makePanel();
    await hear(...PREPARED, { type: "write" });
    expect(state().open?.work).toMatchObject({
      kind: "draft",
      draft: { text: "The key was renamed.", by: "gpt-5-mini" },
    });
  });

  test("is applied with the user's edit", async () => {
    const { hear, state, asked } = makePanel();
    await hear(...PREPARED, { type: "write" }, { type: "accept", text: "Renamed in 4f1c." });
    expect(asked("lithify.apply_compaction")[0]?.[1]).toEqual({ draftId: "draft-1", summaryText: "Renamed in 4f1c." });
    expect(state().open?.work).toMatchObject({ kind: "done", told: expect.stringContaining("Compacted") });
  });

  test("that cannot be applied keeps the draft as the user edited it", async () => {
    const { hear, state } = makePanel({
      "lithify.apply_compaction": () => {
        throw serverError("stale", false, "the messages have changed");
      },
    });
    await hear(...PREPARED, { type: "write" }, { type: "accept", text: "mine" });
    expect(state().open?.work).toMatchObject({
      kind: "draft",
      applying: false,
      draft: { text: "mine" },
      problem: { text: "The messages have changed." },
    });
  });

  test("is written anew with another instruction, and the first draft is let go of", async () => {
    let written = 0;
    const { hear, state, asked } = makePanel({
      "lithify.compact_up_to_here": ({ dryRun }) => {
        written += dryRun ? 0 : 1;
        return dryRun ? preview() : draft({ draftId: `draft-${written}` });
      },
    });
    await hear(...PREPARED, { type: "write" }, { type: "again", text: "shorter" });
    expect(asked("lithify.compact_up_to_here").at(-1)?.[1]).toMatchObject({ instructions: "shorter", draft: true });
    expect(state().open?.work).toMatchObject({ kind: "draft", draft: { draftId: "draft-2" } });
    expect(asked("lithify.discard_draft").map(([, argument]) => argument)).toEqual([{ draftId: "draft-1" }]);
  });

  test("that is written anew and fails leaves the draft before", async () => {
    let written = 0;
    const { hear, state } = makePanel({
      "lithify.compact_up_to_here": ({ dryRun }) => {
        if (!dryRun && ++written > 1) {
          throw serverError("timeout", true, "it took too long");
        }
        return dryRun ? preview() : draft();
      },
    });
    await hear(...PREPARED, { type: "write" }, { type: "draftText", text: "edited" }, { type: "again", text: "x" });
    expect(state().open?.work).toMatchObject({
      kind: "draft",
      applying: false,
      draft: { text: "edited" },
      problem: { text: "It took too long." },
    });
  });

  test("whose draft is discarded leaves nothing", async () => {
    const { hear, state, asked } = makePanel();
    await hear(...PREPARED, { type: "write" }, { type: "discard" });
    expect(asked("lithify.discard_draft")).toHaveLength(1);
    expect(state().open?.work).toEqual({ kind: "none" });
  });

  test("whose conversation is left keeps the draft as the user edited it, which the list says", async () => {
    const { hear, asked, state } = makePanel();
    await hear(...PREPARED, { type: "write" }, { type: "draftText", text: "mine" }, { type: "close" });
    expect(state().items.map((one) => one.drafted)).toEqual([true, undefined]);
    await hear(OPEN);
    expect(state().open?.work).toMatchObject({ kind: "draft", draft: { draftId: "draft-1", text: "mine" } });
    expect(asked("lithify.discard_draft")).toEqual([]);
  });

  test("keeps what was typed and not asked for, beside what is left in other conversations", async () => {
    const { hear, state, sent } = makePanel();
    await hear(
      ...PREPARED,
      { type: "typed", text: "keep na" },
      FILE,
      { type: "compact" },
      { type: "typed", text: "x" },
    );
    await hear(OPEN);
    expect(state().open?.work).toMatchObject({ kind: "options", instructions: "keep na", upTo: 2 });
    expect(sent.at(-1)?.[1]).toMatchObject({ dryRun: true, instructions: "keep na" });
    await hear(FILE);
    expect(state().open?.work).toMatchObject({ kind: "options", instructions: "x" });
  });

  test("keeps both in the next window", async () => {
    const first = makePanel();
    await first.hear(...PREPARED, { type: "write" }, { type: "draftText", text: "mine" });
    const second = makePanel({}, { kept: () => structuredClone(first.kept()) });
    await second.hear({ type: "ready" }, OPEN);
    expect(second.state().open?.work).toMatchObject({ kind: "draft", draft: { text: "mine" } });
  });

  test.each([
    ["accepted", { type: "accept", text: "x" }],
    ["discarded", { type: "discard" }],
  ] as const)("that is %s is not kept", async (_, end) => {
    const { hear, kept } = makePanel();
    await hear(...PREPARED, { type: "write" }, end);
    expect(kept()).toEqual({});
  });

  test("whose draft is gone already can be discarded without an error", async () => {
    const gone = () => {
      throw serverError("unknown_draft");
    };
    const { hear, state } = makePanel({ "lithify.discard_draft": gone });
    await hear(...PREPARED, { type: "write" }, { type: "discard" });
    expect(state().open?.work).toEqual({ kind: "none" });
  });

  test("asked for twice at once is written once", async () => {
    const { panel, hear, state, asked } = makePanel();
    await hear(...PREPARED);
    await Promise.all([panel.hear({ type: "write" }), panel.hear({ type: "write" })]);
    expect(asked("lithify.compact_up_to_here").filter(([, { draft: written }]) => written)).toHaveLength(1);
    expect(state().open?.work.kind).toBe("draft");
  });

  test("accepted twice at once is applied once", async () => {
    const { panel, hear, asked } = makePanel();
    await hear(...PREPARED, { type: "write" });
    await Promise.all([panel.hear({ type: "accept", text: "x" }), panel.hear({ type: "accept", text: "x" })]);
    expect(asked("lithify.apply_compaction")).toHaveLength(1);
  });

  test("written anew gives the user's own text back when it is asked for", async () => {
    let written = 0;
    const { hear, state } = makePanel({
      "lithify.compact_up_to_here": ({ dryRun }) => {
        written += dryRun ? 0 : 1;
        return dryRun ? preview() : draft({ draftId: `draft-${written}` });
      },
    });
    await hear(...PREPARED, { type: "write" }, { type: "draftText", text: "mine" }, { type: "again", text: "shorter" });
    expect(state().open?.work).toMatchObject({ draft: { text: "The key was renamed.", earlier: "mine" } });
    await hear({ type: "earlier" });
    expect(state().open?.work).toMatchObject({ draft: { draftId: "draft-2", text: "mine" } });
  });

  test("whose conversation is left while it is written is cancelled, and a draft that comes all the same is let go of", async () => {
    let give: (result: unknown) => void = () => undefined;
    const { hear, state, asked } = makePanel({
      "lithify.compact_up_to_here": ({ dryRun }) =>
        dryRun
          ? preview()
          : new Promise((resolve) => {
              give = resolve;
            }),
    });
    await hear(...PREPARED);
    const writing = hear({ type: "write" });
    await expect.poll(() => state().open?.work.kind).toBe("writing");
    await hear({ type: "close" });
    give(draft());
    await writing;
    expect(asked("lithify.discard_draft")).toHaveLength(1);
    expect(state().open).toBeUndefined();
  });

  test("is undone by its own id", async () => {
    const { hear, asked, state } = makePanel();
    await hear(...PREPARED, { type: "write" }, { type: "accept", text: "x" }, { type: "undo" });
    expect(asked("lithify.undo_compaction")[0]?.[1]).toEqual({ sessionId: "chat-1", compactionId: "k1" });
    expect(state().open?.work).toMatchObject({ kind: "done", told: expect.stringContaining("undone") });
  });

  test("that is undone as a new session shows that one, and says so", async () => {
    const uri = "file:///home/ana/.codex/restored.jsonl";
    const { hear, state } = makePanel({
      "lithify/listAgentSessions": () => ({ sessions: [foundSession(), foundSession({ uri })] }),
      "lithify.undo_compaction": () => ({ uri: FILE.text, compactionId: "k1", restoredUri: uri }),
    });
    await hear({ type: "ready" }, FILE, { type: "undo" });
    expect(state().open).toMatchObject({
      item: { key: uri },
      work: { kind: "done", told: expect.stringContaining("a session of its own") },
    });
  });

  test("that is prepared goes when compaction is switched off", async () => {
    let enabled = true;
    const { panel, hear, state } = makePanel({}, { compactionEnabled: () => enabled });
    await hear(...PREPARED);
    enabled = false;
    await panel.settingsChanged();
    expect(state().open?.work).toEqual({ kind: "none" });
  });

  test("that is written anew by another model keeps the instruction that was typed before", async () => {
    const { hear, state, sent } = makePanel();
    await hear(...PREPARED, { type: "write" }, { type: "instructions", text: "shorter" }, { type: "chooseModel" });
    expect(state().open?.work).toMatchObject({ kind: "draft", instructions: "shorter", model: "gpt-5-mini" });
    await hear({ type: "again", text: "shorter" });
    expect(sent.findLast(([name]) => name === "lithify.compact_up_to_here")?.[1]).toMatchObject({
      instructions: "shorter",
      compactionModel: "gpt-5-mini",
    });
  });

  test("keeps its draft when the server was started anew, and says that it is lost there", async () => {
    const { panel, hear, state } = makePanel();
    await hear(...PREPARED, { type: "write" }, { type: "draftText", text: "mine" });
    await panel.restarted();
    expect(state().open?.work).toMatchObject({ kind: "draft", draft: { text: "mine", lost: true } });
  });

  test("whose draft the server lost is applied with the user's text all the same, once the model has written anew", async () => {
    let lives = "draft-1";
    const { hear, state, sent } = makePanel({
      "lithify.compact_up_to_here": ({ dryRun }) => (dryRun ? preview() : draft({ draftId: lives })),
      "lithify.apply_compaction": ({ draftId }) => {
        if (draftId !== lives) {
          throw serverError("unknown_draft");
        }
        return compacted({ compactionId: "k1" });
      },
    });
    await hear(...PREPARED, { type: "write" });
    lives = "draft-2";
    await hear({ type: "accept", text: "mine" });
    expect(state().open?.work).toMatchObject({ kind: "draft", applying: false, draft: { text: "mine", lost: true } });
    await hear({ type: "accept", text: "mine" });
    expect(state().open?.work).toMatchObject({ kind: "done" });
    expect(sent.findLast(([name]) => name === "lithify.compact_up_to_here")?.[1]).toMatchObject({ digest: "d1" });
    expect(sent.findLast(([name]) => name === "lithify.apply_compaction")?.[1]).toEqual({
      draftId: "draft-2",
      summaryText: "mine",
    });
  });

  test("whose draft the server lost stays when the model cannot write anew", async () => {
    let written = 0;
    const { panel, hear, state } = makePanel({
      "lithify.compact_up_to_here": ({ dryRun }) => {
        if (!dryRun && ++written > 1) {
          throw serverError("stale", false, "the messages have changed");
        }
        return dryRun ? preview() : draft();
      },
    });
    await hear(...PREPARED, { type: "write" });
    await panel.restarted();
    await hear({ type: "accept", text: "mine" });
    expect(state().open?.work).toMatchObject({
      kind: "draft",
      draft: { text: "mine", lost: true },
      problem: { text: "The messages have changed." },
    });
  });

  test("that could not be looked at is, when the server runs again", async () => {
    let runs = false;
    const { panel, hear, state } = makePanel({
      "lithify.compact_up_to_here": () => {
        if (runs) {
          return preview();
        }
        throw new Error("the server did not start");
      },
    });
    await hear(...PREPARED);
    expect(state().open?.work).toMatchObject({ problem: { text: "The server did not start." } });
    runs = true;
    await panel.restarted();
    expect(state().open?.work).toMatchObject({ kind: "options", problem: undefined, preview: { requests: 1 } });
  });

  test("tells the warnings of its result", async () => {
    const warnings = [{ code: "cut_off", message: "it stopped at its limit" }];
    const { hear, state } = makePanel({ "lithify.apply_compaction": () => compacted({ warnings }) });
    await hear(...PREPARED, { type: "write" }, { type: "accept", text: "x" });
    expect(state().open?.work).toMatchObject({ warnings: ["It stopped at its limit."] });
  });
});
