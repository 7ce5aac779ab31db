// What the model of a chat is given: the server's messages, with what was compacted away in its summary.
import type { Message, Part } from "../protocol";

/** A message as every model takes it. */
export interface PlainMessage {
  role: "user" | "assistant";
  text: string;
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
      (message): PlainMessage => ({ role: message.role === "assistant" ? "assistant" : "user", text: shown(message) }),
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

/** The newest messages that fit a model's window, in order: at least the last one. `count` gives a text's tokens. */
export function newestWithin(
  messages: readonly PlainMessage[],
  window: number,
  count: (text: string) => number,
): PlainMessage[] {
  let room = window;
  let first = messages.length;
  while (first > 0) {
    room -= count((messages[first - 1] as PlainMessage).text);
    if (room < 0 && first < messages.length) {
      break;
    }
    first -= 1;
  }
  return messages.slice(first);
}

/** A title for a chat: the first line of its first prompt. */
export function titleOf(prompt: string): string {
  const line = prompt.trim().split("\n", 1)[0] ?? "";
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
