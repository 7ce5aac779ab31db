// The conversation in front: the @lithify chat that was used last, for the second gauge and its menu.
import * as vscode from "vscode";

/** Which session is in front. */
export interface InFront {
  sessionId: string;
  title: string;
}

export class Front implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<InFront>();
  private readonly shown = new vscode.EventEmitter<InFront>();
  /** Fires when another conversation comes to the front, or the one in front has changed. */
  readonly onDidChange = this.changed.event;
  /** Fires when a turn of a chat has ended, which is in front then. */
  readonly onDidShow = this.shown.event;
  current: InFront | undefined;

  show(conversation: InFront): void {
    this.current = conversation;
    vscode.commands.executeCommand("setContext", "lithify.chatInFront", true);
    this.changed.fire(conversation);
    this.shown.fire(conversation);
  }

  /** The session changed on the server. */
  touched(sessionId: string): void {
    if (this.current?.sessionId === sessionId) {
      this.changed.fire(this.current);
    }
  }

  dispose(): void {
    this.changed.dispose();
    this.shown.dispose();
  }
}
