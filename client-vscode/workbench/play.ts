// VS Code in the browser with the extension and a sample project, to be tried by hand: `make play`. Ctrl-C ends all of it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Editor, repositoryPython } from "./harness/editor.ts";
import { makeSample } from "./harness/sample.ts";

const folder = mkdtempSync(join(tmpdir(), "lithify-play-"));
const ended = new Promise<void>((resolve) => {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(name, () => resolve());
  }
});

try {
  const sample = makeSample(folder, 2_000);
  const settings = { "lithify.server.python": repositoryPython(), "lithify.dataDir": join(folder, "lithify") };
  const editor = await Editor.start({ folder: join(folder, "code"), home: sample.home, settings });
  console.log(`\nVS Code with Lithify and a sample project: ${editor.url(sample.project)}\n`);
  console.log("Open chats/checkout.jsonl, the Lithify view at the left, or write to @lithify. Ctrl-C ends it.");
  await ended;
  await editor.stop();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
