// What the model "Lithify offline" says: literal and always the same, since there is no language model behind it.
import { t } from "../text";

const MOST_QUOTED = 200;
const COMMANDS = "/compact, /compact-up-to, /undo, /memory, /continue, /status";

/** The answer to a chat whose last message of the user is given. */
export function offlineAnswer(lastMessage: string): string {
  const text = lastMessage.replace(/\s+/g, " ").trim();
  const quoted = text.length > MOST_QUOTED ? `${text.slice(0, MOST_QUOTED).trimEnd()}…` : text;
  return [
    t("This is Lithify's offline model. No language model runs behind it, so it answers no question."),
    t("What works all the same in a chat with @lithify: {0}.", COMMANDS),
    t("For real answers choose another model below the chat's input."),
    text === "" ? t("You wrote nothing.") : t("You wrote: {0}", `“${quoted}”`),
  ].join("\n\n");
}

/** Tokens by the server's own measure: UTF-8 bytes divided by 2.7, rounded up. */
export function countTokens(text: string): number {
  return Math.ceil(new TextEncoder().encode(text).length / 2.7);
}
