// @vitest-environment happy-dom
import { beforeEach, describe, expect, test } from "vitest";
import type { FromPage, ShownRow } from "../src/panel/messages";
import type { Listed, Opened, Work } from "../src/panel/state";
import { ConversationPage } from "../src/webview/conversation";
import { SessionList } from "../src/webview/session-list";
import { WindowedList } from "../src/webview/windowed-list";
import { STATS } from "./panel-samples";

const ITEM: Listed = {
  key: "chat:1",
  title: "Checkout <b>test</b>",
  messages: 3,
  tokens: 90,
  updatedAt: "2026-07-01T07:31:00.000Z",
  live: null,
  file: false,
};

/** Watches nothing by itself: `near` brings an element near, and takes it far. */
function byHand() {
  const heard = new Map<Element, (isNear: boolean) => void>();
  const watch = (element: Element, near: (isNear: boolean) => void) => {
    heard.set(element, near);
    return () => void heard.delete(element);
  };
  return { watch, near: (element: Element, isNear: boolean) => heard.get(element)?.(isNear), heard };
}

function rows(count: number, changes: Partial<ShownRow> = {}): ShownRow[] {
  return Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    text: `text ${index}`,
    calls: [],
    tokens: 10,
    summary: false,
    compactable: true,
    ...changes,
  }));
}

function opened(work: Work = { kind: "none" }, changes: Partial<Opened> = {}): Opened {
  const known = { version: 1, reading: false, tokens: 90, messages: 3, compactable: true, undoable: false };
  return { item: ITEM, summarised: false, folds: [], ...known, work, ...changes };
}

let said: FromPage[] = [];
const tell = (one: FromPage) => void said.push(one);

/** A page with a conversation whose chunks are all near. */
function page(count = 3, open = opened(), changes: Partial<ShownRow> = {}): ConversationPage {
  const made = new ConversationPage(tell, () => (_, near) => {
    near(true);
    return () => undefined;
  });
  document.body.replaceChildren(made.element);
  made.show(open);
  made.showRows(rows(count, changes));
  return made;
}

