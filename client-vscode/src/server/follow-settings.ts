// Brings changed settings, and granted trust, to the server: told where that is enough, else by a new start.
import * as vscode from "vscode";
import { userSettings } from "../read-settings";
import { needsRestart } from "../settings";
import { tellSettings } from "./client";
import type { Server } from "./server";

export function followSettings(server: Server): vscode.Disposable[] {
  let before = userSettings();
  const anew = () => {
    before = userSettings();
    if (server.state !== "resting") {
      server.restart().catch(() => undefined); // the status bar tells why it does not run
    }
  };
  return [
    vscode.workspace.onDidGrantWorkspaceTrust(anew),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (!change.affectsConfiguration("lithify")) {
        return;
      }
      if (change.affectsConfiguration("lithify.server.python") || needsRestart(before, userSettings())) {
        anew();
      } else if (server.current !== undefined) {
        server.inBackground(tellSettings(server.current));
      }
    }),
  ];
}
