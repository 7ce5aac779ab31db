// Which of the editor's models answers, and what an error of theirs means to the server.

/** What is known of a language model of the editor's. */
export interface ModelInfo {
  id: string;
  name: string;
  vendor: string;
  family: string;
}

/** Our own model answers chats without a model; it must never write a summary. */
export const OWN_VENDOR = "lithify";

/** Why the server gets no text, in the words of the protocol. */
export type Reason =
  | "no_model"
  | "consent_required"
  | "consent_denied"
  | "quota"
  | "context_too_long"
  | "timeout"
  | "unknown";

/**
 * The model for a request: the one that was asked for by id, family or name, else the one the user chose last, else
 * the first. Undefined where there is none but our own.
 */
export function chooseModel<Model extends ModelInfo>(
  models: readonly Model[],
  wanted: string | null | undefined,
  lastChosen: string | undefined,
): Model | undefined {
  const others = models.filter((model) => model.vendor !== OWN_VENDOR);
  const named = (name: string) =>
    others.find((model) => model.id === name) ??
    others.find((model) => model.family === name) ??
    others.find((model) => model.name.toLowerCase() === name.toLowerCase());
  return (wanted ? named(wanted) : undefined) ?? others.find((model) => model.id === lastChosen) ?? others[0];
}

/**
 * Why a request may not be sent to a model, where it may not. Work that no user asked for must not be what brings up the
 * question for consent. `consent` is undefined where the user was never asked.
 */
export function lacksConsent(userInitiated: boolean, consent: boolean | undefined): Reason | undefined {
  if (userInitiated || consent === true) {
    return undefined;
  }
  return consent === false ? "consent_denied" : "consent_required";
}

const QUOTA = /quota|rate.?limit|too many requests|premium request|\b429\b/i;
const TOO_LONG =
  /context.{0,20}(length|window|long|exceed)|too (long|large|many tokens)|token limit|prompt is too|off.?topic.{0,5}length/i;

/** What an error of the editor's model means; `code` is that of a `LanguageModelError`. */
export function reasonOf(code: string | undefined, message: string): Reason {
  if (code === "NoPermissions") {
    return "consent_denied";
  }
  if (code === "NotFound") {
    return "no_model";
  }
  if (TOO_LONG.test(message)) {
    return "context_too_long";
  }
  return code === "Blocked" || QUOTA.test(message) ? "quota" : "unknown";
}

/** The options a model's API may take: those of the request without our own switch, which is no option of an API. */
export function modelOptions(settings: Record<string, unknown> | null | undefined): Record<string, unknown> {
  const { disable_all_tools: _ours, ...others } = settings ?? {};
  return others;
}
