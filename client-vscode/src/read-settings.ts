// Reads what is set in VS Code: the user's own settings, and all of them with the workspace's.
import * as vscode from "vscode";
import { SETTINGS } from "./protocol";
import { compactionEnabled, type Flat, inForce, ofUser } from "./settings";

/** The user's own settings (on a remote machine that machine's), as far as this workspace is trusted. */
export function userSettings(): Flat {
  return ofUser(read("user"), vscode.workspace.isTrusted);
}

/** The settings in force that a workspace may choose; of an untrusted workspace none are heeded. */
export function settingsInForce(): Flat {
  return inForce(userSettings(), read("workspace"), vscode.workspace.isTrusted);
}

/** The setting `conversation.compaction` in force, its defaults filled in. */
export function compactionSetting(): Record<string, unknown> {
  const name = "conversation.compaction";
  const defaults = vscode.workspace.getConfiguration("lithify").inspect<Record<string, unknown>>(name)?.defaultValue;
  return { ...defaults, ...(settingsInForce()[name] as Record<string, unknown> | undefined) };
}

export function isCompactionEnabled(): boolean {
  return compactionEnabled(compactionSetting());
}

function read(whose: "user" | "workspace"): Flat {
  const configuration = vscode.workspace.getConfiguration("lithify");
  const found: Flat = {};
  for (const name of SETTINGS) {
    const inspected = configuration.inspect(name);
    const value =
      whose === "user" ? inspected?.globalValue : (inspected?.workspaceFolderValue ?? inspected?.workspaceValue);
    if (value !== undefined) {
      found[name] = value;
    }
  }
  return found;
}
