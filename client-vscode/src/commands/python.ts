// The commands about the Python that runs the server: choose one, make an environment, start anew.
import * as vscode from "vscode";
import { safeFolder } from "../server/client";
import { makeEnvironment } from "../server/environment";
import { tryPythons } from "../server/find-python";
import { choose, isNewEnough } from "../server/python";
import type { Server } from "../server/server";
import { pythonTrouble } from "../server/trouble";
import { t } from "../text";
import { tellFailure } from "./tell";

export function registerPythonCommands(
  context: vscode.ExtensionContext,
  server: Server,
  log: vscode.LogOutputChannel,
): vscode.Disposable[] {
  const command = (name: string, act: () => Promise<void>) =>
    vscode.commands.registerCommand(name, () => act().catch((error) => tellFailure(error)));
  const restart = async () => {
    await server.restart();
  };
  return [
    command("lithify.restartServer", restart),
    command("lithify.choosePython", choosePython),
    command("lithify.makeEnvironment", async () => {
      await makeEnvironment(context, await base(context), log);
      if (configured() === undefined) {
        await restart();
      } else {
        await configure(undefined); // it would be used in its place; the change starts the server anew
      }
    }),
  ];
}

/** Has the user point at a Python; the change of the setting starts the server anew. */
async function choosePython(): Promise<void> {
  const title = t("Choose a Python 3.11 or newer that has Lithify");
  const [chosen] = (await vscode.window.showOpenDialog({ title, openLabel: t("Use This Python") })) ?? [];
  if (chosen !== undefined) {
    await configure(chosen.fsPath);
  }
}

function configured(): string | undefined {
  return vscode.workspace.getConfiguration("lithify").inspect<string>("server.python")?.globalValue;
}

function configure(python: string | undefined): Thenable<void> {
  return vscode.workspace
    .getConfiguration("lithify")
    .update("server.python", python, vscode.ConfigurationTarget.Global);
}

/** The Python to make the environment with: the one that was set, else the first that is new enough. */
async function base(context: vscode.ExtensionContext): Promise<string> {
  const tried = await tryPythons(context, await safeFolder(context));
  const found = tried.find(
    ({ origin, probe }) => origin !== "environment" && probe !== undefined && isNewEnough(probe),
  );
  if (found !== undefined) {
    return found.path;
  }
  const choice = choose(tried);
  throw pythonTrouble(choice.kind === "ready" ? { kind: "no_python", seen: [] } : choice);
}
