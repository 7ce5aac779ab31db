// One message of a conversation on the page: who says it, its size, its text, its calls of tools folded.
import { grouped, shortTokens, tokens } from "../amounts";
import type { ShownRow } from "../panel/messages";
import { roleName } from "../panel/roles";
import { t } from "../text";
import { button, el, linked } from "./dom";

/** What a message is shown with, and what can be done on it. */
export interface MessageView {
  row: ShownRow;
  index: number;
  count: number;
  /** Whether "Compact up to here" stands on it. */
  offered: boolean;
  /** Whether the compaction that is being prepared would take it away. */
  leaving: boolean;
  compact(): void;
  wholeText(): void;
}

const MOST_INPUT = 60;
const CHARACTERS_A_LINE = 44;

export function messageElement(view: MessageView): HTMLElement {
  const { row, index, count, leaving, offered } = view;
  const kind = row.summary ? "summary" : row.role;
  return el(
    "article",
    {
      class: `message${leaving ? " leaving" : ""}`,
      "data-role": kind,
      tabindex: "-1",
      "aria-label": t("{0}, message {1} of {2}, {3}", roleName(row), index + 1, grouped(count), tokens(row.tokens)),
      "aria-posinset": String(index + 1),
      "aria-setsize": String(count),
      "data-vscode-context": JSON.stringify({
        webviewSection: "message",
        messageIndex: index,
        lithifyOffered: offered,
        preventDefaultContextMenuItems: false,
      }),
    },
    head(view),
    row.thought === undefined ? undefined : folded(t("Thought"), row.thought, "thought"),
    ...body(view),
    row.media === undefined ? undefined : el("p", { class: "hint" }, t("Pictures and sounds: {0}", row.media)),
    ...row.calls.map(({ name, input }) => folded(name, input, "call", short(input))),
  );
}

/** How high a message will about be, in pixels. */
export function estimate({ text, calls, role, thought }: ShownRow): number {
  const lines = role === "tool" ? 1 : Math.ceil(text.length / CHARACTERS_A_LINE) + text.split("\n").length - 1;
  return 46 + 18 * lines + 24 * (calls.length + (thought === undefined ? 0 : 1));
}

function head({ row, index, offered, compact }: MessageView): HTMLElement {
  const size = el("span", { class: "size", title: tokens(row.tokens) }, `${shortTokens(row.tokens)} ${t("tokens")}`);
  const upTo = offered
    ? button(t("Compact up to here"), compact, "link", {
        "aria-label": t("Compact up to here, message {0}", index + 1),
      })
    : undefined;
  return el("header", {}, el("span", { class: "role" }, roleName(row)), size, upTo);
}

function body(view: MessageView): (Node | undefined)[] {
  const { row } = view;
  if (row.text === "") {
    return [];
  }
  if (row.role === "tool" && !row.summary) {
    return [folded(t("Result"), row.text, "result", short(row.text), rest(view))];
  }
  return [el("div", { class: "text" }, ...linked(row.text), row.length === undefined ? undefined : "…"), rest(view)];
}

function rest({ row, wholeText }: MessageView): Node | undefined {
  return row.length === undefined
    ? undefined
    : button(t("Show all {0} characters", grouped(row.length)), wholeText, "link");
}

function folded(title: string, text: string, kind: string, hint = "", more?: Node): HTMLElement {
  const line = el("summary", {}, el("span", { class: "name" }, title), " ", el("span", { class: "hint" }, hint));
  return el("details", { class: kind }, line, el("pre", {}, text), more);
}

function short(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MOST_INPUT ? `${line.slice(0, MOST_INPUT)}…` : line;
}
