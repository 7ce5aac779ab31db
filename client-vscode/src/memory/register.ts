// The memory view and its commands.
import * as vscode from "vscode";
import { tellFailure } from "../commands/tell";
import type { MemoryRecord } from "../protocol";
import { openToRead } from "../read-only-documents";
import { run } from "../server/requests";
import type { Server } from "../server/server";
import { t } from "../text";
import { recordFileName, recordText } from "./record-text";
import { searchMemory } from "./search-box";
import { MemoryTree } from "./tree";

export function registerMemory(server: Server): vscode.Disposable[] {
  const tree = new MemoryTree(server);
  const view = vscode.window.createTreeView("lithify.memory", { treeDataProvider: tree });
  tree.view = view;
  const list = (query: string) => {
    tree.search(query);
    vscode.commands.executeCommand("lithify.memory.focus");
  };
  const command = vscode.commands.registerCommand;
  return [
    tree,
    view,
    server.onDidChangeState((state) => (state === "running" || state === "failed") && tree.refresh()),
    command("lithify.searchMemory", () => searchMemory(server, (record) => open(server, record), list)),
    command("lithify.clearMemorySearch", () => tree.search("")),
    command("lithify.refreshMemory", () => tree.refresh()),
    command("lithify.moreMemory", () => tree.more().catch(tellFailure)),
    command("lithify.openRecord", (record: MemoryRecord) => open(server, record)),
    command("lithify.forgetRecord", (record: MemoryRecord) => forget(server, record, tree)),
  ];
}

/** Opens a record as it is now. */
async function open(server: Server, { recordId }: MemoryRecord): Promise<void> {
  try {
    const record = await run(server, "lithify.show_memory", { recordId });
    await openToRead(recordFileName(record), recordText(record));
  } catch (error) {
    tellFailure(error);
  }
}

async function forget(server: Server, { recordId, title }: MemoryRecord, tree: MemoryTree): Promise<void> {
  const yes = t("Forget");
  const detail = t("The record is deleted for good. The events it was made from stay recorded.");
  const answer = await vscode.window.showWarningMessage(t("Forget “{0}”?", title), { modal: true, detail }, yes);
  if (answer !== yes) {
    return;
  }
  try {
    await run(server, "lithify.forget_memory", { recordId });
  } catch (error) {
    tellFailure(error);
  }
  tree.refresh();
}
