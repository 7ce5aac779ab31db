// Has the tests in `host/` run inside a real extension host, and tells what became of each.
import { existsSync, mkdtempSync, readFileSync, rmSync, watch } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Editor, EXTENSION, repositoryPython } from "./harness/editor.ts";
import { makeSample } from "./harness/sample.ts";
import { browser } from "./harness/workbench.ts";

const BUILT = join(EXTENSION, "workbench", "built", "host.cjs");
const PATIENCE_MS = 120_000;

let folder: string;
let results: [string, string | null][];

beforeAll(async () => {
  await build({
    entryPoints: [join(EXTENSION, "workbench", "host", "index.ts")],
    outfile: BUILT,
    bundle: true,
    platform: "node",
    format: "cjs",
    external: ["vscode"],
  });
  folder = mkdtempSync(join(tmpdir(), "lithify-host-"));
  results = await runInside();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function runInside(): Promise<[string, string | null][]> {
  const told = join(folder, "results.json");
  const sample = makeSample(folder);
  const settings = {
    "lithify.server.python": repositoryPython(),
    "lithify.dataDir": join(folder, "lithify"),
    "lithify.model.provider": "offline",
  };
  const editor = await Editor.start({
    folder: join(folder, "code"),
    home: sample.home,
    settings,
    driven: true,
    environment: { HOST_TEST_RESULTS: told },
  });
  const chromium = await browser();
  try {
    const page = await chromium.newPage();
    await page.exposeFunction("codeAutomationLog", () => undefined);
    await page.exposeFunction("codeAutomationExit", () => undefined);
    await page.goto(editor.testUrl(sample.project, BUILT));
    await written(told);
    return JSON.parse(readFileSync(told, "utf8"));
  } finally {
    await chromium.close();
    await editor.stop();
  }
}

/** Resolves when a file is there with something in it. */
function written(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () => done(() => reject(new Error("the tests inside VS Code did not end in time"))),
      PATIENCE_MS,
    );
    const look = () => existsSync(path) && readFileSync(path, "utf8").endsWith("]") && done(resolve);
    const watcher = watch(folder, look);
    const done = (end: () => void) => {
      clearTimeout(late);
      watcher.close();
      end();
    };
    look();
  });
}

test.for([
  "an event of another extension is recorded",
  "a session of another extension is compacted and brought back",
  "an error of the server names its case",
  "a change of a session that the server refuses rejects",
  "a chat file has lenses, and code actions that compact up to a line",
  "every command that the manifest offers is there",
  "the model Lithify offline answers without an account",
])("inside VS Code: %s", (name) => {
  expect(results.find(([one]) => one === name)?.[1]).toBeNull();
});

test("inside VS Code runs no test that is not named here", () => {
  expect(results).toHaveLength(7);
});
