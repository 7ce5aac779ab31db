// Tells the user results and failures: a message with buttons, or a moment in the status bar.
import * as vscode from "vscode";
import { unlinked } from "../markdown";
import { type NextStep, ServerTrouble, showLog } from "../server/trouble";
import { type Failure, failureOf } from "./failures";
import type { Told } from "./results";

const QUIET_MS = 6_000;

/** Tells a result or a failure. Does not wait for the user. */
export function tell({ text, severity, steps }: Told | Failure): void {
  if (severity === "quiet") {
    vscode.window.setStatusBarMessage(`$(info) ${unlinked(text)}`, QUIET_MS);
    return;
  }
  const show = {
    information: "showInformationMessage",
    warning: "showWarningMessage",
    error: "showErrorMessage",
  } as const;
  offer(vscode.window[show[severity]](unlinked(text), ...steps.map((step) => step.title)), steps);
}

/** Tells what went wrong; `again` tries it once more. */
export function tellFailure(error: unknown, again?: NextStep): void {
  if (error instanceof vscode.CancellationError) {
    return;
  }
  if (error instanceof ServerTrouble) {
    tell({ text: error.message, severity: "error", steps: [...error.steps] });
    return;
  }
  tell(failureOf(error, again));
}

function offer(answer: Thenable<string | undefined>, steps: readonly NextStep[]): void {
  answer
    .then(async (title) => {
      const step = steps.find((one) => one.title === title);
      if (step !== undefined) {
        await vscode.commands.executeCommand(step.command, ...(step.argument === undefined ? [] : [step.argument]));
      }
    })
    .then(undefined, (error) => tell({ text: String(error), severity: "error", steps: [showLog()] }));
}
