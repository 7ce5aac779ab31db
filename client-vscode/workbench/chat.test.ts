// Chats, gauges and memory in one VS Code, from the first prompt to a crash of the server. The tests build on each other.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Running } from "./harness/running.ts";
import type { Workbench } from "./harness/workbench.ts";

let running: Running;
let workbench: Workbench;

beforeAll(async () => {
  running = await Running.start();
  workbench = running.workbench;
});

afterEach(({ task }) => workbench?.keepFailure(task));
afterAll(() => running?.stop());

test("a chat with @lithify is answered by the chosen model", async () => {
  await workbench.chat("@lithify Why does the checkout test fail?");
  await workbench.answer.getByText("the checkout reads total").waitFor();
  await workbench.chat("@lithify And is the old name used elsewhere?");
  await workbench.answer.getByText("Answer 2").waitFor();
  await workbench.answer.getByRole("button", { name: "Compact up to here" }).waitFor();
  await workbench.answer.getByRole("button", { name: "Compact all" }).waitFor();
});

test("the status bar tells the buffer and the conversation in front", async () => {
  await workbench.statusItem(/Lithify buffer: [1-9]\/256 KB, idle/).waitFor();
  await workbench.statusItem(/Lithify conversation: 4 messages/).waitFor();
});

test("the button under an answer compacts up to it, which is told with its Undo", async () => {
  await workbench.answer.getByRole("button", { name: "Compact up to here" }).click();
  await workbench.notification(/Compacted 4 messages/).waitFor();
  await workbench.page.locator(".notifications-toasts").getByRole("button", { name: "Undo" }).click();
  await workbench.statusItem(/Lithify conversation: 4 messages/).waitFor();
});

test("/compact-up-to tells sizes, and its Undo brings the turns back", async () => {
  await workbench.chat("@lithify /compact-up-to 1");
  await workbench.answer.getByText(/Compacted 2 messages/).waitFor();
  await workbench.picture("chat", workbench.chatBar);
  await workbench.answer.getByRole("button", { name: "Undo" }).click();
  await workbench.statusItem(/Lithify conversation: 4 messages/).waitFor();
});

test("/compact heeds a focus, and /undo brings the turns back", async () => {
  await workbench.chat("@lithify /compact keep the commit");
  await workbench.answer.getByText(/Compacted 2 messages/).waitFor();
  await workbench.statusItem(/Lithify conversation: 3 messages/).waitFor();
  await workbench.chat("@lithify /undo");
  await workbench.answer.getByText(/is undone; the conversation has 4 messages again/).waitFor();
});

test("/status tells the buffer and the chat", async () => {
  await workbench.chat("@lithify /status");
  await workbench.answer.getByText(/This chat: [\d,]+ tokens/).waitFor();
});

test("the gauge's menu pauses recording and resumes it", async () => {
  await workbench.statusItem(/Lithify buffer: /).click();
  await workbench.choice("Pause recording").waitFor();
  await workbench.picture("menu");
  await workbench.choice("Pause recording").click();
  await workbench.statusItem(/Lithify buffer: .* recording paused/).click();
  await workbench.choice("Resume recording").click();
  await workbench.statusItem(/Lithify buffer: .* idle/).waitFor();
});

test("the buffer and the ledger of model calls open as texts", async () => {
  await workbench.command("Lithify: Open Buffer");
  await workbench.page.locator(".tab.active").filter({ hasText: "Buffer.txt" }).waitFor();
  await workbench.page.locator(".view-lines").getByText("Why does the checkout test fail").first().waitFor();
  await workbench.command("Lithify: Open Ledger of Model Calls");
  await workbench.page.locator(".tab.active").filter({ hasText: "Ledger of model calls.txt" }).waitFor();
  await workbench.page.locator(".view-lines").getByText("conversation").first().waitFor();
  await workbench.command("View: Close All Editors");
});

