// Runs commands of the server for the user: the result is told in a sentence, a failure with its next step.
import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { type Commands, run } from "../server/requests";
import type { Server } from "../server/server";
import { t } from "../text";
import { resultOf } from "./results";
import { tell, tellFailure } from "./tell";

/** Runs a command and tells what came of it; undefined where it failed, which the user was told. */
export async function runShown<Name extends keyof Commands>(
  server: Server,
  command: Name,
  argument: Commands[Name][0],
): Promise<Commands[Name][1] | undefined> {
  if (!vscode.workspace.isTrusted && typeof (argument as { uri?: unknown } | undefined)?.uri === "string") {
    tell({
      text: t("Lithify changes no file of a workspace that is not trusted."),
      severity: "warning",
      steps: [{ title: t("Manage Trust"), command: "workbench.trust.manage" }],
    });
    return undefined;
  }
  try {
    const result = await run(server, command, argument);
    const told = resultOf(command, result);
    if (told !== undefined) {
      tell(told);
    }
    return result;
  } catch (error) {
    tellFailure(error, { title: t("Try Again"), command, argument });
    return undefined;
  }
}

/** How the client runs what lenses and code actions name, and keeps them out of untrusted workspaces. */
export function middleware(server: () => Server): Middleware {
  const trusted = () => vscode.workspace.isTrusted;
  return {
    executeCommand: (command, [argument]) => runShown(server(), command as keyof Commands, argument ?? {}),
    provideCodeActions: (document, range, context, token, next) =>
      trusted() ? next(document, range, context, token) : undefined,
    provideCodeLenses: (document, token, next) => (trusted() ? next(document, token) : undefined),
  };
}
