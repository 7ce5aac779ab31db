import { describe, expect, test, vi } from "vitest";
import { compactionAnswer, memoryAnswer, statusAnswer, upToAnswer } from "../src/chat/answers";
import { forModel, newestWithin, textOf, titleOf, toolMessages } from "../src/chat/history";
import { once } from "../src/chat/once";
import { answered, difference, isRewound, marksOf, type ShownTurn, type TurnMark, toUndo } from "../src/chat/turns";
import { typedCommand } from "../src/chat/typed-command";
import { recordFileName, recordText } from "../src/memory/record-text";
import type { KeptCompaction } from "../src/protocol";
import { bufferStatus, compacted, record } from "./samples";

const stats = { messagesBefore: 4, messagesAfter: 1, tokensBefore: 9, tokensAfter: 3, durationMs: 1 };

function turn(number: number, changes: Partial<TurnMark> = {}): TurnMark {
  const ids = { messageIds: [`u${number}`, `a${number}`], answerId: `a${number}` };
  return { sessionId: "s", ...ids, endedAt: number * 1_000, ...changes };
}

function kept(compactionId: string, atMs: number, undone = false): KeptCompaction {
  return { compactionId, at: new Date(atMs).toISOString(), range: { start: 0, end: 4 }, stats, undone };
}

/** A turn as the chat shows it. */
function shown(metadata?: unknown, changes: Partial<ShownTurn> = {}): ShownTurn {
  return { prompt: "Why?", answer: "Because", failed: false, metadata, ...changes };
}

/** Messages of prompts (`u1`) and answers (`a1`). */
function messages(...ids: string[]) {
  return ids.map((id) => ({ id, role: id.startsWith("u") ? "user" : "assistant", content: `text ${id}` }));
}

describe("the turns of a chat", () => {
  test("what other participants left in their answers is passed over", () => {
    const left = [undefined, { sessionId: 1 }, turn(1), { command: "x" }];
    expect(marksOf(left.map((one) => shown(one)))).toEqual([turn(1)]);
  });

  test("answers are counted without commands", () => {
    const command = turn(2, { messageIds: [], answerId: undefined });
    expect(answered([turn(1), command, turn(3)]).map((one) => one.answerId)).toEqual(["a1", "a3"]);
  });

  test("a chat that shows its last turn is not rewound", () => {
    expect(isRewound([turn(1), turn(2)], 2_000)).toBe(false);
  });

  test("a chat that lost its last turn is rewound", () => {
    expect(isRewound([turn(1)], 2_000)).toBe(true);
  });

  test("a chat of which nothing is known is not rewound", () => {
    expect(isRewound([turn(1)], undefined)).toBe(false);
  });

  test("compactions after the last shown turn are undone, the newest first", () => {
    const compactions = [kept("before", 500), kept("old", 1_500), kept("gone", 1_600, true), kept("new", 1_700)];
    expect(toUndo(compactions, [turn(1)])).toEqual(["new", "old"]);
  });

  test("messages of turns that are no longer shown are found, and none of a turn between them", () => {
    const kept = messages("u1", "a1", "u2", "u3", "a3", "u4", "a4");
    expect(difference(kept, [shown(turn(1)), shown(turn(3))]).hidden).toEqual([
      { start: 5, end: 7 },
      { start: 2, end: 3 },
    ]);
  });

  test("a summary is shown, though it has no id", () => {
    const kept = [{ role: "user", content: "summary" }, ...messages("u1")];
    expect(difference(kept, [shown(turn(1))])).toEqual({ hidden: [], missing: [] });
  });
});

