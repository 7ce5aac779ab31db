// Tests that run inside the extension host of a real VS Code: the API for other extensions, and what VS Code itself asks.
import { strict as assert } from "node:assert";
import { writeFileSync } from "node:fs";
import * as vscode from "vscode";
import type { LithifyApi, LithifyMessage } from "../../api";

type Test = [name: string, run: (api: LithifyApi) => Promise<void>];

const MESSAGES: LithifyMessage[] = [
  { id: "a", role: "user", content: "Which cart rounds the tax wrongly, the old or the new one?" },
  { id: "b", role: "assistant", content: "The old one: it rounds each line, and the law wants the sum to be rounded." },
  { id: "c", role: "user", content: "Then the new one stays." },
];

const TESTS: Test[] = [
  [
    "an event of another extension is recorded",
    async (api) => {
      const body = { type: "text", content: "checked in" } as const;
      const [result] = await api.recordEvents([{ sessionId: "host", kind: "note", body }]);
      assert.equal(result?.status, "buffered");
    },
  ],
  [
    "a session of another extension is compacted and brought back",
    async (api) => {
      const session = await api.openSession({ sessionId: "host-1", messages: MESSAGES, record: "none" });
      const changed = new Promise<number>((resolve) => session.onDidChange((messages) => resolve(messages.length)));
      const result = await session.compactUpTo({ messageId: "b" });
      assert.equal(result.type, "compacted");
      assert.equal(await changed, 2);
      assert.equal((await session.undo()).length, 3);
    },
  ],
  [
    "an error of the server names its case",
    async (api) => {
      const session = await api.openSession({ sessionId: "host-2", messages: MESSAGES, record: "none" });
      await assert.rejects(session.compactUpTo({ messageId: "nowhere" }), (error: { data?: { type?: string } }) => {
        assert.equal(error.data?.type, "unknown_message");
        return true;
      });
    },
  ],
  [
    "a change of a session that the server refuses rejects",
    async (api) => {
      const refused = (error: { data?: { type?: string } }) => error.data?.type === "invalid_params";
      await assert.rejects(api.openSession({ sessionId: "" }), refused);
      const session = await api.openSession({ sessionId: "host-3", messages: MESSAGES, record: "none" });
      await assert.rejects(session.append([{ content: "says nobody" } as unknown as LithifyMessage]), refused);
      await assert.rejects(session.splice(100, 5), refused);
      await session.append([{ role: "user", content: "And now?" }]);
      await session.splice(3, 1);
      assert.deepEqual(await session.messages(), MESSAGES);
    },
  ],
  [
    "a chat file has lenses, and code actions that compact up to a line",
    async () => {
      const uri = vscode.Uri.joinPath(folder(), "chats", "checkout.jsonl");
      await vscode.window.showTextDocument(uri);
      const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
        "vscode.executeCodeLensProvider",
        uri,
        100,
      );
      assert.match(lenses[0]?.command?.title ?? "", /^Compact up to here: 1 message, \d+ tokens$/);
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
        "vscode.executeCodeActionProvider",
        uri,
        new vscode.Range(3, 0, 3, 0),
      );
      assert.ok(actions.some((one) => /Compact up to here/.test(one.title)));
    },
  ],
  [
    "every command that the manifest offers is there",
    async () => {
      const manifest = vscode.extensions.getExtension("lithify.lithify")?.packageJSON;
      const there = new Set(await vscode.commands.getCommands(true));
      const offered: string[] = manifest.contributes.commands.map((one: { command: string }) => one.command);
      assert.deepEqual(
        offered.filter((one) => !there.has(one)),
        [],
      );
    },
  ],
  [
    "the model Lithify offline answers without an account",
    async () => {
      const [model] = await vscode.lm.selectChatModels({ vendor: "lithify" });
      const request = [vscode.LanguageModelChatMessage.User("hello there")];
      const response = await model?.sendRequest(request, {}, new vscode.CancellationTokenSource().token);
      let text = "";
      for await (const part of response?.text ?? []) {
        text += part;
      }
      assert.match(text, /hello there/);
    },
  ],
];

/** Runs all of them and writes what became of each into the file that the environment names. */
export async function run(): Promise<void> {
  const api = await vscode.extensions.getExtension<LithifyApi>("lithify.lithify")?.activate();
  const results: [string, string | null][] = [];
  for (const [name, test] of TESTS) {
    try {
      await test(api as LithifyApi);
      results.push([name, null]);
    } catch (error) {
      results.push([name, error instanceof Error ? (error.stack ?? error.message) : String(error)]);
    }
  }
  writeFileSync(process.env.HOST_TEST_RESULTS as string, JSON.stringify(results));
}

function folder(): vscode.Uri {
  const [first] = vscode.workspace.workspaceFolders ?? [];
  assert.ok(first);
  return first.uri;
}
