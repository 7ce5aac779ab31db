// One VS Code from the first chat to a crash of the server, as somebody would use it. The tests build on each other.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { faintTexts } from "./harness/contrast.ts";
import { Editor, repositoryPython, SCRIPTED_MODEL } from "./harness/editor.ts";
import { makeSample, type Sample } from "./harness/sample.ts";
import { browser, Workbench } from "./harness/workbench.ts";

const LONG = 10_000;

let folder: string;
let gate: string;
let sample: Sample;
let editor: Editor;
let chromium: Browser;
let workbench: Workbench;
let settings: Record<string, unknown>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "lithify-workbench-"));
  gate = join(folder, "gate", "shut");
  mkdirSync(dirname(gate));
  sample = makeSample(folder, LONG);
  settings = {
    "lithify.server.python": repositoryPython(),
    "lithify.dataDir": join(folder, "lithify"),
    "lithify.buffer.idleMs": 300_000,
  };
  const environment = { SCRIPTED_MODEL_GATE: gate }; // as long as this file is there, the model does not answer
  const launch = {
    folder: join(folder, "code"),
    home: sample.home,
    settings,
    extensions: [SCRIPTED_MODEL],
    environment,
  };
  editor = await Editor.start(launch);
  chromium = await browser();
  workbench = await Workbench.open(chromium, editor.url(sample.project));
  await workbench.chooseChatModel("Scripted");
});

afterEach(async ({ task }) => {
  if (task.result?.state === "fail") {
    await workbench?.picture(`failed/${task.name.replace(/\W+/g, "-").slice(0, 60)}`);
  }
});

