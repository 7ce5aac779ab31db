// The card above a conversation: a compaction from its preview over the draft to what came of it.
import { grouped, messages, tokens } from "../amounts";
import type { PlainAct } from "../panel/messages";
import type { Drafted, Opened, PreviewShown, Work } from "../panel/state";
import { t } from "../text";
import { button, el, fill } from "./dom";
import { problemElement, type Tell } from "./problem";

type Of<Kind extends Work["kind"]> = Extract<Work, { kind: Kind }>;

export class CompactionCard {
  readonly element = el("section", { class: "card", "aria-label": t("Compaction") });
  private shown = "";
  private againIsOpen = false;

  constructor(private readonly tell: Tell) {}

  /** Shows where a compaction stands. What the user is writing keeps the focus. */
  show(open: Opened): void {
    const { work } = open;
    this.element.hidden = work.kind === "none";
    this.againIsOpen &&= work.kind === "draft";
    const now = JSON.stringify([withoutTyped(work), open.undoable, open.summarised, open.compactable]);
    if (now === this.shown) {
      return;
    }
    const before = this.shown === "" ? undefined : ((JSON.parse(this.shown) as [Work])[0] as Work);
    this.shown = now;
    const written = this.element.querySelector("textarea")?.value;
    const at = focused(this.element);
    const scrolled = this.element.querySelector("textarea")?.scrollTop ?? 0;
    fill(this.element, ...this.content(open));
    this.keepWritten(before, work, written);
    this.focus(before, work, at, scrolled);
  }

  private content(open: Opened): (Node | undefined)[] {
    const { work } = open;
    switch (work.kind) {
      case "none":
        return [];
      case "options":
        return this.options(work);
      case "writing":
        return this.writing(work);
      case "draft":
        return this.draft(work);
      case "done":
        return this.done(work, open);
    }
  }

  private options(work: Of<"options">): (Node | undefined)[] {
    const ready = !work.looking && work.noop === undefined && work.preview !== undefined;
    const start = button(t("Write Summary"), () => this.tell({ type: "write" }), "primary", { "data-name": "write" });
    start.disabled = !ready;
    return [
      el("h3", {}, work.upTo === undefined ? t("Compact conversation") : t("Compact up to message {0}", work.upTo + 1)),
      this.instructions(work.instructions, (text) => this.tell({ type: "instructions", text })),
      this.model(work.model),
      work.noop === undefined ? undefined : el("p", { class: "hint" }, work.noop),
      work.preview && widened(work.preview, work.upTo),
      work.preview && growing(work.preview),
      work.preview === undefined ? hint(work.looking ? t("Looking…") : undefined) : previewed(work.preview),
      work.problem && problemElement(work.problem, this.tell),
      el(
        "div",
        { class: "buttons" },
        start,
        button(t("Cancel"), () => this.tell({ type: "dismiss" }), "secondary", { "data-name": "dismiss" }),
        button(t("Show Whole Request"), () => this.tell({ type: "showRequest" }), "link"),
      ),
    ];
  }

  private writing({ doing }: Of<"writing">): Node[] {
    return [
      el("h3", {}, t("Writing the summary")),
      el("div", { class: "bar", role: "progressbar", "aria-label": t("Writing the summary") }, el("span")),
      el("p", { class: "hint", role: "status" }, doing || t("Asking the model…")),
      el(
        "div",
        { class: "buttons" },
        button(t("Cancel"), () => this.tell({ type: "cancel" }), "secondary", { "data-name": "cancel" }),
      ),
    ];
  }

  private draft({ draft, applying, problem, instructions, model }: Of<"draft">): (Node | undefined)[] {
    const text = el("textarea", { class: "draft", rows: "11", "aria-label": t("Summary"), "data-name": "draft" });
    text.value = draft.text;
    const accept = button(t("Accept"), () => this.tell({ type: "accept", text: text.value }), "primary", {
      "data-name": "accept",
    });
    const allow = () => {
      accept.disabled = applying || text.value.trim() === "";
    };
    text.addEventListener("input", () => {
      allow();
      this.tell({ type: "draftText", text: text.value });
    });
    text.readOnly = applying;
    allow();
    const again = el("details", { class: "again", open: this.againIsOpen }, el("summary", {}, t("Write it anew")));
    again.addEventListener("toggle", () => {
      if (again.open && !this.againIsOpen) {
        again.scrollIntoView({ block: "nearest" });
      }
      this.againIsOpen = again.open;
    });
    again.append(
      this.instructions(instructions, (wish) => this.tell({ type: "instructions", text: wish })),
      this.model(model),
      button(t("Write Anew"), () => {
        const wish = again.querySelector("textarea")?.value ?? "";
        this.tell({ type: "again", text: wish });
      }),
    );
    return [
      el("h3", {}, t("Draft of the summary")),
      el("p", { class: "hint" }, drafted(draft)),
      text,
      ...draft.warnings.map((one) => el("p", { class: "warning" }, one)),
      draft.lost ? el("p", { class: "warning" }, lost()) : undefined,
      problem && problemElement(problem, this.tell),
      el(
        "div",
        { class: "buttons" },
        accept,
        button(t("Discard"), () => this.tell({ type: "discard" }), "secondary", { "data-name": "discard" }),
        draft.earlier === undefined ? undefined : this.earlier(),
      ),
      again,
    ];
  }

  private earlier(): HTMLElement {
    const title = t("Change with Earlier Text");
    return button(title, () => this.tell({ type: "earlier" }), "link", { "data-name": "earlier" });
  }

