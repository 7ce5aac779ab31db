// The API for other extensions: `api.d.ts` says what it promises.
import type * as vscode from "vscode";
import type { LithifyApi, LithifyCompaction, LithifyMessage, LithifySession, LithifySessionOptions } from "../api";
import { projectUri } from "./project";
import type { Message, SessionChanged } from "./protocol";
import { appendMessages, openSession, spliceMessages } from "./server/confirmed";
import { ask, notify, run } from "./server/requests";
import type { Server } from "./server/server";

export function makeApi(server: Server, changed: vscode.Event<SessionChanged>): LithifyApi {
  return {
    version: 1,
    recordEvents: async (events) => (await ask(server, "lithify/recordEvents", { events })).results,
    openSession: async (options) => {
      await open(server, options);
      return session(server, options.sessionId, changed);
    },
    searchMemory: async (query, { projectUri: project, limit } = {}) => {
      const argument = { query, projectUri: project ?? projectUri(), limit };
      return (await run(server, "lithify.search_memory", argument)).records;
    },
  };
}

function open(
  server: Server,
  { sessionId, title, messages, agent, projectUri: project, record }: LithifySessionOptions,
): Promise<void> {
  return openSession(server, {
    sessionId,
    title,
    record,
    agent: agent ?? null,
    messages: messages ?? [],
    projectUri: project ?? projectUri(),
  });
}

function session(server: Server, sessionId: string, changed: vscode.Event<SessionChanged>): LithifySession {
  let last: Promise<unknown> = Promise.resolve();
  /** One change after the other: each is confirmed by what the session was before it. */
  const inTurn = (change: () => Promise<void>): Promise<void> => {
    const done = last.then(change);
    last = done.catch(() => undefined);
    return done;
  };
  return {
    sessionId,
    onDidChange: (listener, self, disposables) =>
      changed(
        (change) => change.sessionId === sessionId && listener.call(self, change.messages),
        undefined,
        disposables,
      ),
    append: (messages) => inTurn(() => appendMessages(server, { sessionId, messages })),
    splice: (start, deleteCount, messages = []) =>
      inTurn(() => spliceMessages(server, { sessionId, start, deleteCount, messages })),
    messages: async () => (await ask(server, "lithify/getSession", { sessionId })).messages,
    status: () => ask(server, "lithify/sessionStatus", { sessionId }),
    compact: async (options = {}) =>
      (await run(server, "lithify.compact_conversation", { sessionId, ...options })) as LithifyCompaction,
    compactUpTo: async (anchor, instructions) =>
      (await run(server, "lithify.compact_up_to_here", { sessionId, ...anchor, instructions })) as LithifyCompaction,
    undo: async (compactionId) => {
      const undone = await run(server, "lithify.undo_compaction", { sessionId, compactionId });
      return (undone.messages as Message[] | undefined) ?? ([] as LithifyMessage[]);
    },
    close: () => notify(server, "lithify/didCloseSession", { sessionId }),
  };
}
