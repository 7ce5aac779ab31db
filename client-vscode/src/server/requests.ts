// What the server is asked and told, each with its types. All of it raises ServerTrouble where the server cannot be had,
// and ServerEnded where it does not live to answer.
import type { CancellationToken } from "vscode";
import type { Disposable, LanguageClient } from "vscode-languageclient/node";
import type { CompactionResult } from "../commands/results";
import type * as wire from "../protocol";
import { isConnectionLost } from "./connection";
import type { Server } from "./server";
import { ServerEnded } from "./trouble";

/** The commands of the server, with their argument and their answer. */
export interface Commands {
  "lithify.compact_conversation": [wire.CompactConversation, CompactionResult];
  "lithify.compact_up_to_here": [wire.CompactUpToHere, CompactionResult];
  "lithify.undo_compaction": [wire.UndoCompaction, wire.Undone];
  "lithify.preview_compaction": [wire.PreviewCompaction, wire.PreviewDocument | wire.Noop];
  "lithify.apply_compaction": [wire.ApplyCompaction, CompactionResult];
  "lithify.discard_draft": [wire.DiscardDraft, wire.Discarded];
  "lithify.extract_now": [wire.ProjectParams, wire.ExtractionResult];
  "lithify.compact_buffer": [wire.ProjectParams, wire.BufferCompactionResult];
  "lithify.search_memory": [wire.SearchMemory, wire.MemoryRecords];
  "lithify.list_memory": [wire.ListMemory, wire.MemoryRecords];
  "lithify.show_memory": [wire.RecordParams, wire.MemoryRecord];
  "lithify.forget_memory": [wire.RecordParams, wire.Forgotten];
  "lithify.set_recording": [wire.SetRecording, wire.RecordingState];
}

/** The requests of the server, with their params and their answer. */
export interface Requests {
  "lithify/recordEvents": [wire.RecordEvents, wire.EventResults];
  "lithify/bufferStatus": [wire.BufferStatusParams, wire.BufferStatus];
  "lithify/getSession": [wire.SessionParams, wire.Session];
  "lithify/listSessions": [Partial<wire.ListSessions>, wire.ListedSessions];
  "lithify/sessionStatus": [wire.SessionParams, wire.SessionStatus];
  "lithify/sessionActions": [wire.SessionActions, wire.OfferedActions];
  "lithify/deleteSession": [wire.SessionParams, null];
  "lithify/listAgentSessions": [{ projectUri?: string; limit?: number }, wire.FoundSessions];
  "lithify/getAgentSession": [{ uri: string }, wire.ShownConversation];
}

/** The notifications that the server takes, with their params. */
export interface Notifications {
  "lithify/didRecordEvents": wire.RecordEvents;
  "lithify/didOpenSession": wire.DidOpenSession;
  "lithify/didAppendMessages": wire.DidAppendMessages;
  "lithify/didSpliceMessages": wire.DidSpliceMessages;
  "lithify/didChangeSession": wire.DidChangeSession;
  "lithify/didCloseSession": wire.SessionParams;
}

export interface CommandOptions {
  token?: CancellationToken;
  /** Hears what the command is doing; without it, VS Code shows the progress. */
  onProgress?: (message: string) => void;
}

/** `run` and `ask` of one server. */
export type Run = <Name extends keyof Commands>(
  command: Name,
  argument: Commands[Name][0],
  options?: CommandOptions,
) => Promise<Commands[Name][1]>;
export type Ask = <Name extends keyof Requests>(method: Name, params: Requests[Name][0]) => Promise<Requests[Name][1]>;

let commandsSent = 0;

/** Runs a command of the server. */
export async function run<Name extends keyof Commands>(
  server: Server,
  command: Name,
  argument: Commands[Name][0],
  { token, onProgress }: CommandOptions = {},
): Promise<Commands[Name][1]> {
  const client = await server.client();
  const params = { command, arguments: [argument] };
  const cancelling = token === undefined ? [] : [token]; // the client takes an `undefined` for another param
  if (onProgress === undefined) {
    return answered(client.sendRequest("workspace/executeCommand", params, ...cancelling));
  }
  commandsSent += 1;
  const workDoneToken = `vscode-${commandsSent}`;
  const hearing = await hearProgress(client, workDoneToken, onProgress);
  try {
    return await answered(client.sendRequest("workspace/executeCommand", { ...params, workDoneToken }, ...cancelling));
  } finally {
    hearing.dispose();
  }
}

async function hearProgress(
  client: LanguageClient,
  token: string,
  hear: (message: string) => void,
): Promise<Disposable> {
  const { WorkDoneProgress } = await import("vscode-languageclient/node");
  return client.onProgress(WorkDoneProgress.type, token, (value) => {
    const message = value.kind === "begin" ? (value.message ?? value.title) : value.message;
    if (message && value.kind !== "end") {
      hear(message);
    }
  });
}

/** Asks the server something. */
export async function ask<Name extends keyof Requests>(
  server: Server,
  method: Name,
  params: Requests[Name][0],
): Promise<Requests[Name][1]> {
  const client = await server.client();
  return answered(client.sendRequest(method, params));
}

/** Tells the server something. */
export async function notify<Name extends keyof Notifications>(
  server: Server,
  method: Name,
  params: Notifications[Name],
): Promise<void> {
  const client = await server.client();
  await answered(client.sendNotification(method, params));
}

async function answered<Answer>(sent: Promise<Answer>): Promise<Answer> {
  try {
    return await sent;
  } catch (error) {
    throw isConnectionLost(error) ? new ServerEnded() : error;
  }
}
