// What the model "Lithify offline" says: literal and always the same, since there is no language model behind it.
import { t } from "../text";

const MOST_QUOTED = 200;

/** The answer to a chat whose last message of the user is given. */
export function offlineAnswer(lastMessage: string): string {
  const text = lastMessage.replace(/\s+/g, " ").trim();
  const words = text === "" ? 0 : text.split(" ").length;
  const quoted = text.length > MOST_QUOTED ? `${text.slice(0, MOST_QUOTED).trimEnd()}…` : text;
  return [
    t("This is Lithify's offline model. No language model runs behind it, so it answers no question."),
    t("What works all the same: /compact, /memory, /status and /undo in a chat with @lithify."),
    t("For real answers choose another model below the chat's input."),
    words === 0 ? t("You wrote nothing.") : t("You wrote, in {0} words: {1}", words, `“${quoted}”`),
  ].join("\n\n");
}

/** Tokens by the server's own measure: UTF-8 bytes divided by 2.7, rounded up. */
export function countTokens(text: string): number {
  return Math.ceil(new TextEncoder().encode(text).length / 2.7);
}
