// What the status bar says of the conversation in front: its tokens of the model's window.
import { grouped, messages, percent, shortTokens, tokens } from "../amounts";
import { escaped } from "../markdown";
import type { SessionStatus } from "../protocol";
import { t } from "../text";
import type { Gauge } from "./gauge";

/** From this share of the window on, compaction is offered. Nothing is ever compacted by itself. */
export const OFFER_FROM = 0.8;

/** Whether so much of the window is used that compaction is worth offering. */
export function isFilling(status: SessionStatus): boolean {
  return typeof status.share === "number" && status.share >= OFFER_FROM;
}

/** The gauge of a conversation; with an unknown window, its size alone. */
export function conversationGauge(status: SessionStatus, title?: string | null): Gauge {
  const window = typeof status.window === "number" ? status.window : undefined;
  const size =
    window === undefined
      ? t("{0} tokens", shortTokens(status.tokens))
      : t("{0} of {1} tokens", shortTokens(status.tokens), shortTokens(window));
  const lines = [
    `**${t("Conversation")}**${title ? `: ${escaped(title)}` : ""}`,
    `${messages(status.messages)}, ${tokens(status.tokens)}`,
  ];
  if (window !== undefined) {
    lines.push(t("{0} of the model's {1} tokens", percent(status.share ?? status.tokens / window), grouped(window)));
  }
  if (isFilling(status)) {
    lines.push(t("Click to compact."));
  }
  return {
    text: `$(${isFilling(status) ? "fold-down" : "comment-discussion"}) ${size}`,
    label: t("Lithify conversation: {0}", lines.slice(1).join(", ")),
    hover: lines.join("\n\n"),
    severity: isFilling(status) ? "warning" : "normal",
  };
}
