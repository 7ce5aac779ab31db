// What went wrong, with what can be done next as buttons.
import type { FromPage } from "../panel/messages";
import type { Problem } from "../panel/state";
import { button, el } from "./dom";

/** Tells the extension something. */
export type Tell = (said: FromPage) => void;

export function problemElement({ text, steps }: Problem, tell: Tell): HTMLElement {
  const buttons = steps.map((title, index) => button(title, () => tell({ type: "step", index })));
  return el(
    "div",
    { class: "problem", role: "alert" },
    el("p", {}, text),
    buttons.length > 0 ? el("div", { class: "buttons" }, ...buttons) : undefined,
  );
}
