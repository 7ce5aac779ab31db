// A sample project with chat files in it, and a home folder in which coding agents kept sessions of it.
import { appendFileSync, chmodSync, cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

const CLAUDE_ID = "3f2a9c41-5a7b-4c1d-9d61-0c1f2e3d4a5b";
const LONG_ID = "9b1d7c52-0f4e-4e0a-8a51-77c0de5a11ce";
const CODEX_ID = "01996135-afde-7911-97f0-d863511eca56";

const CART = `"""The cart of the shop: its lines, what they cost, and what is left when it is paid."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Line:
    """One article of a cart, as often as it was put in."""

    article: str
    price: int
    count: int = 1

    def cost(self) -> int:
        """The price of all of them, in cents."""
        return self.price * self.count


@dataclass
class Cart:
    """What a customer is going to buy."""

    currency: str
    lines: list[Line] = field(default_factory=list)

    def put(self, article: str, price: int, count: int = 1) -> None:
        """Puts articles in; those that are there already become more."""
        for line in self.lines:
            if line.article == article and line.price == price:
                line.count += count
                return
        self.lines.append(Line(article, price, count))

    def take_out(self, article: str) -> None:
        """Takes all of an article out."""
        self.lines = [line for line in self.lines if line.article != article]


def checkout(cart: Cart) -> dict[str, int | str]:
    """What the customer pays, in cents of the cart's currency."""
    prices = [line.cost() for line in cart.lines]
    # renamed in 4f1c2d
    return {"sum": sum(prices), "currency": cart.currency}
`;

const TEST = `from shop.cart import checkout


def test_checkout_tells_the_total(cart):
    assert checkout(cart)["total"] == 4200
`;

/** What somebody and an agent said about the project, as questions with answers and one use of a tool each. */
const TALK: readonly [string, string, string, string][] = [
  [
    "The checkout test fails with KeyError: 'total' since this morning. Find out why, and repair it without changing the test.",
    "shop/cart.py",
    CART,
    "Commit 4f1c2d renamed the key `total` to `sum` in shop/cart.py; the test still asks for `total`. I name it `total` again.",
  ],
  [
    "Is the old name used anywhere else?",
    "shop/receipt.py",
    'def receipt(order):\n    return f"total: {order.total}"\n',
    "Only in shop/receipt.py, which reads the attribute of an order and not this key. Nothing else needs a change.",
  ],
  [
    "Then add a field for a discount code, in whole percent.",
    "tests/test_cart.py",
    TEST,
    "I added `discount` to the cart, an integer from 0 to 100. The total is rounded once, after the discount, as the law wants it.",
  ],
  [
    "What about carts in a foreign currency?",
    "shop/currency.py",
    'RATES = {"EUR": 1.0, "CHF": 0.94}\n',
    "They are converted after the discount. The rates are pinned in shop/currency.py, from https://rates.example/2026.",
  ],
];

/** A folder that was made: the project, the home of the agents, and files that tests name. */
export interface Sample {
  project: string;
  home: string;
  chat: string;
  claudeSession: string;
  codexSession: string;
}

/** Makes the project and the home in a folder; `longMessages` is the length of one long session of Claude Code. */
export function makeSample(folder: string, longMessages = 0): Sample {
  const project = join(folder, "shop");
  const home = join(folder, "home");
  write(join(project, "README.md"), "# Shop\n\nA small shop, to try Lithify on.\n");
  write(join(project, "shop", "cart.py"), CART);
  write(join(project, "tests", "test_cart.py"), TEST);
  const chat = join(project, "chats", "checkout.jsonl");
  write(chat, lines(openAiMessages()));
  write(join(project, ".specstory", "history", "2026-07-01_07-30Z-checkout.md"), specStory());
  const claudeSession = claude(home, project, CLAUDE_ID, claudeRecords(TALK));
  if (longMessages > 0) {
    claude(home, project, LONG_ID, longRecords(longMessages));
  }
  const codexSession = codex(home, project);
  copyPrompts(home);
  return { project, home, chat, claudeSession, codexSession };
}

/** The exact prompt that was fetched for this user, so that a compaction is as people see it. */
function copyPrompts(home: string): void {
  const [from, to] = [process.env.XDG_DATA_HOME ?? join(homedir(), ".local", "share"), join(home, ".local", "share")];
  const prompts = join("lithify", "prompts");
  if (existsSync(join(from, prompts))) {
    cpSync(join(from, prompts), join(to, prompts), { recursive: true });
  }
}

function openAiMessages(): object[] {
  return TALK.flatMap(([asked, path, result, answer], number) => [
    { id: `q${number}`, role: "user", content: asked },
    {
      id: `c${number}`,
      role: "assistant",
      content: null,
      tool_calls: [
        {
          id: `call_${number}`,
          type: "function",
          function: { name: "read_file", arguments: JSON.stringify({ path }) },
        },
      ],
    },
    { id: `r${number}`, role: "tool", tool_call_id: `call_${number}`, content: result },
    { id: `a${number}`, role: "assistant", content: answer },
  ]);
}

function specStory(): string {
  const turns = TALK.map(
    ([asked, , , answer]) =>
      `_**User (2026-07-01 07:30Z)**_\n\n${asked}\n\n---\n\n_**Agent (model gpt-5)**_\n\n${answer}`,
  );
  const head = "<!-- Generated by SpecStory, Markdown v2.1.0 -->\n\n# Repair the checkout (2026-07-01 07:30Z)";
  return `${[head, ...turns].join("\n\n---\n\n")}\n`;
}

function claudeRecords(talk: typeof TALK): object[] {
  return talk.flatMap(([asked, path, result, answer], number) => [
    { type: "user", message: { role: "user", content: asked } },
    {
      type: "assistant",
      message: {
        id: `msg_${number}a`,
        role: "assistant",
        content: [{ type: "tool_use", id: `toolu_${number}`, name: "Read", input: { file_path: path } }],
      },
    },
    {
      type: "user",
      message: { role: "user", content: [{ type: "tool_result", tool_use_id: `toolu_${number}`, content: result }] },
    },
    {
      type: "assistant",
      message: { id: `msg_${number}b`, role: "assistant", content: [{ type: "text", text: answer }] },
    },
  ]);
}

function longRecords(count: number): object[] {
  return Array.from({ length: count }, (_, number) =>
    number % 2 === 0
      ? { type: "user", message: { role: "user", content: `Question ${number}: why is part ${number} slow?` } }
      : {
          type: "assistant",
          message: {
            id: `msg_${number}`,
            role: "assistant",
            content: [
              { type: "text", text: `Answer ${number}. ${"It reads the file again each time. ".repeat(number % 12)}` },
            ],
          },
        },
  );
}

function claude(home: string, project: string, id: string, records: object[]): string {
  const common = { cwd: project, sessionId: id, version: "2.1.332", isSidechain: false, userType: "external" };
  const chained = records.map((record, number) => ({
    ...common,
    uuid: uuid(number),
    parentUuid: number === 0 ? null : uuid(number - 1),
    timestamp: new Date(Date.UTC(2026, 6, 1, 7, 30) + number * 1000).toISOString(),
    ...record,
  }));
  const path = join(home, ".claude", "projects", project.replace(/[^A-Za-z0-9]/g, "-"), `${id}.jsonl`);
  write(path, lines(chained));
  return path;
}

function uuid(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
}

const record = (type: string, payload: object) => ({ timestamp: "2026-07-01T07:31:40.906Z", type, payload });

function said(role: string, text: string): object {
  const content = [{ type: role === "assistant" ? "output_text" : "input_text", text }];
  return record("response_item", { type: "message", role, content });
}

/** Has Codex go on in a session: what the user says is added to it. */
export function goOnInCodex(session: string, asked: string): void {
  appendFileSync(session, lines([said("user", asked), record("event_msg", { type: "user_message", message: asked })]));
}

/** Has a login shell of that home say what the PATH is; VS Code takes it from there. */
export function loginPath(home: string, path: string): void {
  write(join(home, ".profile"), `PATH="${path}"; export PATH\n`);
}

/** A command in a folder that writes what it was called with, and where, into a file. */
export function stubCommand(folder: string, name: string, calledInto: string): void {
  const script = join(folder, name);
  write(script, `#!/bin/sh\necho "$PWD $*" > '${calledInto}.new' && mv '${calledInto}.new' '${calledInto}'\n`);
  chmodSync(script, 0o755);
}

function codex(home: string, project: string): string {
  const meta = { id: CODEX_ID, cwd: project, cli_version: "0.171.0", source: "cli" };
  const records = [
    record("session_meta", meta),
    said("user", "<environment_context>\n</environment_context>"),
    ...TALK.flatMap(([asked, , , answer]) => [
      said("user", asked),
      record("event_msg", { type: "user_message", message: asked }),
      said("assistant", answer),
    ]),
  ];
  const name = `rollout-2026-07-01T09-31-40-${CODEX_ID}.jsonl`;
  const path = join(home, ".codex", "sessions", "2026", "07", "01", name);
  write(path, lines(records));
  return path;
}

function lines(records: object[]): string {
  return records.map((one) => `${JSON.stringify(one)}\n`).join("");
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