  private done({ told, warnings, problem }: Of<"done">, open: Opened): (Node | undefined)[] {
    return [
      told === "" ? undefined : el("p", { role: "status" }, told),
      ...warnings.map((one) => el("p", { class: "warning" }, one)),
      problem && problemElement(problem, this.tell),
      el(
        "div",
        { class: "buttons" },
        open.undoable ? this.act(t("Undo"), "undo") : undefined,
        open.summarised ? this.act(t("Copy Summary"), "copySummary") : undefined,
        open.summarised ? this.act(t("Save as Markdown…"), "saveMarkdown") : undefined,
        open.summarised ? this.act(t("New Chat with It"), "newChat") : undefined,
        this.act(t("Close"), "dismiss"),
      ),
    ];
  }

  private act(title: string, type: PlainAct): HTMLElement {
    return button(title, () => this.tell({ type }), "secondary", { "data-name": type });
  }

  private instructions(value: string, changed: (text: string) => void): HTMLElement {
    const placeholder = t("keep the names of the failing tests");
    const box = el("textarea", { rows: "2", placeholder, "data-name": "instructions" });
    box.value = value;
    box.addEventListener("input", () => this.tell({ type: "typed", text: box.value }));
    box.addEventListener("change", () => changed(box.value));
    return el("label", {}, t("What should the summary heed?"), box);
  }

  private model(model: string | undefined): HTMLElement {
    const name = model ?? t("The usual model");
    const choose = button(name, () => this.tell({ type: "chooseModel" }), "link", { "data-name": "model" });
    return el("div", { class: "line" }, el("span", {}, t("Model:")), choose);
  }

  /** What stands in the box and was not told yet stays, unless another text was asked for. */
  private keepWritten(before: Work | undefined, work: Work, written: string | undefined): void {
    const box = this.element.querySelector("textarea");
    const isSame =
      (before?.kind === "options" && work.kind === "options") ||
      (before?.kind === "draft" &&
        work.kind === "draft" &&
        before.draft.draftId === work.draft.draftId &&
        before.draft.earlier === work.draft.earlier);
    if (box !== null && written !== undefined && isSame) {
      box.value = written;
    }
  }

  private focus(before: Work | undefined, work: Work, at: Place | undefined, scrolled: number): void {
    const box = this.element.querySelector("textarea");
    if (before?.kind !== work.kind && work.kind !== "none") {
      box?.setSelectionRange(0, 0); // what the model wrote is read from its beginning
      this.element.querySelector<HTMLElement>("textarea, button:not([disabled])")?.focus();
      this.element.scrollIntoView({ block: "nearest" });
    } else if (at !== undefined) {
      const element = this.element.querySelector<HTMLElement>(`[data-name="${at.name}"]`);
      element?.focus();
      if (element instanceof HTMLTextAreaElement) {
        element.setSelectionRange(at.start, at.end);
      }
    }
    if (box !== null) {
      box.scrollTop = before?.kind === work.kind ? scrolled : 0;
    }
  }
}

/** What has the focus, by its name, and what is selected in it where it is a box. */
interface Place {
  name: string;
  start: number;
  end: number;
}

function focused(within: Element): Place | undefined {
  const at = document.activeElement;
  if (!(at instanceof HTMLElement) || at.dataset.name === undefined || !within.contains(at)) {
    return undefined;
  }
  const [start, end] = at instanceof HTMLTextAreaElement ? [at.selectionStart, at.selectionEnd] : [0, 0];
  return { name: at.dataset.name, start, end };
}

/** Why more is summarised than the message that was chosen, where it is. */
function widened({ range }: PreviewShown, upTo: number | undefined): HTMLElement | undefined {
  return upTo === undefined || range.end <= upTo + 1
    ? undefined
    : el("p", { class: "hint" }, t("Uses of tools stay with their results, so it ends at message {0}.", range.end));
}

function lost(): string {
  return t("The server no longer has this draft. Accept has the model write once more, and then your text is taken.");
}

/** A compaction's state without what the user types into it, which the page knows first. */
function withoutTyped(work: Work): Work {
  switch (work.kind) {
    case "options":
      return { ...work, instructions: "" };
    case "draft":
      return { ...work, draft: { ...work.draft, text: "" } };
    default:
      return work;
  }
}

function hint(text: string | undefined): HTMLElement | undefined {
  return text === undefined ? undefined : el("p", { class: "hint" }, text);
}

/** What would be sent, and how large the conversation would be. */
function previewed({ range, requests, stats, model, promptSource }: PreviewShown): HTMLElement {
  const rows: [string, string][] = [
    [t("Summarised"), messages(range.end - range.start)],
    [t("Now"), tokens(stats.tokensBefore)],
    [t("Afterwards"), t("about {0}", grouped(stats.tokensAfter))],
    [t("Requests"), grouped(requests)],
  ];
  if (model !== undefined) {
    rows.push([t("Asked for"), model]);
  }
  if (promptSource !== undefined) {
    rows.push([t("Prompt"), promptName(promptSource)]);
  }
  return el("dl", {}, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** A prompt's source in words; one of an agent goes by its own name. */
function promptName(source: string): string {
  switch (source) {
    case "lithify":
      return t("Lithify's own");
    case "override":
      return t("the agent's or the settings'");
    default:
      return source;
  }
}

/** A warning where a summary would hardly be shorter than what it replaces. */
function growing({ stats }: PreviewShown): HTMLElement | undefined {
  return stats.tokensAfter < stats.tokensBefore
    ? undefined
    : el("p", { class: "warning" }, t("It does not pay yet: a summary would be no shorter than the messages."));
}

function drafted({ range, stats, by }: Drafted): string {
  const sizes = [
    messages(range.end - range.start),
    tokens(stats.tokensBefore),
    grouped(stats.tokensAfter),
    by,
  ] as const;
  return t("Nothing is changed yet. {0}: {1} would become {2}. Written by {3}.", ...sizes);
}
