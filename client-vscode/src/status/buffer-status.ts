// The status of the buffer of the project in front, kept up to date by what the server tells.
import * as vscode from "vscode";
import { projectUri } from "../project";
import type { BufferStatus } from "../protocol";
import { ask } from "../server/requests";
import type { Server } from "../server/server";

export class BufferStatuses implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<BufferStatus>();
  private readonly told = new vscode.EventEmitter<BufferStatus>();
  private readonly subscriptions: vscode.Disposable[];
  /** Fires with each new status of the project in front. */
  readonly onDidChange = this.changed.event;
  /** Fires with each status that the server tells, of any project. */
  readonly onDidTell = this.told.event;
  current: BufferStatus | undefined;

  constructor(private readonly server: Server) {
    server.prepare((client) => {
      client.onNotification("lithify/bufferStatusChanged", (status: BufferStatus) => this.hear(status));
    });
    this.subscriptions = [
      server.onDidChangeState((state) => state === "running" && server.inBackground(this.look())),
      vscode.window.onDidChangeActiveTextEditor(() => this.followEditor()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => server.inBackground(this.look())),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.changed, this.told).dispose();
  }

  private hear(status: BufferStatus): void {
    this.told.fire(status);
    if (status.projectId === this.current?.projectId) {
      this.show(status);
    }
  }

  private followEditor(): void {
    if ((vscode.workspace.workspaceFolders?.length ?? 0) > 1) {
      this.server.inBackground(this.look());
    }
  }

  /** Asks for the project in front, where the server runs. */
  private async look(): Promise<void> {
    if (this.server.state === "running") {
      this.show(await ask(this.server, "lithify/bufferStatus", { projectUri: projectUri() }));
    }
  }

  private show(status: BufferStatus): void {
    this.current = status;
    this.changed.fire(status);
  }
}
