import { describe, expect, test } from "vitest";
import { failureOf, settingsQuery } from "../src/commands/failures";
import { resultOf, sentence, toldWarnings } from "../src/commands/results";
import type { Noop } from "../src/protocol";
import { ServerEnded } from "../src/server/trouble";
import { compacted, serverError } from "./samples";

const COMPACT = "lithify.compact_conversation";
const again = { title: "Try Again", command: COMPACT };

describe("a result", () => {
  test("of a compaction is one sentence with the tokens saved", () => {
    expect(resultOf(COMPACT, compacted())?.text).toBe(
      "Compacted 12 messages: 14,200 tokens became 3,100, 11,100 saved.",
    );
  });

  test("that saved nothing says so", () => {
    const stats = { messagesBefore: 2, messagesAfter: 1, tokensBefore: 10, tokensAfter: 30, durationMs: 0 };
    expect(resultOf(COMPACT, compacted({ stats }))?.text).toContain("nothing saved");
  });

  test("of an undo that made a new session offers to open it", () => {
    const uri = "file:///home/ana/.codex/restored.jsonl";
    const told = resultOf("lithify.undo_compaction", { uri: "file:///x", compactionId: "k", restoredUri: uri });
    expect(told).toMatchObject({
      severity: "information",
      steps: [{ command: "lithify.openSession", argument: uri }],
    });
  });

  test("of a compaction of a session can be undone", () => {
    const argument = { sessionId: "chat-42", compactionId: "01M8MKT0Q2W5E8R1T4Y7U0P3AS" };
    expect(resultOf(COMPACT, compacted())?.steps[0]).toEqual({
      title: "Undo",
      command: "lithify.undoCompaction",
      argument,
    });
  });

  test("of a compaction that the server cannot undo offers no undo", () => {
    const warnings = [{ code: "undo_unavailable", message: "what was replaced could not be kept" }];
    const steps = resultOf(COMPACT, compacted({ warnings }))?.steps ?? [];
    expect(steps.map((one) => one.command)).toEqual(["lithify.showSummary"]);
  });

  test("of a compaction of a document is undone in that document", () => {
    const told = resultOf(COMPACT, compacted({ sessionId: undefined, uri: "file:///c.jsonl" }));
    expect(told?.steps[0]?.argument).toMatchObject({ uri: "file:///c.jsonl" });
  });

  test("of a compaction shows the summary, without the sentence in front of it", () => {
    const argument = { text: "Work on cart.py" };
    expect(resultOf(COMPACT, compacted())?.steps[1]).toMatchObject({ command: "lithify.showSummary", argument });
  });

  test("of a compaction whose instructions were asked for is told as any other", () => {
    expect(resultOf("lithify.compact_with_instructions", compacted())).toEqual(resultOf(COMPACT, compacted()));
  });

  test("with warnings tells them", () => {
    const warnings = [{ code: "cut_off", message: "the model stopped at its limit" }];
    expect(resultOf(COMPACT, compacted({ warnings }))).toMatchObject({
      severity: "warning",
      text: expect.stringContaining(" The model stopped at its limit."),
    });
  });

  test("tells no warning that holds for every compaction", () => {
    const warnings = [{ code: "prompt_fallback", message: "Lithify's own compaction prompt was used." }];
    expect(resultOf(COMPACT, compacted({ warnings }))).toEqual(resultOf(COMPACT, compacted()));
    expect(toldWarnings({ warnings: [...warnings, { code: "cut_off", message: "it was cut off" }] })).toEqual([
      "It was cut off.",
    ]);
  });

  test.each<Noop["reason"]>(["empty", "preserve_none", "too_few_messages", "nothing_before_tail", "system_only"])(
    "that is a no-op (%s) is told quietly",
    (reason) => {
      expect(resultOf(COMPACT, { type: "noop", reason })).toMatchObject({
        severity: "quiet",
        text: expect.stringMatching(/^Nothing to compact/),
      });
    },
  );

  test("of an extraction counts what came of it", () => {
    expect(resultOf("lithify.extract_now", { extracted: 12, records: 1, remaining: 0 })?.text).toBe(
      "Extracted 1 memory record from 12 entries.",
    );
  });

  test("of an extraction in which nothing was worth keeping says so quietly", () => {
    const result = { extracted: 3, records: 0, remaining: 0, reason: "nothing_worth_keeping" };
    expect(resultOf("lithify.extract_now", result)).toMatchObject({
      severity: "quiet",
      text: "The model found nothing worth keeping in 3 entries.",
    });
  });

  test("of an extraction that failed says why", () => {
    const result = { extracted: 0, records: 0, remaining: 3, problem: "the model is not there" };
    expect(resultOf("lithify.extract_now", result)).toMatchObject({
      severity: "warning",
      text: "Memory was not extracted: The model is not there.",
    });
  });

  test("of a compaction of the buffer names both sizes", () => {
    const result = { sizeBefore: 20_480, sizeAfter: 4_096, entriesBefore: 9, entriesAfter: 2, method: "model" };
    expect(resultOf("lithify.compact_buffer", result)?.text).toContain("20 KB became 4 KB in 2 entries");
  });

  test("of a preview that the server shows is not told", () => {
    expect(resultOf("lithify.preview_compaction", { type: "preview_document" })).toBeUndefined();
  });

  test("of a command that says nothing is not told", () => {
    expect(resultOf("lithify.set_recording", { recording: true })).toBeUndefined();
  });

  test("keeps the end of a sentence that has one", () => {
    expect(sentence("is it so?")).toBe("Is it so?");
  });
});

describe("a failure", () => {
  test("has the server's own words, as a sentence", () => {
    expect(failureOf(serverError("busy")).text).toBe("It did not work; try so.");
  });

  test("that can succeed later can be tried again", () => {
    expect(failureOf(serverError("stale", true), again).steps[0]).toBe(again);
  });

  test("that cannot succeed later is not tried again", () => {
    expect(failureOf(serverError("unknown_message"), again).steps).toEqual([]);
  });

  test.each([
    ["disabled", "lithify.conversation.compaction"],
    ["model_unavailable", "lithify.model"],
    ["timeout", "lithify.conversation.timeoutMs"],
    ["not_smaller", "lithify.conversation.refuseLargerFrom"],
  ])("of type %s leads to the setting %s", (type, setting) => {
    expect(failureOf(serverError(type)).steps).toContainEqual(
      expect.objectContaining({ command: "lithify.openSettings", argument: setting }),
    );
  });

  test.each(["storage_failed", "model_error"])("of type %s leads to the log", (type) => {
    expect(failureOf(serverError(type)).steps).toContainEqual(expect.objectContaining({ command: "lithify.showLog" }));
  });

  test("that is a cancel is quiet, and not tried again", () => {
    expect(failureOf(serverError("cancelled", true), again)).toMatchObject({ severity: "quiet", steps: [] });
  });

  test("of a server that ended before it answered is told without the library's words, and tried again", () => {
    expect(failureOf(new ServerEnded(), again)).toMatchObject({ severity: "warning", steps: [again] });
  });

  test("that is none of the server's leads to the log", () => {
    expect(failureOf(new Error("connection got disposed"))).toMatchObject({
      severity: "error",
      steps: [{ command: "lithify.showLog" }],
    });
  });

  test("opens settings of this extension alone", () => {
    expect([settingsQuery("lithify.model"), settingsQuery("")]).toEqual([
      "@ext:lithify.lithify lithify.model",
      "@ext:lithify.lithify",
    ]);
  });
});
