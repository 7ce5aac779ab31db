// The context keys that menus, views and the palette look at.
import * as vscode from "vscode";
import { isCompactionEnabled } from "../read-settings";
import type { Server } from "../server/server";
import type { BufferStatuses } from "./buffer-status";

export function keepContextKeys(server: Server, statuses: BufferStatuses): vscode.Disposable[] {
  const set = (name: string, value: unknown) => vscode.commands.executeCommand("setContext", `lithify.${name}`, value);
  const settings = () => {
    const bufferCompaction = vscode.workspace.getConfiguration("lithify").get("bufferCompaction.enabled", false);
    set("compactionEnabled", isCompactionEnabled());
    set("bufferCompactionEnabled", bufferCompaction);
  };
  settings();
  set("server", server.state);
  set("recording", true);
  return [
    vscode.workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("lithify") && settings()),
    server.onDidChangeState((state) => set("server", state)),
    statuses.onDidChange((status) => set("recording", status.recording)),
  ];
}
