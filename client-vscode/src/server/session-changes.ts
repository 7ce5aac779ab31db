// The sessions that the server changed: by a compaction or its undoing.
import * as vscode from "vscode";
import type { SessionChanged } from "../protocol";
import type { Server } from "./server";

/** Fires with each change. The client lets one handler hear a notification, so all others listen here. */
export function sessionChanges(server: Server): vscode.Event<SessionChanged> {
  const changed = new vscode.EventEmitter<SessionChanged>();
  server.prepare((client) => {
    client.onNotification("lithify/sessionChanged", (change: SessionChanged) => changed.fire(change));
  });
  return changed.event;
}
