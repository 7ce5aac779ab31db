// An open conversation on the page: its head with what can be done, the compaction, and its messages.
import { messages, tokens } from "../amounts";
import type { PlainAct, ShownRow } from "../panel/messages";
import type { Fold, Listed, Opened, Work } from "../panel/state";
import type { MessageRange } from "../protocol";
import { t } from "../text";
import { moved } from "./arrow-keys";
import { CompactionCard } from "./compaction";
import { button, el, fill } from "./dom";
import { estimate, messageElement } from "./message";
import { problemElement, type Tell } from "./problem";
import { type Watch, WindowedList } from "./windowed-list";

const NOTHING: MessageRange = { start: 0, end: 0 };

export class ConversationPage {
  readonly element = el("section", { class: "conversation", "aria-label": t("Conversation") });
  /** What scrolls. */
  readonly scroller = el("div", { class: "messages", role: "feed", "aria-label": t("Messages") });
  private readonly head = el("div", { class: "head" });
  private readonly card: CompactionCard;
  private readonly list: WindowedList;
  private rows: ShownRow[] = [];
  private open: Opened | undefined;
  private drawn = "";
  private leaving = NOTHING;
  private current = 0;
  private showsMore = false;
  private fromTop = false;

  constructor(
    private readonly tell: Tell,
    watch: (scroller: Element) => Watch,
  ) {
    this.card = new CompactionCard(tell);
    this.list = new WindowedList(this.scroller, watch(this.scroller));
    this.element.append(this.head, this.card.element, this.scroller);
    this.scroller.addEventListener("keydown", (event) => this.onKey(event));
    this.scroller.addEventListener("focusin", (event) => this.onFocus(event));
  }

  /** Shows what is known of the conversation; its messages come by themselves. */
  show(open: Opened): void {
    const other = this.open?.item.key !== open.item.key;
    const offer = other || this.open?.compactable !== open.compactable;
    this.fromTop ||= this.open?.work.kind === "draft" && open.work.kind === "done";
    this.open = open;
    if (other) {
      this.rows = [];
      this.current = 0;
      this.redraw();
      this.scroller.scrollTop = 0;
    } else if (offer) {
      this.redraw();
    }
    this.showHead(open);
    this.card.show(open);
    this.mark(open.work);
    this.scroller.setAttribute("aria-busy", String(open.reading));
  }

  /** Shows the messages. */
  showRows(rows: ShownRow[]): void {
    this.rows = rows;
    this.current = Math.min(this.current, Math.max(0, rows.length - 1));
    this.redraw();
    if (this.fromTop) {
      this.fromTop = false;
      this.current = 0; // the summary stands there
      this.scroller.scrollTop = 0;
      this.rove();
    }
  }

  /** The whole text of a message that was cut. */
  showText(index: number, text: string): void {
    const row = this.rows[index];
    if (row !== undefined) {
      const { length: _, ...whole } = row;
      this.rows[index] = { ...whole, text };
      this.list.remake(index);
      this.list.item(index)?.querySelector("details")?.setAttribute("open", "");
      this.list.item(index)?.focus();
    }
  }

  /** Puts the focus on a message, or on the head where there is none. */
  focus(index = this.current): void {
    const item = this.list.item(index);
    item === undefined ? this.head.querySelector("button")?.focus() : item.focus();
    item?.scrollIntoView({ block: "nearest" });
  }

  private showHead(open: Opened): void {
    const { item, problem, reading, compactable, undoable, summarised, work, folds } = open;
    const seen = [item, problem, reading, compactable, undoable, summarised, work.kind, open.tokens, folds];
    const now = JSON.stringify(seen);
    if (now === this.drawn) {
      return;
    }
    this.drawn = now;
    const at = (document.activeElement as HTMLElement | null)?.dataset?.name;
    const inHead = this.head.contains(document.activeElement);
    fill(
      this.head,
      el(
        "div",
        { class: "line" },
        button(`‹ ${t("Sessions")}`, () => this.tell({ type: "close" }), "link", { "data-name": "back" }),
        item.live === true ? el("span", { class: "badge live" }, t("open in its agent")) : undefined,
      ),
      el("h1", { title: item.title }, item.title),
      el("p", { class: "facts" }, facts(open)),
      folds.length === 0 ? undefined : left(folds),
      item.readOnly === undefined ? undefined : el("p", { class: "notice" }, item.readOnly),
      item.live === true && compactable
        ? el("p", { class: "notice" }, t("Close it in {0} before it is compacted.", item.agent ?? ""))
        : undefined,
      problem && problemElement(problem, this.tell),
      this.buttons(open),
    );
    if (inHead && at !== undefined) {
      this.head.querySelector<HTMLElement>(`[data-name="${at}"]`)?.focus();
    }
  }

