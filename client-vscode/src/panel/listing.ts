// The list of sessions: chats that the server keeps, and sessions of coding agents.
import type { FoundSession, ListedSession } from "../protocol";
import { t } from "../text";
import type { Listed } from "./state";

/** What a key of the list stands for. */
export type Target = { sessionId: string } | { uri: string };

const CHAT = "chat:";

export function keyOf(target: Target): string {
  return "uri" in target ? target.uri : CHAT + target.sessionId;
}

export function targetOf(key: string): Target {
  return key.startsWith(CHAT) ? { sessionId: key.slice(CHAT.length) } : { uri: key };
}

export function listedChat(session: ListedSession): Listed {
  const { sessionId, title, messages, tokens, updatedAt } = session;
  const key = keyOf({ sessionId });
  return { key, title: title || sessionId, messages, tokens, updatedAt, live: null, file: false };
}

/** An agent's session. In a workspace that is not trusted all of them are read-only. */
export function listedAgent(session: Omit<FoundSession, "messages"> & { messages: number }, trusted: boolean): Listed {
  const { uri, agent, title, messages, tokens, updatedAt, live, writable, resumeCommand } = session;
  const readOnly = trusted
    ? writable
      ? undefined
      : (session.reason ?? t("It can only be read."))
    : t("Lithify changes no file of a workspace that is not trusted.");
  return {
    key: uri,
    agent: agentName(agent),
    title: title || t("Untitled"),
    messages,
    tokens,
    updatedAt,
    live,
    ...(readOnly === undefined ? {} : { readOnly }),
    ...(resumeCommand && trusted ? { resumeCommand } : {}),
    file: uri.startsWith("file:"),
  };
}

const NAMES: Record<string, string> = {
  "claude-code": "Claude Code",
  codex: "Codex",
  "kimi-code": "kimi-code",
  "kimi-cli": "kimi-cli",
  gemini: "Gemini CLI",
  opencode: "opencode",
};

/** An agent by the name that people know. */
export function agentName(agent: string): string {
  return NAMES[agent] ?? agent;
}
