// The private environment: made, with the user's word, from the wheel that the extension carries.
import { spawn } from "node:child_process";
import { access, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";
import { t } from "../text";
import { ServerTrouble, showLog } from "./trouble";

const STAMP = ".complete";

/** The Python of the finished environment for this version of the extension, if there is one. */
export async function environmentPython(context: vscode.ExtensionContext): Promise<string | undefined> {
  const folder = environmentFolder(context);
  return (await exists(join(folder, STAMP))) ? pythonIn(folder) : undefined;
}

/** Makes the environment with that Python, anew where one was left unfinished. Raises ServerTrouble. */
export async function makeEnvironment(
  context: vscode.ExtensionContext,
  base: string,
  log: vscode.LogOutputChannel,
): Promise<string> {
  const options = { location: vscode.ProgressLocation.Notification, title: t("Lithify: private environment") };
  return vscode.window.withProgress({ ...options, cancellable: true }, async (progress, token) => {
    const folder = environmentFolder(context);
    const storage = context.globalStorageUri.fsPath;
    await mkdir(storage, { recursive: true });
    await rm(folder, { recursive: true, force: true });
    progress.report({ message: t("making it with {0}", base) });
    await run(base, ["-m", "venv", folder], storage, log, token);
    const python = pythonIn(folder);
    progress.report({ message: t("installing Lithify and what it needs") });
    const pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", await carriedWheel(context)];
    await run(python, pip, storage, log, token);
    await writeFile(join(folder, STAMP), "");
    return python;
  });
}

function environmentFolder(context: vscode.ExtensionContext): string {
  return join(context.globalStorageUri.fsPath, `environment-${context.extension.packageJSON.version}`);
}

function pythonIn(folder: string): string {
  return process.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");
}

async function carriedWheel(context: vscode.ExtensionContext): Promise<string> {
  const folder = context.asAbsolutePath("server");
  const wheel = (await exists(folder)) ? (await readdir(folder)).find((name) => name.endsWith(".whl")) : undefined;
  if (wheel === undefined) {
    throw new ServerTrouble(
      t("This build of the extension carries no Lithify. Install it with pip and choose its Python."),
      [{ title: t("Choose Python..."), command: "lithify.choosePython" }],
    );
  }
  return join(folder, wheel);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function run(
  command: string,
  args: string[],
  cwd: string,
  log: vscode.LogOutputChannel,
  token: vscode.CancellationToken,
): Promise<void> {
  log.info(`${command} ${args.join(" ")}`);
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, windowsHide: true });
    const stop = token.onCancellationRequested(() => child.kill());
    let last = "";
    const hear = (data: Buffer) => {
      for (const line of data.toString().split("\n").filter(Boolean)) {
        log.info(line);
        last = line.trim();
      }
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("error", (error) => reject(failure(error.message)));
    child.on("close", (code) => {
      stop.dispose();
      if (token.isCancellationRequested) {
        reject(new vscode.CancellationError());
      } else {
        code === 0 ? resolve() : reject(failure(last));
      }
    });
  });
}

function failure(reason: string): ServerTrouble {
  return new ServerTrouble(t("The private environment could not be made: {0}", reason), [
    { title: t("Try Again"), command: "lithify.makeEnvironment" },
    { title: t("Choose Python..."), command: "lithify.choosePython" },
    showLog(),
  ]);
}
