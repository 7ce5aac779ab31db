// What the status bar says while there is no status of a buffer: the server rests, starts, or cannot start.
import { escaped } from "../markdown";
import { t } from "../text";
import type { Gauge } from "./gauge";

export type ServerState = "resting" | "starting" | "running" | "restarting" | "failed";

/** The gauge of the server itself; `trouble` says why it does not run, as plain text. */
export function serverGauge(state: ServerState, trouble?: string): Gauge {
  if (state === "failed") {
    const why = trouble ?? t("The server does not run.");
    return { text: "$(error) Lithify", label: t("Lithify: {0}", why), hover: escaped(why), severity: "error" };
  }
  if (state === "starting" || state === "restarting") {
    const what = state === "starting" ? t("Lithify is starting") : t("Lithify's server ended and is started again");
    return { text: "$(sync~spin) Lithify", label: what, hover: what, severity: "normal" };
  }
  const what = t("Lithify starts when it is needed: with a chat file, an @lithify chat, or its memory");
  return { text: "$(database) Lithify", label: what, hover: what, severity: "normal" };
}
