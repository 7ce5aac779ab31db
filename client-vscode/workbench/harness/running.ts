// A VS Code with a sample project and models whose answers are scripted, as the tests of one file share it.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Browser } from "playwright-core";
import { Editor, repositoryPython, SCRIPTED_MODEL } from "./editor.ts";
import { loginPath, makeSample, type Sample } from "./sample.ts";
import { browser, Workbench } from "./workbench.ts";

interface Place {
  folder: string;
  gate: string;
  settings: Record<string, unknown>;
}

export class Running {
  /** A folder for all of it, gone afterwards. */
  readonly folder: string;
  readonly sample: Sample;
  readonly workbench: Workbench;
  private readonly settings: Record<string, unknown>;
  private readonly gate: string;
  private readonly editor: Editor;
  private readonly chromium: Browser;

  private constructor(sample: Sample, workbench: Workbench, place: Place, editor: Editor, chromium: Browser) {
    this.folder = place.folder;
    this.settings = place.settings;
    this.gate = place.gate;
    this.sample = sample;
    this.workbench = workbench;
    this.editor = editor;
    this.chromium = chromium;
  }

  /** Starts one whose chats are answered by the scripted model. A command in `home/bin` is found in terminals. */
  static async start(longMessages = 0): Promise<Running> {
    const folder = mkdtempSync(join(tmpdir(), "lithify-workbench-"));
    const gate = join(folder, "gate", "shut");
    mkdirSync(dirname(gate));
    const sample = makeSample(folder, longMessages);
    loginPath(sample.home, `${join(sample.home, "bin")}:$PATH`);
    const settings = {
      "lithify.server.python": repositoryPython(),
      "lithify.dataDir": join(folder, "lithify"),
      "lithify.buffer.idleMs": 300_000,
    };
    const environment = { SCRIPTED_MODEL_GATE: gate }; // as long as this file is there, the model does not answer
    const place = { folder: join(folder, "code"), home: sample.home };
    const editor = await Editor.start({ ...place, settings, extensions: [SCRIPTED_MODEL], environment });
    const chromium = await browser();
    const workbench = await Workbench.open(chromium, editor.url(sample.project));
    await workbench.chooseChatModel("Scripted");
    return new Running(sample, workbench, { folder, gate, settings }, editor, chromium);
  }

  /** Changes settings beside those that it began with; without any, these alone are in force again. */
  set(more: Record<string, unknown> = {}): void {
    this.editor.set({ ...this.settings, ...more });
  }

  /** The scripted model answers nothing until the function that is returned is called. */
  shutGate(): () => void {
    writeFileSync(this.gate, "");
    return () => rmSync(this.gate);
  }

  /** What came of the requests at the gate, in order: each waits, and may be cancelled. */
  atGate(): string[] {
    const log = `${this.gate}.log`;
    return existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : [];
  }

  /** The process of its one server, known by its environment. */
  serverProcess(): number {
    const found = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" })
      .split("\n")
      .filter((line) => line.includes("-m lithify serve"))
      .map((line) => Number(line.trim().split(/\s+/)[0]))
      .filter((pid) => readFileSync(`/proc/${pid}/environ`, "utf8").includes(`SCRIPTED_MODEL_GATE=${this.gate}`));
    if (found.length !== 1) {
      throw new Error(`one server should run, not ${found.length}`);
    }
    return found[0] as number;
  }

  /** Ends all of it. */
  async stop(): Promise<void> {
    await this.chromium.close();
    await this.editor.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
