// A VS Code whose workspace is not trusted yet, on a machine without Python: what is said, and what is kept from it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Editor, repositoryPython } from "./harness/editor.ts";
import { makeSample, type Sample } from "./harness/sample.ts";
import { browser, Workbench } from "./harness/workbench.ts";

let folder: string;
let sample: Sample;
let editor: Editor;
let chromium: Browser;
let workbench: Workbench;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "lithify-first-"));
  sample = makeSample(folder);
  writeFileSync(join(sample.home, ".profile"), "PATH=/nowhere; export PATH\n"); // VS Code takes the login shell's
  editor = await Editor.start({ folder: join(folder, "code"), home: sample.home, trust: true });
  chromium = await browser();
  workbench = await Workbench.open(chromium, editor.url(sample.project));
  await workbench.page.getByText("Restricted Mode is intended for safe code browsing").waitFor();
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

test("without a Python the extension says what it needs, and what can be done", async () => {
  await workbench.command("Lithify: Show Sessions");
  const said = workbench.panel().getByText(/Lithify needs Python 3.11 or newer, and none was found/);
  await said.waitFor();
  await workbench.panel().getByRole("button", { name: "Choose Python..." }).waitFor();
  await workbench.statusItem(/Lithify needs Python 3.11 or newer/).waitFor();
  await workbench.picture("first-start");
});

test("a Python that is set then starts the server, and the panel comes to life", async () => {
  editor.set({ "lithify.server.python": repositoryPython(), "lithify.dataDir": join(folder, "lithify") });
  await workbench.statusItem(/Lithify buffer: /).waitFor();
  await workbench.panel().getByRole("option").first().waitFor();
});

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
