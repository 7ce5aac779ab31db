// A conversation as the sessions panel shows it, made of what the server tells of a live session or of an agent's.
import { textOf } from "../chat/history";
import { countTokens } from "../models/offline-answer";
import type { KeptCompaction, Message, Part, Session, ShownConversation } from "../protocol";
import type { Fold } from "./state";

/** A call of a tool; `input` is its arguments as text. */
export interface Call {
  name: string;
  input: string;
}

/** A message to be shown. `compactable`: "up to here" on it would do something. */
export interface Row {
  role: string;
  text: string;
  calls: Call[];
  thought?: string;
  /** Pictures and sounds, which are not shown. */
  media?: number;
  tokens: number;
  summary: boolean;
  compactable: boolean;
}

/** All messages of a conversation, and what can be undone in it. */
export interface Conversation {
  title: string;
  tokens: number;
  rows: Row[];
  /** What its agent does not send any more. */
  folds: Fold[];
  /** The newest compaction that is not undone, as far as it is known. */
  undo?: string;
}

const SUMMARY = /^<system>Previous context has been compacted[^<]*<\/system>\n?/;

/** A live session. Each message is counted as the server counts it: UTF-8 bytes divided by 2.7. */
export function ofSession(session: Session): Conversation {
  const rows = session.messages.map(rowOf);
  const tokens = rows.reduce((sum, row) => sum + row.tokens, 0);
  return { title: session.title ?? session.sessionId, tokens, rows, folds: [], undo: newest(session.compactions) };
}

/** A session of an agent, or any chat file, as the server read it. */
export function ofAgentSession(session: ShownConversation): Conversation {
  const rows = session.messages.map((one): Row => {
    const summary = one.summary === true || SUMMARY.test(one.text);
    return {
      role: summary ? one.role : speaker(one.role, one.answers.length > 0),
      text: one.text.replace(SUMMARY, ""),
      calls: one.toolCalls.map(({ name, arguments: input }) => ({ name, input })),
      ...(one.thought ? { thought: one.thought } : {}),
      ...(one.media ? { media: one.media } : {}),
      tokens: one.tokens,
      summary,
      compactable: one.compactable,
    };
  });
  const { title, tokens, folds, compactions } = session;
  return { title: title ?? "", tokens, rows, folds, undo: newest(compactions) };
}

/** The summary that stands in a conversation, without the sentence in front of it; the last one where there are several. */
export function summaryOf({ rows }: Conversation): string | undefined {
  return rows.findLast((row) => row.summary)?.text;
}

/** The text of a summary message without the fixed sentence in front of it. */
export function summaryText(message: Message): string {
  return textOf(message).replace(SUMMARY, "");
}

function newest(compactions: readonly Pick<KeptCompaction, "compactionId" | "undone">[]): string | undefined {
  return compactions.findLast((one) => !one.undone)?.compactionId;
}

function rowOf(message: Message): Row {
  const parts = Array.isArray(message.content) ? message.content : [];
  const text = [textOf(message), ...parts.map(resultText)].filter((one) => one !== "").join("\n");
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const used = parts.filter((part) => part.type === "tool_use");
  const counted = [
    text,
    ...(calls.length > 0 ? [JSON.stringify(calls)] : []),
    ...used.map((one) => JSON.stringify(one)),
  ];
  const thought = parts.map(thoughtOf).join("");
  const answers = parts.some((part) => part.type === "tool_result");
  return {
    role: speaker(message.role, answers),
    text: text.replace(SUMMARY, ""),
    calls: [
      ...calls.map(calledFunction),
      ...used.map((part) => ({ name: nameOf(part as { name?: unknown }), input: asText(part.input) })),
    ],
    ...(thought === "" ? {} : { thought }),
    tokens: countTokens(counted.join("")),
    summary: message.role === "user" && SUMMARY.test(text),
    compactable: true,
  };
}

/** Some agents have the results of tools said by the user. */
function speaker(role: string, answersCalls: boolean): string {
  return role === "user" && answersCalls ? "tool" : role;
}

function calledFunction(call: { function?: { name?: unknown; arguments?: unknown } }): Call {
  return { name: nameOf(call.function ?? {}), input: asText(call.function?.arguments) };
}

function nameOf({ name }: { name?: unknown }): string {
  return typeof name === "string" ? name : "?";
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function resultText(part: Part): string {
  if (part.type !== "tool_result") {
    return "";
  }
  return textOf({ role: "tool", content: part.content as Message["content"] });
}

function thoughtOf(part: Part): string {
  const thought = part.type === "think" || part.type === "thinking" ? (part.think ?? part.thinking) : undefined;
  return typeof thought === "string" ? thought : "";
}