describe("a turn whose window was reloaded while it was answered", () => {
  const kept = messages("u1", "a1", "u2", "u3", "a3");
  const broken = shown(undefined, { prompt: "text u2", answer: "" });

  test("is still one of the chat's", () => {
    expect(difference(kept, [shown(turn(1)), broken, shown(turn(3))])).toEqual({ hidden: [], missing: [] });
  });

  test("keeps what was attached to it", () => {
    const use = toolMessages({ callId: "c", name: "attached_file", input: {}, result: "r" }, () => "i");
    expect(difference([...messages("u2"), ...use], [broken])).toEqual({ hidden: [], missing: [] });
  });

  test("goes when its prompt is edited, and no other turn goes with it", () => {
    expect(difference(kept, [shown(turn(1)), shown(turn(3))]).hidden).toEqual([{ start: 2, end: 3 }]);
  });

  test("keeps as much of its answer as is shown", () => {
    const half = shown(undefined, { prompt: "text u2", answer: "Half of" });
    const missing = [{ role: "assistant", content: "Half of" }];
    expect(difference(messages("u1", "a1", "u2"), [shown(turn(1)), half])).toEqual({ hidden: [], missing });
    expect(difference(messages("u1", "a1", "u2", "a2"), [shown(turn(1)), half])).toEqual({ hidden: [], missing: [] });
  });

  test("is kept where it had not come to be", () => {
    const lost = shown(undefined, { prompt: "Why?", answer: "Half of" });
    expect(difference([], [lost]).missing).toEqual([
      { role: "user", content: "Why?" },
      { role: "assistant", content: "Half of" },
    ]);
  });

  test.each([
    ["was a command", [shown(undefined, { command: "status" })]],
    ["failed before it began", [shown(undefined, { failed: true })]],
    ["was summarised since, with later turns", [shown(), shown(turn(3))]],
  ])("is not kept anew where it %s", (_, turns) => {
    expect(difference(messages("u3", "a3"), turns).missing).toEqual([]);
  });

  test("is not mistaken for another that asked the same", () => {
    expect(difference(messages("u2", "u2"), [broken]).hidden).toEqual([{ start: 1, end: 2 }]);
  });
});

describe("a command that VS Code left in the prompt", () => {
  test.each([
    ["/compact", { command: "compact", prompt: "" }],
    [" /compact-up-to 3", { command: "compact-up-to", prompt: "3" }],
    ["/memory the\ntax", { command: "memory", prompt: "the\ntax" }],
    ["/usr/bin is full", { command: undefined, prompt: "/usr/bin is full" }],
    ["run /compact", { command: undefined, prompt: "run /compact" }],
  ])("%j", (prompt, read) => {
    expect(typedCommand({ prompt })).toEqual(read);
  });

  test("is none where VS Code found one", () => {
    expect(typedCommand({ command: "memory", prompt: "/undo" })).toEqual({ command: "memory", prompt: "/undo" });
  });
});

describe("a second click", () => {
  test("does nothing while the first one's work goes on, nor right after it", async () => {
    vi.useFakeTimers();
    const done: string[] = [];
    const compacting = once();
    const first = compacting("s", async () => done.push("first"));
    await compacting("s", async () => done.push("second"));
    await first;
    await compacting("s", async () => done.push("third"));
    await compacting("other", async () => done.push("other"));
    expect(done).toEqual(["first", "other"]);
    vi.runAllTimers();
    await compacting("s", async () => done.push("later"));
    expect(done).toEqual(["first", "other", "later"]);
    vi.useRealTimers();
  });
});

describe("what the model of a chat is given", () => {
  test("a user's and an assistant's message keep their sides", () => {
    const messages = [
      { role: "user", content: "a" },
      { role: "assistant", content: "b" },
    ];
    expect(forModel(messages).map((one) => one.role)).toEqual(["user", "assistant"]);
  });

  test("text parts are joined, thoughts left out", () => {
    const content = [
      { type: "text", text: "a" },
      { type: "think", think: "x" },
      { type: "text", text: "b" },
    ];
    expect(textOf({ role: "user", content })).toBe("a\nb");
  });

  test("earlier uses of tools are told as text", () => {
    let id = 0;
    const use = { callId: "c", name: "read", input: { path: "a.py" }, result: "x = 1", said: "I look." };
    expect(forModel(toolMessages(use, () => `i${++id}`)).map((one) => one.text)).toEqual([
      'I look.\n[Used read: {"path":"a.py"}]',
      "[Result of read]\nx = 1",
    ]);
  });

  test("messages without any text are left out", () => {
    expect(forModel([{ role: "assistant", content: null }])).toEqual([]);
  });

  /** The texts that are kept of messages, of which those in capitals were asked by the user. */
  function keptOf(texts: string[], window: number): string[] {
    const messages = texts.map((text) => ({ role: "user", text, asked: text === text.toUpperCase() }) as const);
    return newestWithin(messages, window, (text) => text.length).map((one) => one.text);
  }

  test("the newest messages that fit are kept, in order", () => {
    expect(keptOf(["aaaa", "bb", "C"], 3)).toEqual(["bb", "C"]);
  });

  test("the question is kept even where it does not fit", () => {
    expect(keptOf(["aaaa", "BBBB"], 1)).toEqual(["BBBB"]);
  });

  test("an attachment that does not fit with the question is left out, and the question is not", () => {
    expect(keptOf(["a", "QUESTION?", "x".repeat(99), "y"], 12)).toEqual(["QUESTION?", "y"]);
  });

  test("a call and its result have the same id", () => {
    const [call, result] = toolMessages({ callId: "c7", name: "n", input: {}, result: "r" }, () => "i");
    expect([(call.tool_calls as { id: string }[])[0]?.id, result.tool_call_id]).toEqual(["c7", "c7"]);
  });

  test("a chat is named by the first line of its first prompt, cut", () => {
    expect([titleOf(" Fix it\nplease"), titleOf("x".repeat(80)).length]).toEqual(["Fix it", 60]);
  });

  test("nothing private is in the name of a chat", () => {
    expect([titleOf("Log in as <private>ana\nx</private> now"), titleOf("<PRIVATE>secret")]).toEqual([
      "Log in as now",
      "",
    ]);
  });
});