  private buttons({ item, compactable, undoable, summarised, work }: Opened): HTMLElement {
    const isFree = work.kind === "none" || work.kind === "done";
    const more = el("div", { class: "buttons", id: "more" }, ...this.others(item, summarised && work.kind !== "done"));
    const toggle = button(t("More"), () => this.toggleMore(toggle, more), "secondary", {
      "data-name": "more",
      "aria-controls": "more",
    });
    this.toggleMore(toggle, more, this.showsMore && isFree);
    return el(
      "div",
      { class: "actions" },
      el(
        "div",
        { class: "buttons" },
        compactable && isFree ? this.act(t("Compact…"), "compact", "primary") : undefined,
        undoable && work.kind === "none" ? this.act(t("Undo Compaction"), "undo") : undefined,
        item.resumeCommand === undefined ? undefined : this.act(t("Resume in {0}", item.agent ?? ""), "resume"),
        toggle,
      ),
      more,
    );
  }

  private others(item: Listed, summarised: boolean): (HTMLElement | undefined)[] {
    return [
      summarised ? this.act(t("Copy Summary"), "copySummary") : undefined,
      this.act(t("Save as Markdown…"), "saveMarkdown"),
      this.act(t("New Chat with It"), "newChat"),
      item.file ? this.act(t("Open File"), "openFile") : undefined,
      this.act(t("Reload"), "reload"),
    ];
  }

  private act(title: string, type: PlainAct | "compact", look: "primary" | "secondary" = "secondary"): HTMLElement {
    return button(title, () => this.tell({ type }), look, { "data-name": type });
  }

  private toggleMore(toggle: HTMLElement, more: HTMLElement, shown = !this.showsMore): void {
    this.showsMore = shown;
    more.hidden = !shown;
    toggle.setAttribute("aria-expanded", String(shown));
  }

  private redraw(): void {
    const { scrollTop } = this.scroller;
    this.leaving = leavingRange(this.open?.work);
    this.list.show({
      count: this.rows.length,
      estimate: (index) => estimate(this.rows[index] as ShownRow),
      make: (index) => this.make(index),
    });
    this.scroller.scrollTop = scrollTop;
    this.rove();
  }

  private make(index: number): HTMLElement {
    const row = this.rows[index] as ShownRow;
    const made = messageElement({
      row,
      index,
      count: this.rows.length,
      offered: this.open?.compactable === true && row.compactable,
      leaving: isIn(index, this.leaving),
      compact: () => this.tell({ type: "compact", index }),
      wholeText: () => this.tell({ type: "wholeText", index }),
    });
    made.tabIndex = index === this.current ? 0 : -1;
    return made;
  }

  /** Marks the messages that a compaction would take away. */
  private mark(work: Work): void {
    const range = leavingRange(work);
    if (range.start !== this.leaving.start || range.end !== this.leaving.end) {
      this.leaving = range;
      for (const [index, item] of this.list.made()) {
        item.classList.toggle("leaving", isIn(index, range));
      }
    }
  }

  private onFocus(event: FocusEvent): void {
    const item = (event.target as Element).closest<HTMLElement>("article");
    const index = Number(item?.getAttribute("aria-posinset")) - 1;
    if (index >= 0) {
      this.current = index;
      this.rove();
    }
  }

  private onKey(event: KeyboardEvent): void {
    if (!(event.target as Element).matches("article")) {
      return; // a button or a fold inside a message has its own keys
    }
    const to = moved(event.key, this.current, this.rows.length);
    if (to !== undefined) {
      event.preventDefault();
      this.focus(to);
    }
  }

  private rove(): void {
    for (const [index, item] of this.list.made()) {
      item.tabIndex = index === this.current ? 0 : -1;
    }
  }
}

function isIn(index: number, { start, end }: MessageRange): boolean {
  return index >= start && index < end;
}

function leavingRange(work: Work | undefined): MessageRange {
  switch (work?.kind) {
    case "options":
      return work.preview?.range ?? NOTHING;
    case "draft":
      return work.draft.range;
    default:
      return NOTHING;
  }
}

/** What the agent keeps but does not send any more, one line each. */
function left(folds: readonly Fold[]): HTMLElement {
  const title = t("Not sent any more: {0}", messages(folds.reduce((sum, one) => sum + one.messages, 0)));
  const lines = folds.map((one) => el("li", {}, one.title));
  return el("details", { class: "folds" }, el("summary", { class: "facts" }, title), el("ul", {}, ...lines));
}

function facts({ item, messages: count, tokens: size, reading }: Opened): string {
  const known = [item.agent, messages(count), tokens(size)].filter((one) => one !== undefined).join(" · ");
  return reading ? `${known} · ${t("reading…")}` : known;
}
