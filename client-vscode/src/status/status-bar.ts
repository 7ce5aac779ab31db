// The two gauges in the status bar, their menus, and the indicator under the chat's input.
import * as vscode from "vscode";
import type { Front } from "../chat/front";
import { failureData } from "../commands/failures";
import type { BufferStatus, SessionStatus } from "../protocol";
import { isCompactionEnabled } from "../read-settings";
import { ask } from "../server/requests";
import type { Server } from "../server/server";
import { t } from "../text";
import type { BufferStatuses } from "./buffer-status";
import { conversationGauge, isFilling } from "./conversation-gauge";
import { bufferGauge, type Gauge, isWorking, needsAttention } from "./gauge";
import { bufferMenu, conversationMenu, type MenuItem } from "./menus";
import { serverGauge } from "./server-gauge";

export class StatusBar implements vscode.Disposable {
  private readonly buffer = vscode.window.createStatusBarItem("lithify.buffer", vscode.StatusBarAlignment.Right, 90);
  private readonly chat = vscode.window.createStatusBarItem(
    "lithify.conversation",
    vscode.StatusBarAlignment.Right,
    89,
  );
  private readonly subscriptions: vscode.Disposable[];
  private conversation: SessionStatus | undefined;

  constructor(
    private readonly server: Server,
    private readonly statuses: BufferStatuses,
    private readonly front: Front,
  ) {
    this.buffer.name = t("Lithify buffer");
    this.buffer.command = "lithify.showMenu";
    this.chat.name = t("Lithify conversation");
    this.chat.command = "lithify.showConversationMenu";
    const command = vscode.commands.registerCommand;
    const menu = () => pick(t("Lithify: memory of this project"), bufferMenu(this.server.state, this.statuses.current));
    const chatMenu = () =>
      pick(t("Lithify: the @lithify chat"), conversationMenu(isCompactionEnabled(), this.isChatFilling()));
    this.subscriptions = [
      server.onDidChangeState(() => this.showBuffer()),
      statuses.onDidChange(() => this.showBuffer()),
      front.onDidChange(() => server.inBackground(this.showConversation())),
      command("lithify.showMenu", menu),
      command("lithify.showConversationMenu", chatMenu),
      ...["working", "attention", "room"].map((state) => command(`lithify.chatStatus.${state}`, menu)),
      command("lithify.chatStatus.filling", chatMenu),
    ];
    this.showBuffer();
    this.buffer.show();
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.buffer, this.chat).dispose();
  }

  private showBuffer(): void {
    const { state, trouble } = this.server;
    const status = state === "running" ? this.statuses.current : undefined;
    show(this.buffer, status === undefined ? serverGauge(state, trouble?.message) : bufferGauge(status, Date.now()));
    this.showInChat(status);
  }

  private async showConversation(): Promise<void> {
    const { sessionId, title } = this.front.current ?? {};
    if (sessionId === undefined) {
      return;
    }
    try {
      this.conversation = await ask(this.server, "lithify/sessionStatus", { sessionId });
      show(this.chat, conversationGauge(this.conversation, title));
      this.chat.show();
    } catch (error) {
      this.conversation = undefined;
      this.chat.hide();
      if (failureData(error)?.type !== "unknown_session") {
        throw error;
      }
    }
    this.showInChat(this.statuses.current);
  }

  /** The titles under the chat's input stand in the manifest, so each state has a command of its own there. */
  private showInChat(status: BufferStatus | undefined): void {
    const state = this.isChatFilling() ? "filling" : chatState(status, this.server.state === "failed");
    vscode.commands.executeCommand("setContext", "lithify.chatStatus", state);
  }

  private isChatFilling(): boolean {
    return isCompactionEnabled() && this.conversation !== undefined && isFilling(this.conversation);
  }
}

function chatState(status: BufferStatus | undefined, failed: boolean): string {
  if (failed || (status !== undefined && needsAttention(status))) {
    return "attention";
  }
  return status !== undefined && isWorking(status) ? "working" : "room";
}

function show(item: vscode.StatusBarItem, gauge: Gauge): void {
  const hover = new vscode.MarkdownString(gauge.hover, true);
  hover.isTrusted = false;
  item.text = gauge.text;
  item.tooltip = hover;
  item.accessibilityInformation = { label: gauge.label, role: "button" };
  item.backgroundColor =
    gauge.severity === "normal" ? undefined : new vscode.ThemeColor(`statusBarItem.${gauge.severity}Background`);
}

async function pick(title: string, items: MenuItem[]): Promise<void> {
  const chosen = await vscode.window.showQuickPick(items, { title });
  if (chosen !== undefined) {
    await vscode.commands.executeCommand(chosen.command);
  }
}
