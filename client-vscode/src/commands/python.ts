// The commands about the Python that runs the server: choose one, make an environment, start anew.
import { homedir } from "node:os";
import { dirname } from "node:path";
import * as vscode from "vscode";
import { joined } from "../joined";
import { safeFolder } from "../server/client";
import { makeEnvironment } from "../server/environment";
import { probe, pythonSetting, tryBases } from "../server/find-python";
import { baseOf, choose } from "../server/python";
import type { Server } from "../server/server";
import { chosenTrouble, pythonTrouble } from "../server/trouble";
import { t } from "../text";
import { tellFailure } from "./tell";

export function registerPythonCommands(
  context: vscode.ExtensionContext,
  server: Server,
  log: vscode.LogOutputChannel,
): vscode.Disposable[] {
  const command = (name: string, act: () => Promise<unknown>) =>
    vscode.commands.registerCommand(name, () => act().catch(tellFailure));
  const make = async () => {
    await makeEnvironment(context, await base(context), log);
    await use(server, undefined); // the setting would be used in its place
  };
  return [
    command("lithify.restartServer", () => server.restart()),
    command("lithify.choosePython", () => choosePython(context, server)),
    vscode.commands.registerCommand(
      "lithify.makeEnvironment",
      joined(() => make().catch(tellFailure)),
    ),
  ];
}

/** Has the user choose where the server's Python comes from. One that does not do is told and not taken. */
async function choosePython(context: vscode.ExtensionContext, server: Server): Promise<void> {
  const set = pythonSetting();
  if (set !== undefined && !(await wantsFile(set, server))) {
    return;
  }
  const [chosen] = (await vscode.window.showOpenDialog(dialog(set))) ?? [];
  if (chosen === undefined) {
    return;
  }
  const choice = choose([await probe(chosen.fsPath, "setting", await safeFolder(context))]);
  if (choice.kind === "setting_unusable") {
    throw chosenTrouble(choice.problem);
  }
  await use(server, chosen.fsPath);
}

function dialog(set: string | undefined): vscode.OpenDialogOptions {
  return {
    title: t("Choose a Python 3.11 or newer that has Lithify"),
    openLabel: t("Use This Python"),
    defaultUri: vscode.Uri.file(set === undefined ? homedir() : dirname(set)),
  };
}

/** Whether the user wants to point at another file; else the setting may be given up, and Lithify looks by itself. */
async function wantsFile(set: string, server: Server): Promise<boolean> {
  const look = {
    label: `$(search) ${t("Look for a Python that has Lithify")}`,
    detail: t("Takes {0} out of the setting", set),
  };
  const point = { label: `$(folder-opened) ${t("Choose a file...")}` };
  const chosen = await vscode.window.showQuickPick([look, point], { title: t("Use another Python") });
  if (chosen === look) {
    await use(server, undefined);
  }
  return chosen === point;
}

/** Has that Python run the server; undefined: the first that is found. A changed setting starts the server anew. */
async function use(server: Server, python: string | undefined): Promise<void> {
  if (python === pythonSetting()) {
    await server.restart();
  } else {
    await vscode.workspace
      .getConfiguration("lithify")
      .update("server.python", python, vscode.ConfigurationTarget.Global);
  }
}

/** The Python to make the environment with: the one that is set if it does, else the first that is new enough. */
async function base(context: vscode.ExtensionContext): Promise<string> {
  const tried = await tryBases(context, await safeFolder(context));
  const found = baseOf(tried);
  if (found === undefined) {
    throw pythonTrouble({ kind: "no_python", seen: tried.map((one) => one.path) });
  }
  return found;
}
