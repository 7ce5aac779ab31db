import { describe, expect, test } from "vitest";
import { compactionAnswer, memoryAnswer, statusAnswer } from "../src/chat/answers";
import { forModel, newestWithin, textOf, titleOf, toolMessages } from "../src/chat/history";
import { answerId, firstHidden, isRewound, marksOf, type TurnMark, toUndo } from "../src/chat/turns";
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

describe("the turns of a chat", () => {
  test("what other participants left in their answers is passed over", () => {
    expect(marksOf([undefined, { sessionId: 1 }, turn(1), { command: "x" }])).toEqual([turn(1)]);
  });

  test("answers are counted without commands", () => {
    const command = turn(2, { messageIds: [], answerId: undefined });
    expect(answerId([turn(1), command, turn(3)], 2)).toBe("a3");
  });

  test.each([0, 3, Number.NaN])("there is no answer number %d of two", (number) => {
    expect(answerId([turn(1), turn(2)], number)).toBeUndefined();
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

  test("messages of turns that are no longer shown begin at the first of them", () => {
    const messages = ["u1", "a1", "u2", "a2"].map((id) => ({ id, role: "user", content: id }));
    expect(firstHidden(messages, [turn(1)])).toBe(2);
  });

  test("a summary is shown, though it has no id", () => {
    expect(
      firstHidden(
        [
          { role: "user", content: "summary" },
          { id: "u1", role: "user" },
        ],
        [turn(1)],
      ),
    ).toBeUndefined();
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

  test("the newest messages that fit are kept, in order", () => {
    const messages = ["aaaa", "bb", "c"].map((text) => ({ role: "user", text }) as const);
    expect(newestWithin(messages, 3, (text) => text.length).map((one) => one.text)).toEqual(["bb", "c"]);
  });

  test("the last message is kept even where it does not fit", () => {
    expect(newestWithin([{ role: "user", text: "aaaa" }], 1, (text) => text.length)).toHaveLength(1);
  });

  test("a call and its result have the same id", () => {
    const [call, result] = toolMessages({ callId: "c7", name: "n", input: {}, result: "r" }, () => "i");
    expect([(call.tool_calls as { id: string }[])[0]?.id, result.tool_call_id]).toEqual(["c7", "c7"]);
  });

  test("a chat is named by the first line of its first prompt, cut", () => {
    expect([titleOf(" Fix it\nplease"), titleOf("x".repeat(80)).length]).toEqual(["Fix it", 60]);
  });
});

describe("the answers of @lithify", () => {
  test("a compaction shows messages and tokens before and after", () => {
    const answer = compactionAnswer(compacted());
    expect(answer).toContain("| messages | 14 | 3 |\n| tokens | 14,200 | 3,100 |");
  });

  test("it says who wrote the summary, and what is to be known of it", () => {
    const warnings = [{ code: "cut_off", message: "the model *stopped*" }];
    const answer = compactionAnswer(compacted({ model: "gpt-5", warnings }));
    expect(answer).toContain("Written by gpt\\-5.\n\n$(warning) The model \\*stopped\\*\\.");
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
