// A new @lithify chat that goes on from another conversation: how it is started, and what its history begins with.
import * as vscode from "vscode";
import { ofAgentSession } from "../panel/conversation";
import { targetOf } from "../panel/listing";
import type { Message } from "../protocol";
import { ask } from "../server/requests";
import type { Server } from "../server/server";
import { messagesOf } from "./continued";

/** A conversation to go on from. */
export interface Source {
  title: string;
  messages: Message[];
}

/** The keys of conversations by the titles that the chats were begun with. */
const keys = new Map<string, string>();

/** Opens a new chat whose first turn is `/continue`, which names the conversation by its title. */
export async function startChatWith(key: string, title: string): Promise<void> {
  const name = title.replace(/[\s@#/]+/g, " ").trim() || key;
  keys.set(name, key);
  await inNewChat(name);
}

/** Opens a new chat that begins with `/continue`. The chat view is made the one in use first: it is what gets the new chat. */
export async function inNewChat(name: string): Promise<void> {
  await vscode.commands.executeCommand("workbench.action.chat.open");
  await vscode.commands.executeCommand("workbench.action.chat.newChat");
  await vscode.commands.executeCommand("workbench.action.chat.open", { query: `@lithify /continue ${name}` });
}

/** The conversation of that name, or with that key of the sessions panel. */
export async function source(server: Server, name: string): Promise<Source> {
  const target = targetOf(keys.get(name) ?? name);
  if ("sessionId" in target) {
    const { title, sessionId, messages } = await ask(server, "lithify/getSession", target);
    return { title: title ?? sessionId, messages: messages.map(({ id: _, ...others }) => others) };
  }
  const session = await ask(server, "lithify/getAgentSession", target);
  return { title: session.title ?? target.uri, messages: messagesOf(ofAgentSession(session)) };
}
