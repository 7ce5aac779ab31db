// The list of sessions on the page: chats, then those of coding agents, walked through by arrow keys.
import { ago, messages, shortTokens } from "../amounts";
import type { Listed, PanelState } from "../panel/state";
import { t } from "../text";
import { moved } from "./arrow-keys";
import { button, el, fill } from "./dom";
import { problemElement, type Tell } from "./problem";

export class SessionList {
  readonly element = el("section", { class: "sessions", "aria-label": t("Sessions") });
  private focused: string | undefined;

  constructor(private readonly tell: Tell) {
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  show(state: PanelState): void {
    const chats = state.items.filter((one) => one.agent === undefined);
    const agents = state.items.filter((one) => one.agent !== undefined);
    const hadFocus = this.element.contains(document.activeElement);
    fill(
      this.element,
      state.problem && problemElement(state.problem, this.tell),
      state.listing && state.items.length === 0 ? el("p", { class: "hint" }, t("Looking for sessions…")) : undefined,
      isEmpty(state) ? this.nothing() : undefined,
      chats.length > 0 ? this.group(t("Chats"), chats) : undefined,
      agents.length > 0 ? this.group(t("Coding agents"), agents) : undefined,
      state.more ? this.more() : undefined,
    );
    this.rove();
    if (hadFocus) {
      this.options()
        .find((one) => one.tabIndex === 0)
        ?.focus();
    }
  }

  /** Puts the focus on the list. */
  focus(): void {
    this.options()
      .find((one) => one.tabIndex === 0)
      ?.focus();
  }

  private nothing(): HTMLElement {
    const text = t("No session of this workspace yet. Chats with @lithify and sessions of coding agents appear here.");
    return el(
      "div",
      { class: "empty" },
      el("p", {}, text),
      button(t("Look Again"), () => this.tell({ type: "refresh" })),
    );
  }

  private more(): HTMLElement {
    return button(t("Show more"), () => this.tell({ type: "more" }), "link", { class: "link more" });
  }

  private group(title: string, items: readonly Listed[]): HTMLElement {
    const id = `group-${items[0]?.agent === undefined ? "chats" : "agents"}`;
    const list = el("div", { role: "listbox", "aria-labelledby": id }, ...items.map((one) => this.option(one)));
    return el("div", { class: "group" }, el("h2", { id }, title), list);
  }

  private option(item: Listed): HTMLElement {
    const { key, agent, title, live, readOnly, updatedAt, drafted } = item;
    const size = `${messages(item.messages)} · ${t("{0} tokens", shortTokens(item.tokens))}`;
    const facts = [ago(updatedAt, Date.now()), agent, size].filter((one) => one !== undefined).join(" · ");
    const option = el(
      "div",
      { role: "option", class: "session", tabindex: "-1", "aria-selected": "false", "data-key": key, title: readOnly },
      el("span", { class: "title" }, title),
      el(
        "span",
        { class: "badges" },
        live === true ? el("span", { class: "badge live" }, t("open in its agent")) : undefined,
        drafted === true ? el("span", { class: "badge" }, t("draft")) : undefined,
        readOnly === undefined ? undefined : el("span", { class: "badge" }, t("read-only")),
      ),
      el("span", { class: "facts" }, facts),
    );
    option.addEventListener("click", () => this.open(key));
    option.addEventListener("focus", () => {
      this.focused = key;
      this.rove();
    });
    return option;
  }

  private onKey(event: KeyboardEvent): void {
    const options = this.options();
    const index = options.indexOf(document.activeElement as HTMLElement);
    if (index === -1) {
      return;
    }
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.open(options[index]?.dataset.key ?? "");
      return;
    }
    const to = moved(event.key, index, options.length);
    if (to !== undefined) {
      event.preventDefault();
      options[to]?.focus();
    }
  }

  /** One option alone is reached by Tab: the one that had the focus last, else the first. */
  private rove(): void {
    const options = this.options();
    const current = options.find((one) => one.dataset.key === this.focused) ?? options[0];
    for (const option of options) {
      option.tabIndex = option === current ? 0 : -1;
      option.setAttribute("aria-selected", String(option === current && this.focused !== undefined));
    }
  }

  private options(): HTMLElement[] {
    return [...this.element.querySelectorAll<HTMLElement>("[role=option]")];
  }

  private open(key: string): void {
    this.focused = key;
    this.tell({ type: "open", text: key });
  }
}

function isEmpty({ items, listing, problem }: PanelState): boolean {
  return items.length === 0 && !listing && problem === undefined;
}
