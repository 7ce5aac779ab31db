// A VS Code whose workspace is not trusted yet, on a machine without Python: what is said, what is kept from it, and how
// it comes to a Python: by the setting, by the Python extension, by a private environment.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Editor, PYTHON_EXTENSION, plainPython, repositoryPython } from "./harness/editor.ts";
import { loginPath, makeSample, type Sample } from "./harness/sample.ts";
import { browser, Workbench } from "./harness/workbench.ts";

let folder: string;
let sample: Sample;
let editor: Editor;
let chromium: Browser;
let workbench: Workbench;
let choice: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "lithify-first-"));
  sample = makeSample(folder);
  loginPath(sample.home, "/nowhere");
  choice = join(folder, "choice", "python");
  mkdirSync(dirname(choice));
  writeFileSync(choice, repositoryPython());
  const environment = { ...installing(), CHOSEN_PYTHON: choice };
  const extensions = [PYTHON_EXTENSION];
  editor = await Editor.start({
    folder: join(folder, "code"),
    home: sample.home,
    trust: true,
    extensions,
    environment,
  });
  chromium = await browser();
  workbench = await Workbench.open(chromium, editor.url(sample.project));
  await workbench.page.getByText("Restricted Mode is intended for safe code browsing").waitFor();
});

afterEach(({ task }) => workbench?.keepFailure(task));

afterAll(async () => {
  await chromium?.close();
  await editor?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Where this machine's pip finds packages. */
function installing(): Record<string, string> {
  const named = Object.entries(process.env).filter(([name]) => /^(PIP_|SSL_CERT|(https?|no|all)_proxy$)/i.test(name));
  return Object.fromEntries(named) as Record<string, string>;
}

test("without a Python the extension says what it needs, and what can be done", async () => {
  await workbench.command("Lithify: Show Sessions");
  const said = workbench.panel().getByText(/Lithify needs Python 3.11 or newer, and none was found/);
  await said.waitFor();
  await workbench.panel().getByRole("button", { name: "Choose Python..." }).waitFor();
  await workbench.statusItem(/Lithify needs Python 3.11 or newer/).waitFor();
  await workbench.picture("first-start");
});

test("a Python that is set and does not run can be given up in the menu", async () => {
  editor.set({ "lithify.server.python": "/nowhere/python", "lithify.dataDir": join(folder, "lithify") });
  await workbench.statusItem(/lithify.server.python does not work/).click();
  await workbench.choice("Use another Python...").click();
  await workbench.choice("Look for a Python that has Lithify").click();
  await workbench.statusItem(/Lithify needs Python 3.11 or newer/).waitFor();
});

test("another Python counts at once while one never answers, whose process is ended", async () => {
  const started = join(folder, "started");
  editor.set({ "lithify.server.python": silentPython(started), "lithify.dataDir": join(folder, "lithify") });
  await expect.poll(() => existsSync(started) && readFileSync(started, "utf8"), { timeout: 30_000 }).toMatch(/\d+\n/);
  editor.set({ "lithify.server.python": repositoryPython(), "lithify.dataDir": join(folder, "lithify") });
  await workbench.statusItem(/Lithify buffer: /).waitFor({ timeout: 30_000 });
  await workbench.panel().getByRole("option").first().waitFor();
  expect(() => process.kill(Number(readFileSync(started, "utf8")), 0)).toThrow("ESRCH");
});

/** A Python that says it has Lithify, and as a server writes down its process and says nothing. */
function silentPython(started: string): string {
  const path = join(folder, "silent-python");
  const probe = JSON.stringify({ version: [3, 12, 0], executable: path, lithify: "0.1.0" });
  const serve = `echo $$ > "${started}"; exec /bin/sleep 600`;
  writeFileSync(path, `#!/bin/sh\nif [ "$1" = -c ]; then echo '${probe}'; else ${serve}; fi\n`);
  chmodSync(path, 0o755);
  return path;
}

test("in a workspace that is not trusted sessions of agents are read-only", async () => {
  const before = readFileSync(sample.claudeSession);
  await workbench.panel().getByRole("option").filter({ hasText: "Claude Code" }).click();
  await workbench.panel().getByText("Lithify changes no file of a workspace that is not trusted.").first().waitFor();
  await workbench.panel().getByRole("article").first().waitFor();
  expect(
    await workbench
      .panel()
      .getByRole("button", { name: /Compact|Resume/ })
      .count(),
  ).toBe(0);
  expect(readFileSync(sample.claudeSession)).toEqual(before);
  await workbench.picture("untrusted");
});

test("in a workspace that is not trusted chat files have no lenses and the palette compacts none", async () => {
  await workbench.openFile("checkout.jsonl");
  await workbench.page
    .getByText(/^user: The checkout/)
    .first()
    .waitFor(); // it was read
  expect(await workbench.page.getByText(/Compact up to here/).count()).toBe(0);
  const found = await workbench.found("Lithify: Compact Conversation");
  expect(found.filter((one) => one.startsWith("Lithify: Compact Conversation"))).toEqual([]);
});

test("without the setting there is no Python again: that of the Python extension is not asked while nobody trusts", async () => {
  editor.set({ "lithify.dataDir": join(folder, "lithify") });
  await workbench.statusItem(/Lithify needs Python 3.11 or newer/).waitFor();
});

test("in a workspace that is trusted, the Python extension's choice runs the server", async () => {
  await workbench.command("Workspaces: Manage Workspace Trust");
  await workbench.page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true }).click();
  await workbench.statusItem(/Lithify buffer: /).waitFor();
  await workbench.page
    .locator(".monaco-modal-editor-block")
    .getByRole("button", { name: /^Close/ })
    .click();
  await workbench.panel().getByRole("button", { name: "Compact…" }).waitFor();
});

test("another choice in the Python extension counts at once, and so does a private environment", async () => {
  writeFileSync(choice, plainPython());
  await workbench.statusItem(/Lithify is not installed in a Python yet/).waitFor();
  await workbench.command("Lithify: Make Private Python Environment");
  await workbench.command("Lithify: Make Private Python Environment"); // joins the first
  await workbench.notification(/installing Lithify and what it needs/).waitFor();
  await workbench.picture("private-environment");
  await workbench.statusItem(/Lithify buffer: /).waitFor({ timeout: 180_000 });
});

test("without any account a chat is answered by the model Lithify offline, and compacted", async () => {
  await workbench.chat("@lithify Which cart rounds the tax?");
  await workbench.page.getByRole("button", { name: "Models, Lithify offline" }).waitFor();
  await workbench.answer.getByText("This is Lithify's offline model").waitFor();
  await workbench.statusItem(/Lithify conversation: 1 message, /).waitFor(); // what it says is not kept
  await workbench.chat("@lithify /compact-up-to 1");
  await workbench.answer.getByText(/Written by the offline model/).waitFor();
});
