// The sessions panel and chat files in one VS Code, from the list to an undo. The tests build on each other.
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { faintTexts } from "./harness/contrast.ts";
import { Running } from "./harness/running.ts";
import { goOnInCodex, stubCommand } from "./harness/sample.ts";
import type { Workbench } from "./harness/workbench.ts";

const LONG = 10_000;

let running: Running;
let workbench: Workbench;
/** What Claude Code was called with, and the bytes of its session before they were compacted. */
let resumed: string;
let session: string;

beforeAll(async () => {
  running = await Running.start(LONG);
  workbench = running.workbench;
  resumed = join(running.folder, "resumed");
  stubCommand(join(running.sample.home, "bin"), "claude", resumed);
});

afterEach(({ task }) => workbench?.keepFailure(task));
afterAll(() => running?.stop());

const panel = () => workbench.panel();
const panelButton = (name: string) => panel().getByRole("button", { name, exact: true });

test("there is a chat, and a record of what was said in it", async () => {
  await workbench.chat("@lithify Why does the checkout test fail?");
  await workbench.answer.getByText("the checkout reads total").waitFor();
  await workbench.command("Lithify: Extract Memory Now");
  await workbench.notification(/Extracted 1 memory record/).waitFor();
});

test("the sessions panel lists the chat and the sessions of agents", async () => {
  await workbench.command("Lithify: Show Sessions");
  await panel().getByRole("option").filter({ hasText: "Codex" }).waitFor();
  const listed = await panel().getByRole("option").allTextContents();
  expect(listed.some((one) => one.includes("Why does the checkout test fail?"))).toBe(true);
  expect(listed.filter((one) => one.includes("Claude Code"))).toHaveLength(2);
  await workbench.command("Notifications: Clear All Notifications");
  await workbench.picture("sessions", workbench.sideBar);
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
  expect(openedMs).toBeLessThan(20_000);
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

test("a link in a message opens through VS Code, outside of the panel", async () => {
  await panel().getByRole("article").first().focus();
  await workbench.page.keyboard.press("End");
  const browser = workbench.page.context();
  const asked = browser.waitForEvent("request", (one) => one.url() === "https://rates.example/2026");
  const opened = browser.waitForEvent("page");
  await panel().getByRole("link", { name: "https://rates.example/2026" }).click();
  await asked;
  await (await opened).close();
  await panel().getByRole("article").last().focus();
  await workbench.page.keyboard.press("Home");
});

test("a compaction in the panel begins with a preview", async () => {
  await panel().getByRole("button", { name: "Compact up to here, message 8" }).click();
  await panel()
    .getByText(/^about [\d,]+$/)
    .waitFor();
  expect(await panel().locator(".leaving").count()).toBe(8);
  await panel().getByRole("textbox").fill("keep the commit");
  await workbench.picture("preview", workbench.sideBar);
});

test("the model that writes can be chosen", async () => {
  await panelButton("The usual model").click();
  await workbench.choice("Scripted").click();
  await panelButton("scripted").waitFor();
});

test("a summary that is being written can be cancelled", async () => {
  const open = running.shutGate();
  await panelButton("Write Summary").click();
  await panel().getByRole("progressbar").waitFor();
  await panelButton("Cancel").click();
  await panelButton("Write Summary").waitFor();
  open();
  expect(await panel().getByRole("textbox").inputValue()).toBe("keep the commit");
});

test("the summary is a draft first, which survives hiding the panel with what was written in it", async () => {
  await panelButton("Write Summary").click();
  const draft = panel().getByRole("textbox", { name: "Summary", exact: true });
  await draft.waitFor();
  expect(await draft.inputValue()).toContain("<current_focus>");
  const first = await draft.inputValue();
  await panel().getByText("Write it anew").click();
  const [lines, scrolled] = await draft.evaluate((box) => [
    box.clientHeight / Number.parseFloat(getComputedStyle(box).lineHeight),
    box.scrollTop,
  ]);
  expect(lines).toBeGreaterThanOrEqual(10);
  expect(scrolled).toBe(0);
  await panel().getByRole("textbox", { name: "What should the summary heed?" }).fill("only the key");
  await panelButton("Write Anew").click();
  await expect.poll(() => draft.inputValue()).not.toBe(first);
  await draft.fill("The key was renamed in 4f1c2d and is total again.");
  await workbench.command("View: Show Explorer");
  await workbench.command("Lithify: Show Sessions");
  await draft.waitFor();
  expect(await draft.inputValue()).toBe("The key was renamed in 4f1c2d and is total again.");
  await workbench.picture("draft", workbench.sideBar);
});

test("an accepted draft is written into the agent's session, whose compacted messages stay in its file", async () => {
  session = readFileSync(running.sample.claudeSession, "utf8");
  await panelButton("Accept").click();
  await panel()
    .getByRole("status")
    .getByText(/Compacted 8 messages/)
    .waitFor();
  const after = readFileSync(running.sample.claudeSession, "utf8");
  expect(after.startsWith(session)).toBe(true);
  expect(after.slice(session.length)).toContain("is total again");
  await panel()
    .getByRole("article", { name: /^Summary, message 1/ })
    .waitFor();
  await panel().getByText("Not sent any more: 8 messages").waitFor();
  await workbench.picture("compacted", workbench.sideBar);
});

test("the summary is copied, and the conversation saved as Markdown", async () => {
  await panelButton("Copy Summary").click();
  const copied = () => workbench.page.evaluate(() => navigator.clipboard.readText());
  await expect.poll(copied).toBe("The key was renamed in 4f1c2d and is total again.");
  await panelButton("Save as Markdown…").click();
  await workbench.quickInput.waitFor();
  await workbench.page.keyboard.press("Enter");
  await workbench.page
    .locator(".tab.active")
    .filter({ hasText: /The checkout test.*\.md/ })
    .waitFor();
  const [name] = readdirSync(running.sample.project).filter((one) => one.startsWith("The checkout test"));
  const saved = readFileSync(join(running.sample.project, name as string), "utf8");
  expect(saved).toContain("## 1. Summary\n\nThe key was renamed in 4f1c2d and is total again.");
  rmSync(join(running.sample.project, name as string));
  await workbench.command("View: Close All Editors");
});

test("Undo takes the compaction back, byte for byte", async () => {
  await panelButton("Undo").click();
  await panel()
    .getByRole("status")
    .getByText(/undone/)
    .waitFor();
  expect(readFileSync(running.sample.claudeSession, "utf8")).toBe(session);
});

test("an agent's session goes on in a terminal at a click", async () => {
  await panelButton("Resume in Claude Code").click();
  await expect.poll(() => existsSync(resumed)).toBe(true);
  expect(readFileSync(resumed, "utf8")).toMatch(
    new RegExp(`^${running.sample.project} .*3f2a9c41-5a7b-4c1d-9d61-0c1f2e3d4a5b`),
  );
  await workbench.command("Terminal: Kill All Terminals");
});

test("an undo of a session that went on meanwhile shows the new session that it made", async () => {
  await panelButton("‹ Sessions").click();
  await panel().getByRole("option").filter({ hasText: "Codex" }).click();
  await panel().getByRole("button", { name: "Compact up to here, message 4" }).click();
  await panelButton("Write Summary").click();
  await panelButton("Accept").click();
  await panel()
    .getByRole("status")
    .getByText(/Compacted 4 messages/)
    .waitFor();
  goOnInCodex(running.sample.codexSession, "And the receipt?");
  await panelButton("Undo").click();
  await panel()
    .getByRole("status")
    .getByText(/What it held before is a session of its own now/)
    .waitFor();
  await panel()
    .getByRole("article", { name: /message 8 of 8/ })
    .waitFor();
  await panelButton("‹ Sessions").click();
  await panel().getByRole("option").filter({ hasText: "Claude Code · 16 messages" }).click();
  await panelButton("Compact…").waitFor();
});

test("a chat goes on from a session of an agent, apart from those that are open", async () => {
  await workbench.command("Chat: New Chat Editor");
  await workbench.page.locator(".editor-instance .interactive-session").waitFor();
  await workbench.openFile("README.md");
  await workbench.command("View: Hide Secondary Side Bar");
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
  ["Dark Modern", "dark", ".vs-dark"],
  ["Default High Contrast", "high-contrast", ".hc-black"],
  ["Default High Contrast Light", "high-contrast-light", ".hc-light"],
])("the panel can be read in %s", async (theme, name, look) => {
  running.set({ "workbench.colorTheme": theme });
  await workbench.page.locator(`.monaco-workbench${look}`).waitFor();
  await workbench.command("Lithify: Show Sessions");
  await panelButton("Compact…").click();
  await panel()
    .getByText(/^about [\d,]+$/)
    .waitFor();
  await workbench.command("Notifications: Clear All Notifications");
  await workbench.picture(name);
  const faint = await panel().locator("body").evaluate(faintTexts);
  expect(faint).toEqual([]);
  await panelButton("Cancel").click();
});

test("with compaction off the panel, the palette and chat files offer none", async () => {
  running.set({ "lithify.conversation.compaction": { enabled: false, type: "kimi" } });
  await panelButton("Compact…").waitFor({ state: "detached" });
  await workbench.chat("@lithify Does the invoice read it?");
  await workbench.answer.getByText("the checkout reads total").waitFor();
  await workbench.chat("@lithify /compact");
  await workbench.answer.getByText("Compaction is switched off by the setting").waitFor();
  expect(
    await panel()
      .getByRole("button", { name: /Compact/ })
      .count(),
  ).toBe(0);
  await expect.poll(compactionCommands).toEqual([]);
  await workbench.page
    .getByText(/Compact up to here/)
    .first()
    .waitFor({ state: "detached" });
  running.set();
  await panelButton("Compact…").waitFor();
  await workbench.chat("@lithify /compact");
  await workbench.answer.getByText(/Compacted \d+ messages/).waitFor();
});

/** What the palette offers about compaction. */
async function compactionCommands(): Promise<string[]> {
  const found = await workbench.found("Lithify: Compact");
  return found.filter((one) => one.startsWith("Lithify: Compact"));
}
