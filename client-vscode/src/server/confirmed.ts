// Changes of a session that reject where the server does not make them. It answers no notification, so the session
// itself is looked at, before and after.
import { isDeepStrictEqual } from "node:util";
import { failureData } from "../commands/failures";
import type { DidAppendMessages, DidOpenSession, DidSpliceMessages, Message, Session } from "../protocol";
import { ask, type Notifications, notify } from "./requests";
import type { Server } from "./server";
import { NotTaken } from "./trouble";

/** Opens a session, or replaces the one of that id. */
export async function openSession(server: Server, params: DidOpenSession): Promise<void> {
  const look = () => ask(server, "lithify/getSession", { sessionId: params.sessionId }).catch(unlessUnknown);
  const before = await look();
  await notify(server, "lithify/didOpenSession", params);
  const after = await look();
  if (
    after === undefined ||
    (isUnchanged(before, after) && !isDeepStrictEqual(after.messages, sent(params.messages)))
  ) {
    throw new NotTaken();
  }
}

/** Adds messages at the end. */
export function appendMessages(server: Server, params: DidAppendMessages): Promise<void> {
  return change(server, "lithify/didAppendMessages", params, () => params.messages.length === 0);
}

/** Puts messages in the place of some others. */
export function spliceMessages(server: Server, params: DidSpliceMessages): Promise<void> {
  const { start, deleteCount } = params;
  return change(server, "lithify/didSpliceMessages", params, ({ messages }) => {
    const isInside = start >= 0 && deleteCount >= 0 && start + deleteCount <= messages.length;
    return isInside && isDeepStrictEqual(messages.slice(start, start + deleteCount), sent(params.messages));
  });
}

/** `isIdle`: whether what was sent changes nothing of the session, which then stays as it was. */
async function change<Name extends "lithify/didAppendMessages" | "lithify/didSpliceMessages">(
  server: Server,
  method: Name,
  params: Notifications[Name],
  isIdle: (session: Session) => boolean,
): Promise<void> {
  const look = () => ask(server, "lithify/getSession", { sessionId: params.sessionId });
  const before = await look();
  await notify(server, method, params);
  if (isUnchanged(before, await look()) && !isIdle(before)) {
    throw new NotTaken();
  }
}

function isUnchanged(before: Session | undefined, after: Session): boolean {
  return before?.revision === after.revision;
}

/** Messages as they arrive at the server: what is undefined does not. */
function sent(messages: readonly Message[]): unknown {
  return JSON.parse(JSON.stringify(messages));
}

function unlessUnknown(error: unknown): undefined {
  if (failureData(error)?.type !== "unknown_session") {
    throw error;
  }
}
