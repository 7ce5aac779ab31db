// A conversation as a Markdown text to be kept: each message under a heading, calls and results of tools as code.

import type { Conversation, Row } from "./conversation";
import { agentName } from "./listing";
import { roleName } from "./roles";

/** The whole conversation. `agent` is absent for a live chat. */
export function asMarkdown({ title, rows }: Conversation, agent?: string): string {
  const head = `# ${title.replace(/\s+/g, " ").trim()}`;
  const from = agent === undefined ? [] : [agentName(agent)];
  return `${[head, ...from, ...rows.map(section)].join("\n\n")}\n`;
}

/** A name for the file: the title without what no path may hold. */
export function markdownName(title: string): string {
  const plain = title.replace(/[^\p{L}\p{N} _-]+/gu, " ").replace(/\s+/g, " ");
  return `${plain.trim().slice(0, 60).trim() || "conversation"}.md`;
}

function section(row: Row, index: number): string {
  const text = row.role === "tool" && !row.summary ? fenced(row.text) : row.text;
  const calls = row.calls.map(({ name, input }) => `\`${name.replaceAll("`", "'")}\`\n\n${fenced(input)}`);
  return [`## ${index + 1}. ${roleName(row)}`, text, ...calls].filter((one) => one !== "").join("\n\n");
}

/** A block of code whose fence is longer than any in it. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return text === "" ? "" : `${fence}\n${text}\n${fence}`;
}