afterAll(async () => {
  await chromium?.close();
  await editor?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The scripted model answers nothing until the function that is returned is called. */
function shutGate(): () => void {
  writeFileSync(gate, "");
  return () => rmSync(gate);
}

const panel = () => workbench.panel();
const panelButton = (name: string) => panel().getByRole("button", { name, exact: true });

test("a chat with @lithify is answered by the chosen model", async () => {
  await workbench.chat("@lithify Why does the checkout test fail?");
  await workbench.answer.getByText("the checkout reads total").waitFor();
  await workbench.chat("@lithify And is the old name used elsewhere?");
  await workbench.answer.getByText("Answer 2").waitFor();
  expect(await workbench.answer.getByRole("button", { name: "Compact up to here" }).count()).toBe(1);
});

test("the status bar tells the buffer and the conversation in front", async () => {
  await workbench.statusItem(/Lithify buffer: [1-9]\/256 KB, idle/).waitFor();
  await workbench.statusItem(/Lithify conversation: 4 messages/).waitFor();
});

test("/compact-up-to tells sizes, and its Undo brings the turns back", async () => {
  await workbench.chat("@lithify /compact-up-to 1");
  await workbench.answer.getByText(/Compacted 2 messages/).waitFor();
  await workbench.picture("chat");
  await workbench.answer.getByRole("button", { name: "Undo" }).click();
  await workbench.statusItem(/Lithify conversation: 4 messages/).waitFor();
});

test("/status tells the buffer and the chat", async () => {
  await workbench.chat("@lithify /status");
  await workbench.answer.getByText(/This chat: [\d,]+ tokens/).waitFor();
});

test("an extraction is seen in the status bar from its start to its end", async () => {
  const open = shutGate();
  await workbench.command("Lithify: Extract Memory Now");
  await workbench.statusItem(/Lithify buffer: .* extracting/).waitFor();
  open();
  await workbench.notification(/Extracted 1 memory record from \d+ entries/).waitFor();
  await workbench.statusItem(/Lithify buffer: 0\/256 KB, idle/).waitFor();
});

test("/memory finds what was extracted", async () => {
  await workbench.chat("@lithify /memory checkout");
  await workbench.answer.getByText("The checkout needs total").waitFor();
});

test("the sessions panel lists the chat and the sessions of agents", async () => {
  await workbench.command("Lithify: Show Sessions");
  await panel().getByRole("option").filter({ hasText: "Codex" }).waitFor();
  const listed = await panel().getByRole("option").allTextContents();
  expect(listed.some((one) => one.includes("Why does the checkout test fail?"))).toBe(true);
  expect(listed.filter((one) => one.includes("Claude Code"))).toHaveLength(2);
  await workbench.command("Notifications: Clear All Notifications");
  await workbench.picture("sessions");
});

test("a session with thousands of messages opens in a moment and scrolls to its end", async () => {
  const started = Date.now();
  await panel().getByRole("option").filter({ hasText: "10,000 messages" }).click();
  await panel().getByRole("article").first().waitFor();
  const openedMs = Date.now() - started;
  await panel().getByRole("article").first().focus();
  await workbench.page.keyboard.press("End");
  await panel()
    .getByRole("article", { name: /message 10000 of 10,000/ })
    .waitFor();
  const made = await panel().getByRole("article").count();
  expect(made).toBeLessThan(400);
  expect(openedMs).toBeLessThan(10_000);
  await panelButton("‹ Sessions").click();
});

test("the context menu of a message copies it and compacts up to it", async () => {
  await panel().getByRole("option").filter({ hasText: "Claude Code · 16 messages" }).click();
  await panel().getByRole("article").nth(3).click({ button: "right" });
  await workbench.page.getByRole("menuitem", { name: "Compact up to Here" }).waitFor();
  await workbench.page.getByRole("menuitem", { name: "Copy Message" }).hover();
  await workbench.page.keyboard.press("Enter"); // a click so soon after the menu opened is ignored
  const copied = () => workbench.page.evaluate(() => navigator.clipboard.readText());
  await expect.poll(copied).toContain("Commit 4f1c2d renamed the key");
});

test("a compaction in the panel begins with a preview", async () => {
  await panel().getByRole("button", { name: "Compact up to here, message 8" }).click();
  await panel()
    .getByText(/^about \d+$/)
    .waitFor();
  expect(await panel().locator(".leaving").count()).toBe(8);
  await panel().getByRole("textbox").fill("keep the commit");
  await workbench.picture("preview");
});

test("the model that writes can be chosen", async () => {
  await panelButton("The usual model").click();
  await workbench.choice("Scripted").click();
  await panelButton("scripted").waitFor();
});

test("a summary that is being written can be cancelled", async () => {
  const open = shutGate();
  await panelButton("Write Summary").click();
  await panel().getByRole("progressbar").waitFor();
  await panelButton("Cancel").click();
  await panelButton("Write Summary").waitFor();
  open();
  expect(await panel().getByRole("textbox").inputValue()).toBe("keep the commit");
});

test("the summary is a draft first, which survives hiding the panel with what was written in it", async () => {
  await panelButton("Write Summary").click();
  const draft = panel().getByRole("textbox", { name: "Summary" });
  await draft.waitFor();
  expect(await draft.inputValue()).toContain("<current_focus>");
  await draft.fill("The key was renamed in 4f1c2d and is total again.");
  await workbench.command("View: Show Explorer");
  await workbench.command("Lithify: Show Sessions");
  await draft.waitFor();
  expect(await draft.inputValue()).toBe("The key was renamed in 4f1c2d and is total again.");
  await workbench.picture("draft");
});

test("an accepted draft is written into the agent's session, and Undo takes it back", async () => {
  const before = readFileSync(sample.claudeSession, "utf8");
  await panelButton("Accept").click();
  await panel()
    .getByRole("status")
    .getByText(/Compacted 8 messages/)
    .waitFor();
  const after = readFileSync(sample.claudeSession, "utf8");
  expect(after.startsWith(before)).toBe(true);
  expect(after.slice(before.length)).toContain("is total again");
  await panel()
    .getByRole("article", { name: /^Summary, message 1/ })
    .waitFor();
  await workbench.picture("compacted");
  await panelButton("Undo").click();
  await panel()
    .getByRole("status")
    .getByText(/undone/)
    .waitFor();
  expect(readFileSync(sample.claudeSession, "utf8")).toBe(before);
});

test("a chat goes on from a session of an agent", async () => {
  await panelButton("Close").click();
  await panelButton("More").click();
  await panelButton("New Chat with It").click();
  await workbench.answer.getByText(/This chat goes on from/).waitFor();
  await workbench.statusItem(/Lithify conversation: \d+ messages/).waitFor();
});

test("a code action compacts a chat file in one undo step, with instructions that were asked for", async () => {
  await workbench.openFile("checkout.jsonl");
  await workbench.page
    .getByText(/Compact up to here: \d+ messages/)
    .first()
    .waitFor();
  await workbench.picture("chat-file");
  await workbench.page.keyboard.press("Control+Home");
  await workbench.page.keyboard.press("ArrowDown");
  await workbench.page.keyboard.press("ArrowDown");
  await workbench.page.keyboard.press("ArrowDown");
  await workbench.page.keyboard.press("Control+.");
  const action = workbench.page
    .locator(".action-widget")
    .getByText(/instructions/)
    .first();
  await action.waitFor();
  await workbench.picture("code-action");
  await action.click();
  await workbench.quickInput.getByRole("textbox").or(workbench.quickInput.locator("input")).first().waitFor();
  await workbench.page.keyboard.type("keep the commit");
  await workbench.page.keyboard.press("Enter");
  await workbench.notification(/Compacted 4 messages/).waitFor();
  await workbench.page.locator(".tab.active.dirty").waitFor();
  await workbench.page.locator(".editor-instance .view-lines").first().click();
  await workbench.page.keyboard.press("Control+Z");
  await workbench.page.locator(".tab.active:not(.dirty)").waitFor();
});

test.each([
  ["Dark Modern", "dark"],
  ["Default High Contrast", "high-contrast"],
])("the panel can be read in %s", async (theme, name) => {
  editor.set({ ...settings, "workbench.colorTheme": theme });
  await workbench.page.locator(name === "dark" ? ".monaco-workbench.vs-dark" : ".monaco-workbench.hc-black").waitFor();
  await workbench.command("Lithify: Show Sessions");
  await panelButton("Compact…").click();
  await panel()
    .getByText(/^about \d+$/)
    .waitFor();
  await workbench.command("Notifications: Clear All Notifications");
  await workbench.picture(name);
  const faint = await panel().locator("body").evaluate(faintTexts);
  expect(faint).toEqual([]);
  await panelButton("Cancel").click();
});

test("with compaction off the panel, the palette and chat files offer none", async () => {
  editor.set({ ...settings, "lithify.conversation.compaction": { enabled: false, type: "kimi" } });
  await panelButton("Compact…").waitFor({ state: "detached" });
  expect(
    await panel()
      .getByRole("button", { name: /Compact/ })
      .count(),
  ).toBe(0);
  await expect.poll(compactionCommands, { timeout: 10_000 }).toEqual([]);
  await workbench.page
    .getByText(/Compact up to here/)
    .first()
    .waitFor({ state: "detached" });
  editor.set(settings);
  await panelButton("Compact…").waitFor();
});

test("a killed server is told, and started again by itself", async () => {
  const killed = serverProcess();
  process.kill(killed, "SIGKILL");
  await workbench.statusItem(/ended and is started again/).waitFor();
  await workbench.statusItem(/Lithify buffer: /).waitFor();
  expect(serverProcess()).not.toBe(killed);
});

test("a Python that does not work is told with what to do, and the next one is taken at once", async () => {
  editor.set({ ...settings, "lithify.server.python": "/nowhere/python" });
  await workbench.statusItem(/lithify.server.python does not work/).click();
  await workbench.choice("Choose Python").waitFor();
  await workbench.picture("no-python");
  await workbench.page.keyboard.press("Escape");
  editor.set(settings);
  await workbench.statusItem(/Lithify buffer: /).waitFor();
});

/** What the palette offers about compaction. */
async function compactionCommands(): Promise<string[]> {
  const found = await workbench.found("Lithify: Compact");
  return found.filter((one) => one.startsWith("Lithify: Compact"));
}

/** The server of this VS Code, by the folder that its data is in. */
function serverProcess(): number {
  const found = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes("-m lithify serve") && isOurs(Number(line.trim().split(/\s+/)[0])));
  expect(found).toHaveLength(1);
  return Number(found[0]?.trim().split(/\s+/)[0]);
}

function isOurs(pid: number): boolean {
  return readFileSync(`/proc/${pid}/environ`, "utf8").includes(`SCRIPTED_MODEL_GATE=${gate}`);
}