describe("the answers of @lithify", () => {
  test("a compaction shows messages and tokens before and after", () => {
    const answer = compactionAnswer(compacted());
    expect(answer).toContain("| messages | 14 | 3 |\n| tokens | 14,200 | 3,100 |");
  });

  test("it says who wrote the summary, and what is to be known of it", () => {
    const known = { code: "prompt_fallback", message: "Lithify's own prompt was used" };
    const warnings = [{ code: "cut_off", message: "the model *stopped*" }, known];
    const answer = compactionAnswer(compacted({ model: "gpt-5", warnings }));
    expect(answer).toContain("Written by gpt\\-5.\n\n$(warning) The model \\*stopped\\*\\.");
    expect(answer).not.toContain("prompt");
  });

  test("it says so where it did not pay", () => {
    const grown = { ...stats, tokensBefore: 452, tokensAfter: 571 };
    expect(compactionAnswer(compacted({ stats: grown }))).toContain("It did not pay");
    expect(compactionAnswer(compacted())).not.toContain("It did not pay");
  });

  test.each([
    [0, "no answer yet"],
    [1, "There is one so far"],
    [3, "from 1 to 3"],
  ])("of %d answers one is asked for that there is", (answers, said) => {
    expect(upToAnswer(answers)).toContain(said);
  });

  test("it says so where the offline model wrote the summary", () => {
    const answer = compactionAnswer(compacted({ method: "offline", provider: "offline", model: "offline" }));
    expect(answer).toContain("Written by the offline model.");
  });

  test("a no-op is a sentence", () => {
    expect(compactionAnswer({ type: "noop", reason: "empty" })).toBe("Nothing to compact: there is no message.");
  });

  test("found records are shown as text", () => {
    expect(memoryAnswer([record({ title: "<b>[x](y)" })], "q")).toContain("**&lt;b\\>\\[x\\]\\(y\\)**");
  });

  test("a search that found nothing says what was looked for", () => {
    expect(memoryAnswer([], "tax")).toContain("“tax”");
  });

  test("the status tells of the chat as a share of its window", () => {
    const status = { messages: 3, tokens: 64_000, window: 128_000, share: 0.5 };
    expect(statusAnswer(bufferStatus(), status)).toContain("This chat: 64,000 tokens, 50 % of the model's 128,000");
  });

  test("the status of a chat without a message says so", () => {
    expect(statusAnswer(bufferStatus(), undefined)).toContain("This chat has no message yet.");
  });
});

describe("a memory record as a document", () => {
  test("has its title, text and lists, and no empty ones", () => {
    expect(recordText(record())).toBe(
      [
        "# Totals are rounded once",
        "decision, made 2026-07-01 by a model",
        "The tax is rounded on the sum, not on each line.",
        "## Facts\n\n- cart.py rounds the sum",
        "## Files\n\n- shop/cart.py",
        "## Made from the events\n\n- 01JZ0C4T7Q9W3N5XK2V8M6R1AB\n",
      ].join("\n\n"),
    );
  });

  test("has a name that every path can hold", () => {
    expect(recordFileName(record({ title: "a/b: c?.." }))).toBe("01JZ0C9XG5P7R2D4W6Z8B1F3HJ/a b c.md");
  });
});
