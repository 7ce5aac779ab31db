import { describe, expect, test } from "vitest";
import { messagesOf } from "../src/chat/continued";
import { asMarkdown, markdownName } from "../src/panel/as-markdown";
import { ofAgentSession, ofSession, type Row, summaryOf } from "../src/panel/conversation";
import { readFromPage } from "../src/panel/messages";
import { pageHtml } from "../src/panel/page";
import { foundSession, session } from "./panel-samples";

const PREFIX = "<system>Previous context has been compacted. Here is the compaction output:</system>";

function row(changes: Partial<Row> = {}): Row {
  return { role: "user", text: "Hello", calls: [], tokens: 2, summary: false, compactable: true, ...changes };
}

describe("a live session", () => {
  test("shows calls of tools by name and arguments", () => {
    expect(ofSession(session()).rows[1]?.calls).toEqual([{ name: "read_file", input: '{"path":"cart.py"}' }]);
  });

  test("shows the parts that Anthropic's API has for tools", () => {
    const messages = [
      { role: "assistant", content: [{ type: "tool_use", id: "1", name: "Read", input: { file: "a" } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "text of a" }] },
    ];
    const { rows } = ofSession(session({ messages }));
    expect(rows.map((one) => [one.role, one.calls, one.text])).toEqual([
      ["assistant", [{ name: "Read", input: '{"file":"a"}' }], ""],
      ["tool", [], "text of a"],
    ]);
  });

  test("is counted as the server counts it: bytes of texts and calls divided by 2.7", () => {
    const { rows } = ofSession(session({ messages: [{ role: "user", content: "é".repeat(27) }] }));
    expect(rows[0]?.tokens).toBe(20);
  });

  test("has its summary without the sentence in front of it", () => {
    const messages = [
      {
        role: "user",
        content: [
          { type: "text", text: PREFIX },
          { type: "text", text: "The key." },
        ],
      },
    ];
    expect(summaryOf(ofSession(session({ messages })))).toBe("The key.");
  });

  test("can undo its newest compaction that is not undone", () => {
    const kept = { at: "", range: { start: 0, end: 1 }, stats: {} as never };
    const compactions = [
      { ...kept, compactionId: "a", undone: false },
      { ...kept, compactionId: "b", undone: true },
    ];
    expect(ofSession(session({ compactions })).undo).toBe("a");
  });
});

test("an agent's session has the roles, texts and sizes that the server tells", () => {
  const messages = [
    {
      role: "assistant",
      text: "Look",
      toolCalls: [{ id: "1", name: "ls", arguments: "{}" }],
      answers: [],
      tokens: 7,
      compactable: false,
    },
  ];
  expect(ofAgentSession({ ...foundSession(), messages, compactions: [], folds: [] }).rows).toEqual([
    row({ role: "assistant", text: "Look", calls: [{ name: "ls", input: "{}" }], tokens: 7, compactable: false }),
  ]);
});

describe("as Markdown", () => {
  test("a fence is longer than any in the text", () => {
    const rows = [row({ role: "tool", text: "a\n````\nb" })];
    expect(asMarkdown({ title: "T", tokens: 1, rows, folds: [] })).toContain("`````\na\n````\nb\n`````");
  });

  test("a title becomes the name of a file on every system", () => {
    expect(markdownName('a/b: "c" <d>?')).toBe("a b c d.md");
    expect(markdownName("///")).toBe("conversation.md");
  });
});

describe("a chat that goes on", () => {
  test("has uses of tools as text, and no system message", () => {
    const rows = [
      row({ role: "system", text: "You are" }),
      row({ role: "assistant", text: "", calls: [{ name: "ls", input: "{}" }] }),
      row({ role: "tool", text: "a.py" }),
    ];
    expect(messagesOf({ title: "", tokens: 0, rows, folds: [] })).toEqual([
      { role: "assistant", content: "[Used ls: {}]" },
      { role: "user", content: "[Result of a tool]\na.py" },
    ]);
  });

  test("has a summary as a summary", () => {
    const rows = [row({ text: "The key.", summary: true })];
    expect(messagesOf({ title: "", tokens: 0, rows, folds: [] })).toEqual([
      { role: "user", content: `${PREFIX}\nThe key.` },
    ]);
  });
});

describe("what the page says", () => {
  test.each([
    [{ type: "ready" }, { type: "ready" }],
    [{ type: "compact" }, { type: "compact" }],
    [
      { type: "compact", index: 3, more: 1 },
      { type: "compact", index: 3 },
    ],
    [
      { type: "accept", text: "x" },
      { type: "accept", text: "x" },
    ],
    [
      { type: "wholeText", index: 0 },
      { type: "wholeText", index: 0 },
    ],
  ])("is heeded: %j", (said, heeded) => {
    expect(readFromPage(said)).toEqual(heeded);
  });

  test.each([
    null,
    "ready",
    {},
    { type: "run" },
    { type: "open" },
    { type: "accept", text: 1 },
    { type: "step", index: -1 },
    { type: "compact", index: "1" },
  ])("is not heeded: %j", (said) => {
    expect(readFromPage(said)).toBeUndefined();
  });
});

describe("the page", () => {
  const html = pageHtml({
    script: "https://x/panel.js",
    style: "https://x/panel.css",
    origin: "https://x",
    nonce: "n1",
  });

  test("allows its own script by a nonce, its own style, and nothing else", () => {
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1];
    expect(policy).toBe("default-src 'none'; script-src 'nonce-n1'; style-src https://x");
  });

  test("has no script and no style of its own", () => {
    expect(html).not.toMatch(/<style|style=|\son\w+=|<script(?![^>]*nonce)/);
  });
});
