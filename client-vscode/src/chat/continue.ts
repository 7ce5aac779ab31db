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

/** Opens a new chat whose first turn is `/continue`; the user writes the next. */
export async function startChatWith(key: string): Promise<void> {
  await vscode.commands.executeCommand("workbench.action.chat.newChat");
  await vscode.commands.executeCommand("workbench.action.chat.open", { query: `@lithify /continue ${key}` });
}

/** The conversation with that key of the sessions panel. */
export async function source(server: Server, key: string): Promise<Source> {
  const target = targetOf(key);
  if ("sessionId" in target) {
    const { title, sessionId, messages } = await ask(server, "lithify/getSession", target);
    return { title: title ?? sessionId, messages: messages.map(({ id: _, ...others }) => others) };
  }
  const session = await ask(server, "lithify/getAgentSession", target);
  return { title: session.title ?? target.uri, messages: messagesOf(ofAgentSession(session)) };
}
