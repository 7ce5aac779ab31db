// The messages of an agent's session as those of a chat: its uses of tools become text, since their tools are not there.
import type { Conversation, Row } from "../panel/conversation";
import type { Message } from "../protocol";

const SUMMARY = "<system>Previous context has been compacted. Here is the compaction output:</system>";

/** The messages of a conversation, without ids; system messages are the agent's own and stay behind. */
export function messagesOf({ rows }: Conversation): Message[] {
  return rows
    .filter(({ role }) => role !== "system" && role !== "developer")
    .map((row) => ({ role: row.role === "assistant" ? "assistant" : "user", content: content(row) }))
    .filter(({ content }) => content !== "");
}

function content(row: Row): string {
  const text = row.role === "tool" ? `[Result of a tool]\n${row.text}` : row.text;
  const said = row.summary ? `${SUMMARY}\n${row.text}` : text;
  const calls = row.calls.map(({ name, input }) => `[Used ${name}: ${input}]`);
  return [said, ...calls].filter((one) => one !== "").join("\n");
}
