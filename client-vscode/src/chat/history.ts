// What the model of a chat is given: the server's messages, with what was compacted away in its summary.
import type { Message, Part } from "../protocol";

/** A message as every model takes it. */
export interface PlainMessage {
  role: "user" | "assistant";
  text: string;
  /** Whether the user wrote it; what a tool gave back goes to the model as a user's message too. */
  asked: boolean;
}

/** The text of a message: its text parts, joined by newlines. */
export function textOf(message: Message): string {
  if (typeof message.content === "string") {
    return message.content;
  }
  return (message.content ?? [])
    .map((part: Part) => part.text ?? "")
    .filter((text) => text !== "")
    .join("\n");
}

/**
 * A session's messages for a model. Earlier uses of tools become text: the tools of that turn may not be there any
 * more, and a model must not see a call that it could not have made.
 */
export function forModel(messages: readonly Message[]): PlainMessage[] {
  return messages
    .map(
      (message): PlainMessage => ({
        role: message.role === "assistant" ? "assistant" : "user",
        text: shown(message),
        asked: message.role === "user",
      }),
    )
    .filter(({ text }) => text !== "");
}

function shown(message: Message): string {
  const text = textOf(message);
  if (message.role === "tool") {
    return `[Result of ${String(message.name ?? "a tool")}]\n${text}`;
  }
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const named = calls.map((call) => `[Used ${call?.function?.name}: ${call?.function?.arguments}]`);
  return [text, ...named].filter((one) => one !== "").join("\n");
}

/**
 * What the user asked last, and the newest other messages that fit a model's window with it, in order. `count` gives a
 * text's tokens.
 */
export function newestWithin(
  messages: readonly PlainMessage[],
  window: number,
  count: (text: string) => number,
): PlainMessage[] {
  const question = messages.findLastIndex((one) => one.asked);
  let room = window - count(messages[question]?.text ?? "");
  let first = messages.length;
  while (first > 0) {
    if (first - 1 !== question) {
      room -= count((messages[first - 1] as PlainMessage).text);
    }
    if (room < 0) {
      break;
    }
    first -= 1;
  }
  return messages.filter((_, index) => index >= first || index === question);
}

/** A title for a chat: the first line of its first prompt, without what is private. */
export function titleOf(prompt: string): string {
  const open = prompt.replace(/<private>[\s\S]*?(<\/private>|$)/gi, "");
  const line = open.trim().split("\n", 1)[0]?.replace(/\s+/g, " ") ?? "";
  return line.length > 60 ? `${line.slice(0, 59).trimEnd()}…` : line;
}

/** A use of a tool as the server keeps it: the call and its result. */
export function toolMessages(call: ToolUse, newId: () => string): [Message, Message] {
  const fn = { name: call.name, arguments: JSON.stringify(call.input) };
  return [
    {
      id: newId(),
      role: "assistant",
      content: call.said || null,
      tool_calls: [{ id: call.callId, type: "function", function: fn }],
    },
    { id: newId(), role: "tool", tool_call_id: call.callId, name: call.name, content: call.result },
  ];
}

export interface ToolUse {
  callId: string;
  name: string;
  input: unknown;
  result: string;
  /** What the model said before it called. */
  said?: string;
}
