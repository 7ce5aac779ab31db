// The project that the user works in: the folder of the editor in front, else the first of the workspace.
import * as vscode from "vscode";

/** A folder's file URI, or undefined where no folder is open; the server then takes its own default. */
export function projectUri(): string | undefined {
  const inFront = vscode.window.activeTextEditor?.document.uri;
  const folder = inFront && vscode.workspace.getWorkspaceFolder(inFront);
  const uri = (folder ?? vscode.workspace.workspaceFolders?.[0])?.uri;
  return uri?.scheme === "file" ? uri.toString() : undefined;
}
