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
    const now = JSON.stringify([work, open.undoable, open.summarised, open.compactable]);
    if (now === this.shown) {
      return;
    }
    const before = this.shown === "" ? undefined : ((JSON.parse(this.shown) as [Work])[0] as Work);
    this.shown = now;
    const written = this.element.querySelector("textarea")?.value;
    const at = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.name : undefined;
    const hadFocus = this.element.contains(document.activeElement);
    fill(this.element, ...this.content(open));
    this.keepWritten(before, work, written);
    this.focus(before, work, hadFocus ? at : undefined);
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
    const text = el("textarea", { class: "draft", rows: "12", "aria-label": t("Summary"), "data-name": "draft" });
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
    allow();
    const again = el("details", { class: "again", open: this.againIsOpen }, el("summary", {}, t("Write it anew")));
    again.addEventListener("toggle", () => {
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
      problem && problemElement(problem, this.tell),
      el(
        "div",
        { class: "buttons" },
        accept,
        button(t("Discard"), () => this.tell({ type: "discard" }), "secondary", { "data-name": "discard" }),
      ),
      again,
    ];
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
    box.addEventListener("change", () => changed(box.value));
    return el("label", {}, t("What should the summary heed?"), box);
  }

  private model(model: string | undefined): HTMLElement {
    const name = model ?? t("The usual model");
    const choose = button(name, () => this.tell({ type: "chooseModel" }), "link", { "data-name": "model" });
    return el("div", { class: "line" }, el("span", {}, t("Model:")), choose);
  }

  /** What stood in the box and was not told yet stays. */
  private keepWritten(before: Work | undefined, work: Work, written: string | undefined): void {
    const box = this.element.querySelector("textarea");
    if (box !== null && written !== undefined && before?.kind === work.kind && work.kind === "options") {
      box.value = written;
    }
  }

  private focus(before: Work | undefined, work: Work, name: string | undefined): void {
    if (before?.kind !== work.kind && work.kind !== "none") {
      this.element.querySelector<HTMLElement>("textarea, button:not([disabled])")?.focus();
    } else if (name !== undefined) {
      this.element.querySelector<HTMLElement>(`[data-name="${name}"]`)?.focus();
    }
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
    rows.push([t("Prompt"), promptSource]);
  }
  return el("dl", {}, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** A warning where a summary would hardly be shorter than what it replaces. */
function growing({ stats }: PreviewShown): HTMLElement | undefined {
  return stats.tokensAfter < stats.tokensBefore
    ? undefined
    : el("p", { class: "warning" }, t("There is so little to summarise that nothing would be saved."));
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
