import { describe, expect, test } from "vitest";
import { conversationGauge, isFilling } from "../src/status/conversation-gauge";
import { bufferGauge } from "../src/status/gauge";
import { bufferMenu, conversationMenu } from "../src/status/menus";
import { serverGauge } from "../src/status/server-gauge";
import { bufferStatus } from "./samples";

const NOW = Date.parse("2026-07-01T08:00:00Z");
const gauge = (changes = {}) => bufferGauge(bufferStatus(changes), NOW);
const work = { enabled: true, inFlight: false, breaker: "closed", failures: 0 } as const;

describe("the gauge of the buffer", () => {
  test("shows the size of the threshold of extraction", () => {
    expect(gauge().text).toBe("$(database) 143/256 KB");
  });

  test.each(["extraction", "compaction"])("spins during %s", (kind) => {
    expect(gauge({ [kind]: { ...work, inFlight: true } }).text).toContain("$(sync~spin)");
  });

  test.each(["full", "degraded"] as const)("warns by its colour when it is %s", (state) => {
    expect(gauge({ state }).severity).toBe("warning");
  });

  test("warns when the hourly limit is reached", () => {
    const background = { modelCallsLastHour: 60, tokensLastHour: 1, paused: true };
    expect(gauge({ background }).severity).toBe("warning");
  });

  test.each(["idle", "extracting", "compacting"] as const)("has no colour when it is %s", (state) => {
    expect(gauge({ state }).severity).toBe("normal");
  });

  test("shows that recording is paused", () => {
    expect(gauge({ recording: false }).text).toContain("$(debug-pause)");
  });

  test("tells a screen reader its size and state without icons", () => {
    expect(gauge({ state: "full" }).label).toBe("Lithify buffer: 143/256 KB, full");
  });

  test.each(["37 entries", "256 KB", "4,096 KB", "Compaction of the buffer: off", "4 memory records", "12,000 tokens"])(
    "tells %s in its hover",
    (words) => {
      expect(gauge().hover).toContain(words);
    },
  );

  test("tells the size at which the buffer is compacted only where that is on", () => {
    expect(gauge({ compaction: work }).hover).toContain("compacted at 1,024 KB");
    expect(gauge().hover).not.toContain("1,024 KB");
  });

  test("tells what waits only where something does", () => {
    expect(gauge({ waiting: 3 }).hover).toContain("Waiting until the buffer has room: 3 entries");
    expect(gauge().hover).not.toContain("Waiting");
  });

  test("tells when the last run was, and the model", () => {
    const extraction = { ...work, lastRunAt: "2026-07-01T07:15:00Z", lastProvider: "editor", lastModel: "gpt" };
    expect(gauge({ extraction }).hover).toContain("Extraction of memory: last run 45 min ago, by gpt");
  });

  test("tells why the last run failed", () => {
    expect(gauge({ extraction: { ...work, lastError: "no answer" } }).hover).toContain("failed: no answer");
  });

  test("shows foreign words in its hover as text, never as links or HTML", () => {
    const { hover } = gauge({ problem: "<img src=x> [here](command:evil) $(zap)" });
    expect(hover).toContain("&lt;img src=x\\> \\[here\\]\\(command\\:evil\\) \\$\\(zap\\)");
  });

  test("shows something for a buffer of a few bytes", () => {
    expect(gauge({ sizeBytes: 12 }).text).toContain("1/256 KB");
  });
});

describe("the gauge of the server", () => {
  test("rests until the server is needed", () => {
    expect(serverGauge("resting").text).toBe("$(database) Lithify");
  });

  test("spins while the server starts", () => {
    expect(serverGauge("restarting").text).toContain("$(sync~spin)");
  });

  test("says in its hover why the server does not run", () => {
    expect(serverGauge("failed", "No Python was found").hover).toBe("No Python was found");
  });
});

describe("the gauge of the conversation", () => {
  const status = { messages: 12, tokens: 100_000, window: 125_000, share: 0.8 };

  test("shows the tokens of the window", () => {
    expect(conversationGauge(status).text).toContain("100k of 125k tokens");
  });

  test("shows the tokens alone where the window is not known", () => {
    expect(conversationGauge({ messages: 1, tokens: 950 }).text).toBe("$(comment-discussion) 950 tokens");
  });

  test("offers compaction from 80 percent on", () => {
    expect([isFilling(status), isFilling({ ...status, share: 0.799 })]).toEqual([true, false]);
  });
});

describe("the menus", () => {
  const commands = (items: { command: string }[]) => items.map((item) => item.command);

  test("the menu of the buffer offers all that can be done", () => {
    expect(commands(bufferMenu("running", bufferStatus({ compaction: work })))).toEqual([
      "lithify.showSessions",
      "lithify.extractNow",
      "lithify.compactBuffer",
      "lithify.pauseRecording",
      "lithify.searchMemory",
      "lithify.showBuffer",
      "lithify.showLedger",
      "lithify.showLog",
      "lithify.openSettings",
    ]);
  });

  test("compaction of the buffer is not offered where it is off", () => {
    expect(commands(bufferMenu("running", bufferStatus()))).not.toContain("lithify.compactBuffer");
  });

  test("a paused recording can be resumed", () => {
    expect(commands(bufferMenu("running", bufferStatus({ recording: false })))).toContain("lithify.resumeRecording");
  });

  test.each(["failed", "starting", "restarting"] as const)("a server that is %s can be repaired", (state) => {
    expect(commands(bufferMenu(state, undefined))).toEqual([
      "lithify.restartServer",
      "lithify.choosePython",
      "lithify.makeEnvironment",
      "lithify.showLog",
      "lithify.openSettings",
    ]);
  });

  test("compaction stands first in the menu of a conversation that fills its window", () => {
    expect(commands(conversationMenu(true, true))[0]).toBe("lithify.compactChat");
  });

  test("no compaction is offered where compaction is off", () => {
    expect(commands(conversationMenu(false, true))).toEqual(["workbench.action.chat.open", "lithify.showSessions"]);
  });
});