test("an extraction is seen in the status bar from its start to its end", async () => {
  const open = running.shutGate();
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

test("a record of the memory view opens as a text", async () => {
  await workbench.command("Lithify: Show Sessions");
  await workbench.memoryLine("The checkout needs total").click();
  await workbench.page.locator(".view-lines").getByText("commit 4f1c2d renamed the key").first().waitFor();
  await workbench.command("View: Close All Editors");
});

test("the search box finds records while one types, and lists them in the memory view", async () => {
  await workbench.question("Lithify: Search Memory...", "Search Lithify's memory of this project");
  await workbench.page.keyboard.type("currency");
  await workbench.choice("The checkout needs total").waitFor({ state: "detached" });
  await workbench.page.keyboard.press("Control+A");
  await workbench.page.keyboard.type("checkout");
  await workbench.choice("The checkout needs total").waitFor();
  await workbench.choice("Show all of these").click();
  const found = workbench.page.getByText("Found for “checkout”, the best first");
  await found.waitFor();
  await workbench.page.getByRole("button", { name: "Show All Records" }).click();
  await found.waitFor({ state: "detached" });
  await workbench.memoryLine("The checkout needs total").waitFor();
});

test("a record is forgotten for good once that is confirmed", async () => {
  await workbench.memoryLine("The checkout needs total").click({ button: "right" });
  await workbench.page.getByRole("menuitem", { name: "Forget Record" }).hover();
  await workbench.page.keyboard.press("Enter"); // a click so soon after the menu opened is ignored
  await workbench.page.locator(".monaco-dialog-box").getByRole("button", { name: "Forget" }).click();
  await workbench.page.getByText("Nothing is kept for this project yet.").waitFor();
});

test("from 80 % of the model's window on compaction is offered, and nothing compacts by itself", async () => {
  await workbench.page
    .getByRole("button", { name: /^New Chat/ })
    .first()
    .click();
  await workbench.chooseChatModel("Small window");
  await workbench.chat("@lithify Why does the receipt test fail?");
  const gauge = workbench.statusItem(/Lithify conversation: 2 messages.* 8\d % of the model's 900 tokens/);
  await gauge.waitFor();
  await workbench.page.getByRole("button", { name: "Lithify: 80 % of the context is used, compact?" }).waitFor();
  await gauge.click();
  await workbench.choice("Compact this conversation").waitFor();
  await workbench.picture("filling");
  await workbench.page.keyboard.press("Escape");
  await workbench.statusItem(/Lithify conversation: 2 messages/).waitFor();
});

test("a killed server is told and started again by itself, and the model is no longer asked for it", async () => {
  const openGate = running.shutGate();
  const before = running.atGate().length;
  await workbench.command("Lithify: Extract Memory Now");
  await expect.poll(() => running.atGate().slice(before), { timeout: 30_000 }).toEqual(["waits"]);
  const killed = running.serverProcess();
  process.kill(killed, "SIGKILL");
  await workbench.statusItem(/ended and is started again/).waitFor();
  await workbench.notification(/server ended before it answered/).waitFor();
  await workbench.statusItem(/Lithify buffer: /).waitFor();
  expect(running.serverProcess()).not.toBe(killed);
  expect(running.atGate().slice(before)).toEqual(["waits", "cancelled"]);
  openGate();
});

test("a Python that does not work is told with what to do, and the next one is taken at once", async () => {
  running.set({ "lithify.server.python": "/nowhere/python" });
  await workbench.statusItem(/lithify.server.python does not work/).click();
  await workbench.choice("Use another Python").waitFor();
  await workbench.picture("no-python");
  await workbench.page.keyboard.press("Escape");
  running.set();
  await workbench.statusItem(/Lithify buffer: /).waitFor();
});

test("after its window was reloaded while it was answered, a chat's history is what the chat shows", async () => {
  const request = (text: string) => workbench.page.locator(".interactive-request").filter({ hasText: text });
  const open = running.shutGate();
  await workbench.chat("@lithify Is it told in the notes?");
  await workbench.statusItem(/Lithify conversation: 3 messages/).waitFor();
  await workbench.reload();
  await request("").last().waitFor();
  const restored = await request("Is it told in the notes?").count(); // VS Code keeps a turn that is answered, or does not
  open();
  await workbench.chat("@lithify Which release has it?");
  const whole = workbench.statusItem(`Lithify conversation: ${4 + restored} messages`);
  await whole.waitFor();
  await workbench.edit("Which release has it?", "@lithify Which one has it?");
  await workbench.answer.getByText("Answer 2").waitFor();
  await whole.waitFor();
});

test("/continue in a chat that has begun changes nothing, and says where it works", async () => {
  await workbench.chat("@lithify /continue The checkout test");
  await workbench.answer.getByText("this one has begun").waitFor();
  await workbench.answer.getByRole("button", { name: "Continue in a New Chat" }).waitFor();
});