function press(key: string): void {
  document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

function buttonNamed(text: string): HTMLButtonElement | undefined {
  return [...document.querySelectorAll("button")].find((one) => one.textContent === text);
}

beforeEach(() => {
  said = [];
});

describe("the list of sessions", () => {
  function list(...items: Listed[]): SessionList {
    const made = new SessionList(tell);
    document.body.replaceChildren(made.element);
    made.show({ items, more: false, listing: false });
    return made;
  }

  test("is walked through by arrow keys, and Enter opens", () => {
    list(ITEM, { ...ITEM, key: "chat:2" }).focus();
    press("ArrowDown");
    press("Enter");
    expect(said).toEqual([{ type: "open", text: "chat:2" }]);
  });

  test("has one place for Tab: the session that had the focus last", () => {
    list(ITEM, { ...ITEM, key: "chat:2" }).focus();
    press("End");
    expect([...document.querySelectorAll<HTMLElement>("[role=option]")].map((one) => one.tabIndex)).toEqual([-1, 0]);
  });

  test("keeps the focus when it is read anew", () => {
    const made = list(ITEM, { ...ITEM, key: "chat:2" });
    made.focus();
    press("ArrowDown");
    made.show({ items: [ITEM, { ...ITEM, key: "chat:2" }], more: false, listing: true });
    expect((document.activeElement as HTMLElement).dataset.key).toBe("chat:2");
  });

  test("shows a title as the characters it is", () => {
    list(ITEM);
    expect(document.querySelector("b")).toBeNull();
    expect(document.querySelector(".title")?.textContent).toBe("Checkout <b>test</b>");
  });

  test("asks for more where there are more", () => {
    const made = list(ITEM);
    expect(buttonNamed("Show more")).toBeUndefined();
    made.show({ items: [ITEM], more: true, listing: false });
    buttonNamed("Show more")?.click();
    expect(said).toEqual([{ type: "more" }]);
  });

  test("tells the age first, which is not cut off", () => {
    list({ ...ITEM, agent: "Codex", updatedAt: new Date().toISOString() });
    expect(document.querySelector(".facts")?.textContent).toBe("just now · Codex · 3 messages · 90 tokens");
  });

  test("says where a draft was left", () => {
    list({ ...ITEM, drafted: true });
    expect(document.querySelector(".badge")?.textContent).toBe("draft");
  });

  test("says what is open in its agent and what can only be read", () => {
    list({ ...ITEM, agent: "Codex", live: true, readOnly: "Why not" });
    expect([...document.querySelectorAll(".badge")].map((one) => one.textContent)).toEqual([
      "open in its agent",
      "read-only",
    ]);
  });
});

describe("a long list", () => {
  test("makes only what is near", () => {
    const { watch, near } = byHand();
    const root = document.createElement("div");
    const list = new WindowedList(root, watch);
    list.show({ count: 10_000, estimate: () => 50, make: () => document.createElement("article") });
    expect(root.querySelectorAll("article")).toHaveLength(0);
    near(root.children[3] as Element, true);
    expect([...list.made()].map(([index]) => index)).toEqual(Array.from({ length: 40 }, (_, index) => 120 + index));
  });

  test("empties what is far", () => {
    const { watch, near } = byHand();
    const root = document.createElement("div");
    new WindowedList(root, watch).show({
      count: 100,
      estimate: () => 50,
      make: () => document.createElement("article"),
    });
    near(root.children[0] as Element, true);
    near(root.children[0] as Element, false);
    expect(root.querySelectorAll("article")).toHaveLength(0);
  });

  test("keeps what holds the focus", () => {
    const { watch, near } = byHand();
    const root = document.createElement("div");
    document.body.replaceChildren(root);
    const list = new WindowedList(root, watch);
    list.show({ count: 100, estimate: () => 50, make: () => document.createElement("button") });
    list.item(5)?.focus();
    near(root.children[0] as Element, false);
    expect(document.activeElement).toBe(list.item(5));
  });

  test("stands at the height that was estimated until it is made", () => {
    const root = document.createElement("div");
    new WindowedList(root, byHand().watch).show({
      count: 50,
      estimate: () => 50,
      make: () => document.createElement("article"),
    });
    expect((root.children[0] as HTMLElement).style.height).toBe("2000px");
  });
});

describe("a conversation", () => {
  test("is walked through message by message", () => {
    page().focus(0);
    press("ArrowDown");
    press("End");
    expect(document.activeElement?.getAttribute("aria-posinset")).toBe("3");
  });

  test("has each message's role, place and size for who cannot see them", () => {
    page();
    expect(document.querySelector("article")?.getAttribute("aria-label")).toBe("You, message 1 of 3, 10 tokens");
  });

  test("shows texts as the characters they are", () => {
    page(1, opened(), { text: '<img src=x onerror="alert(1)">' });
    expect(document.querySelector("img")).toBeNull();
    expect(document.querySelector(".text")?.textContent).toBe('<img src=x onerror="alert(1)">');
  });

  test("folds calls and results of tools", () => {
    page(1, opened(), { role: "tool", calls: [{ name: "ls", input: "{}" }] });
    expect([...document.querySelectorAll("details")].map((one) => [one.className, one.open])).toEqual([
      ["result", false],
      ["call", false],
    ]);
  });

  test("offers compaction on every message that it can end at", () => {
    page();
    document.querySelectorAll<HTMLButtonElement>("article button")[1]?.click();
    expect(said).toEqual([{ type: "compact", index: 1 }]);
  });

  test.each([
    ["switched off", opened({ kind: "none" }, { compactable: false }), {}],
    ["nothing there", opened(), { compactable: false }],
  ])("offers no compaction on messages where it is %s", (_, open, changes) => {
    page(2, open, changes);
    expect(document.querySelectorAll("article button")).toHaveLength(0);
  });

  test("with compaction switched off has no button of it", () => {
    page(3, opened({ kind: "none" }, { compactable: false }));
    expect([...document.querySelectorAll("button")].filter((one) => /compact/i.test(one.textContent))).toEqual([]);
  });

  test("hides what is seldom needed until it is asked for", () => {
    page();
    const more = document.querySelector<HTMLElement>("#more");
    expect(more?.hidden).toBe(true);
    buttonNamed("More")?.click();
    expect([more?.hidden, buttonNamed("More")?.getAttribute("aria-expanded")]).toEqual([false, "true"]);
  });

  test("lists what its agent does not send any more, folded", () => {
    const folds = [{ title: "Compacted: <b>8</b> messages", messages: 8 }];
    page(3, opened({ kind: "none" }, { folds }));
    const fold = document.querySelector<HTMLDetailsElement>("details.folds");
    expect([fold?.open, fold?.querySelector("summary")?.textContent, fold?.querySelector("li")?.textContent]).toEqual([
      false,
      "Not sent any more: 8 messages",
      "Compacted: <b>8</b> messages",
    ]);
  });

  test("marks the messages that would go", () => {
    const range = { start: 0, end: 2 };
    const made = page();
    made.show(
      opened({ kind: "options", looking: false, instructions: "", preview: { range, requests: 1, stats: STATS } }),
    );
    expect([...document.querySelectorAll("article")].map((one) => one.classList.contains("leaving"))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("makes web addresses links, and nothing else", () => {
    page(1, opened(), {
      text: 'See https://a.example/x?y=1, (http://b.example) <a href="javascript:x">, file:///etc.',
    });
    const links = [...document.querySelectorAll("a")].map((one) => one.getAttribute("href"));
    expect(links).toEqual(["https://a.example/x?y=1", "http://b.example"]);
    expect(document.querySelector(".text")?.textContent).toContain(
      ', (http://b.example) <a href="javascript:x">, file',
    );
  });

  test("shows the rest of a text that was cut when it is asked for", () => {
    const made = page(1, opened(), { length: 9_000 });
    buttonNamed("Show all 9,000 characters")?.click();
    expect(said).toEqual([{ type: "wholeText", index: 0 }]);
    made.showText(0, "all of it");
    expect(document.querySelector(".text")?.textContent).toBe("all of it");
  });
});

describe("a compaction", () => {
  const preview = { range: { start: 0, end: 2 }, requests: 1, stats: STATS };
  const draft = {
    draftId: "d",
    text: "The key.",
    written: "The key.",
    range: preview.range,
    stats: STATS,
    by: "gpt-5",
    warnings: ["Cut off."],
  };

  test("shows what it would do before anything is written", () => {
    page(3, opened({ kind: "options", looking: false, instructions: "", preview }));
    expect(document.querySelector("dl")?.textContent).toContain("900 tokens");
    buttonNamed("Write Summary")?.click();
    expect(said).toEqual([{ type: "write" }]);
  });

  test("that would do nothing cannot be started", () => {
    page(3, opened({ kind: "options", looking: false, instructions: "", noop: "Nothing to compact." }));
    expect(buttonNamed("Write Summary")?.disabled).toBe(true);
  });

  test("keeps what the user is writing when its preview comes", () => {
    const made = page(3, opened({ kind: "options", looking: true, instructions: "" }));
    const box = document.querySelector("textarea") as HTMLTextAreaElement;
    box.focus();
    box.value = "keep na";
    made.show(opened({ kind: "options", looking: false, instructions: "", preview }));
    expect(document.querySelector("textarea")?.value).toBe("keep na");
    expect(document.activeElement).toBe(document.querySelector("textarea"));
  });

  test("tells what is typed at once, so that hiding the panel loses none of it", () => {
    page(3, opened({ kind: "options", looking: false, instructions: "", preview }));
    const box = document.querySelector("textarea") as HTMLTextAreaElement;
    box.value = "keep na";
    box.dispatchEvent(new Event("input"));
    expect(said).toEqual([{ type: "typed", text: "keep na" }]);
  });

  test("is not cancelled by the second click of a double click on what stood there before", () => {
    page(3, opened({ kind: "writing", doing: "", instructions: "" }));
    buttonNamed("Cancel")?.dispatchEvent(new MouseEvent("click", { detail: 2 }));
    expect(said).toEqual([]);
  });

  test("is read from its beginning", () => {
    page(3, opened({ kind: "draft", draft, applying: false, instructions: "" }));
    const box = document.querySelector<HTMLTextAreaElement>("textarea.draft");
    expect([box?.selectionStart, box?.selectionEnd, document.activeElement]).toEqual([0, 0, box]);
  });

  test("keeps what is typed into the draft, and the place, while something else changes", () => {
    const work = { kind: "draft", draft, applying: false, instructions: "" } as const;
    const made = page(3, opened(work));
    const box = document.querySelector("textarea.draft") as HTMLTextAreaElement;
    box.value = "The old key.";
    box.setSelectionRange(4, 7);
    made.show(opened({ ...work, model: "gpt-5-mini" }));
    const now = document.querySelector<HTMLTextAreaElement>("textarea.draft");
    expect([now?.value, now?.selectionStart, now?.selectionEnd]).toEqual(["The old key.", 4, 7]);
  });

  test("whose draft the server lost says what accepting it does", () => {
    const work = { kind: "draft", draft: { ...draft, lost: true }, applying: false, instructions: "" } as const;
    page(3, opened(work));
    expect(document.querySelector(".card")?.textContent).toContain("Accept has the model write once more");
  });

  test("shows the user's earlier text in place of the new one", () => {
    const work = { kind: "draft", draft: { ...draft, earlier: "mine" }, applying: false, instructions: "" } as const;
    const made = page(3, opened(work));
    buttonNamed("Change with Earlier Text")?.click();
    expect(said).toEqual([{ type: "earlier" }]);
    made.show(opened({ ...work, draft: { ...draft, text: "mine", earlier: draft.text } }));
    expect(document.querySelector<HTMLTextAreaElement>("textarea.draft")?.value).toBe("mine");
  });

  test("says why it ends at a later message than the one that was chosen", () => {
    page(3, opened({ kind: "options", looking: false, instructions: "", upTo: 0, preview }));
    expect(document.querySelector(".card")?.textContent).toContain("it ends at message 2");
  });

  test("says so where it does not pay", () => {
    const small = { ...preview, stats: { ...STATS, tokensAfter: STATS.tokensBefore } };
    page(3, opened({ kind: "options", looking: false, instructions: "", preview: small }));
    expect(document.querySelector(".warning")?.textContent).toContain("It does not pay");
  });

  test("that is done shows the summary from its beginning", () => {
    const made = page(3, opened({ kind: "draft", draft, applying: true, instructions: "" }));
    made.scroller.scrollTop = 400;
    made.show(opened({ kind: "done", told: "Compacted.", warnings: [] }));
    made.showRows(rows(2));
    expect(made.scroller.scrollTop).toBe(0);
  });

  test("is accepted as the user edited it", () => {
    page(3, opened({ kind: "draft", draft, applying: false, instructions: "" }));
    const box = document.querySelector<HTMLTextAreaElement>("textarea.draft");
    expect(box?.value).toBe("The key.");
    if (box !== null) {
      box.value = "The old key.";
    }
    buttonNamed("Accept")?.click();
    expect(said.at(-1)).toEqual({ type: "accept", text: "The old key." });
  });

  test("to be written anew stays unfolded while its model is chosen", () => {
    const work = { kind: "draft", draft, applying: false, instructions: "" } as const;
    const made = page(3, opened(work));
    const again = document.querySelector("details.again") as HTMLDetailsElement;
    again.open = true;
    again.dispatchEvent(new Event("toggle"));
    made.show(opened({ ...work, instructions: "shorter", model: "gpt-5-mini" }));
    const now = document.querySelector<HTMLDetailsElement>("details.again");
    expect([now?.open, now?.querySelector("textarea")?.value]).toEqual([true, "shorter"]);
  });

  test("with an empty summary cannot be accepted", () => {
    page(3, opened({ kind: "draft", draft: { ...draft, text: " " }, applying: false, instructions: "" }));
    expect(buttonNamed("Accept")?.disabled).toBe(true);
  });

  test("can be cancelled while it is written", () => {
    page(3, opened({ kind: "writing", doing: "Summarising 2 messages", instructions: "" }));
    buttonNamed("Cancel")?.click();
    expect([said, document.querySelector("[role=status]")?.textContent]).toEqual([
      [{ type: "cancel" }],
      "Summarising 2 messages",
    ]);
  });

  test("that is done can be undone, copied, saved and gone on from", () => {
    page(
      3,
      opened({ kind: "done", told: "Compacted 2 messages.", warnings: [] }, { undoable: true, summarised: true }),
    );
    for (const name of ["Undo", "Copy Summary", "Save as Markdown…", "New Chat with It"]) {
      buttonNamed(name)?.click();
    }
    expect(said.map((one) => one.type)).toEqual(["undo", "copySummary", "saveMarkdown", "newChat"]);
  });

  test("that failed says why, with its next step", () => {
    const problem = { text: "No model.", steps: ["Choose a Model"] };
    page(3, opened({ kind: "options", looking: false, instructions: "", problem }));
    buttonNamed("Choose a Model")?.click();
    expect([document.querySelector("[role=alert] p")?.textContent, said]).toEqual([
      "No model.",
      [{ type: "step", index: 0 }],
    ]);
  });
});
