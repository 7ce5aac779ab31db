// What can be read about the server's work: its log, the entries of the buffer, the ledger of model calls.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { projectUri } from "../project";
import { openToRead } from "../read-only-documents";
import { userSettings } from "../read-settings";
import type { Server } from "../server/server";
import { t } from "../text";
import { settingsQuery } from "./failures";
import { tellFailure } from "./tell";

const MOST_BYTES = 64 * 1024 * 1024;
const MOST_CALLS = 500;

export function registerReports(server: Server, log: vscode.LogOutputChannel): vscode.Disposable[] {
  const command = (name: string, act: () => Promise<void>) =>
    vscode.commands.registerCommand(name, () => act().catch((error) => tellFailure(error)));
  return [
    command("lithify.showLog", async () => log.show(true)),
    vscode.commands.registerCommand("lithify.openSettings", (names?: unknown) => openSettings(names)),
    command("lithify.showBuffer", async () => {
      const project = projectUri();
      const place = project === undefined ? [] : ["--project", vscode.Uri.parse(project).fsPath];
      await openToRead(`${t("Buffer")}.txt`, await report(server, ["buffer", "show", ...place]));
    }),
    command("lithify.showLedger", async () => {
      const text = await report(server, ["ledger", "--limit", String(MOST_CALLS)]);
      await openToRead(`${t("Ledger of model calls")}.txt`, text);
    }),
  ];
}

/** Opens the settings editor at our settings whose names begin so. On a remote machine: at those of that machine. */
function openSettings(names: unknown): Thenable<unknown> {
  const query = settingsQuery(typeof names === "string" ? names : "");
  return vscode.env.remoteName === undefined
    ? vscode.commands.executeCommand("workbench.action.openSettings", query)
    : vscode.commands.executeCommand("workbench.action.openRemoteSettings", { query });
}

/** What the command line of the server's own Python prints. */
async function report(server: Server, args: string[]): Promise<string> {
  await server.client();
  const dataDir = userSettings().dataDir;
  const place = typeof dataDir === "string" ? ["--data-dir", dataDir] : [];
  const options = {
    maxBuffer: MOST_BYTES,
    windowsHide: true,
    env: { ...process.env, PYTHONUTF8: "1", COLUMNS: "120" },
  };
  const python = server.python as string; // there is one, since the server runs
  const { stdout } = await promisify(execFile)(python, ["-P", "-m", "lithify", ...args, ...place], options);
  return stdout;
}
