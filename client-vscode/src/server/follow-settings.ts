// Brings changed settings, granted trust, and another Python, to the server: told where that is enough, else by a new start.
import * as vscode from "vscode";
import { userSettings } from "../read-settings";
import { needsRestart } from "../settings";
import { tellSettings } from "./client";
import { pythonExtensionsChange } from "./find-python";
import type { Server } from "./server";

export function followSettings(server: Server): vscode.Disposable[] {
  const anew = () => {
    if (server.state !== "resting") {
      server.restart().catch(() => undefined); // the status bar tells why it does not run
    }
  };
  return [
    vscode.workspace.onDidGrantWorkspaceTrust(anew),
    followPythonExtension(server, anew),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (!change.affectsConfiguration("lithify")) {
        return;
      }
      if (change.affectsConfiguration("lithify.server.python") || needsRestart(server.startedWith, userSettings())) {
        anew();
      } else if (server.current !== undefined) {
        server.inBackground(tellSettings(server.current));
      }
    }),
  ];
}

/** Another choice in the Python extension counts where the server's Python came from there, or none was found. */
function followPythonExtension(server: Server, anew: () => void): vscode.Disposable {
  let listening: vscode.Disposable | undefined;
  const states = server.onDidChangeState((state) => {
    if (state === "running" || state === "failed") {
      listening ??= pythonExtensionsChange()?.(
        () => (server.state === "failed" || server.origin === "extension") && anew(),
      );
    }
  });
  return { dispose: () => vscode.Disposable.from(states, ...(listening ? [listening] : [])).dispose() };
}
