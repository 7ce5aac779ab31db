// What a user is told of an error, and what can be done next: decided from the server's `data.type`.
import type { FailureData } from "../protocol";
import { type NextStep, showLog } from "../server/trouble";
import { t } from "../text";
import { sentence } from "./results";

/** An error as people are told it. Quiet ones are shown for a moment in the status bar, or not at all. */
export interface Failure {
  text: string;
  severity: "quiet" | "warning" | "error";
  steps: NextStep[];
}

/** What to say of an error that a request ended in; `again` is the step that tries it once more. */
export function failureOf(error: unknown, again?: NextStep): Failure {
  const { type, retryable } = failureData(error) ?? { type: undefined, retryable: false };
  const text = sentence(error instanceof Error ? error.message : String(error));
  const steps = [...stepsOf(type)];
  if (retryable && again !== undefined && !["cancelled", "storage_failed"].includes(type ?? "")) {
    steps.unshift(again);
  }
  return { text, severity: severityOf(type), steps };
}

/** The `data` of an error of the server's, where it is one. */
export function failureData(error: unknown): FailureData | undefined {
  const data = (error as { data?: Partial<FailureData> } | undefined)?.data;
  return typeof data?.type === "string" ? { type: data.type, retryable: data.retryable === true } : undefined;
}

function severityOf(type: string | undefined): Failure["severity"] {
  if (type === "cancelled") {
    return "quiet";
  }
  return type === undefined || type === "storage_failed" || type === "model_error" ? "error" : "warning";
}

function stepsOf(type: string | undefined): NextStep[] {
  switch (type) {
    case "disabled":
      return [settings(t("Open Settings"), "lithify.conversation.compaction")];
    case "model_unavailable":
      return [settings(t("Choose a Model"), "lithify.model")];
    case "timeout":
      return [settings(t("Change the Time Limit"), "lithify.conversation.timeoutMs")];
    case "not_smaller":
      return [settings(t("Open Settings"), "lithify.conversation.refuseLargerFrom")];
    case undefined:
    case "storage_failed":
    case "model_error":
    case "empty_response":
      return [showLog()];
    default:
      return []; // the sentence itself names the way out
  }
}

/** What the settings editor is asked to find: settings of this extension alone, those whose names begin so. */
export function settingsQuery(names: string): string {
  return `@ext:lithify.lithify ${names}`.trim();
}

function settings(title: string, names: string): NextStep {
  return { title, command: "lithify.openSettings", argument: names };
}
