// The memory view: the newest records of the project, or those a search found.
import * as vscode from "vscode";
import { projectUri } from "../project";
import type { MemoryRecord } from "../protocol";
import { run } from "../server/requests";
import type { Server } from "../server/server";
import { t } from "../text";
import { typeIcon, typeName } from "./record-text";

const PAGE = 50;

/** A record of the list, or the line that asks for more of them. */
export type MemoryItem = MemoryRecord | "more";

export class MemoryTree implements vscode.TreeDataProvider<MemoryItem>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private query = "";
  private records: MemoryRecord[] = [];
  private cursor: string | undefined;
  private known = false;
  /** The view, for its message line. */
  view: vscode.TreeView<MemoryItem> | undefined;

  constructor(private readonly server: Server) {}

  /** Shows what fits the query; all records for an empty one. */
  search(query: string): void {
    this.query = query.trim();
    vscode.commands.executeCommand("setContext", "lithify.memorySearched", this.query !== "");
    this.refresh();
  }

  refresh(): void {
    this.known = false;
    this.changed.fire(undefined);
  }

  /** Loads the next page. */
  async more(): Promise<void> {
    await this.load(this.cursor);
    this.changed.fire(undefined);
  }

  getTreeItem(item: MemoryItem): vscode.TreeItem {
    if (item === "more") {
      const line = new vscode.TreeItem(t("Show more"));
      line.command = { command: "lithify.moreMemory", title: t("Show more") };
      line.iconPath = new vscode.ThemeIcon("ellipsis");
      return line;
    }
    const line = new vscode.TreeItem(item.title);
    line.id = item.recordId;
    line.description = typeName(item);
    line.tooltip = item.summary; // a plain string: shown as it stands
    line.iconPath = new vscode.ThemeIcon(typeIcon(item));
    line.contextValue = "record";
    line.accessibilityInformation = { label: `${item.title}, ${typeName(item)}` };
    line.command = { command: "lithify.openRecord", title: t("Open Record"), arguments: [item] };
    return line;
  }

  async getChildren(): Promise<MemoryItem[]> {
    if (!this.known) {
      this.records = [];
      try {
        await this.load(undefined);
      } catch (error) {
        if (this.server.state === "failed") {
          return []; // the view's welcome text says what to do
        }
        throw error;
      }
    }
    return this.cursor === undefined ? this.records : [...this.records, "more"];
  }

  dispose(): void {
    this.changed.dispose();
  }

  /** Says what was looked for above what was found. VS Code shows the text of an empty view only without a message. */
  private showMessage(): void {
    if (this.view !== undefined) {
      const found = this.query !== "" && this.records.length > 0;
      this.view.message = found ? t("Found for “{0}”, the best first", this.query) : undefined;
    }
  }

  private async load(cursor: string | undefined): Promise<void> {
    const place = { projectUri: projectUri(), limit: PAGE };
    const found =
      this.query === ""
        ? await run(this.server, "lithify.list_memory", { ...place, cursor })
        : await run(this.server, "lithify.search_memory", { ...place, query: this.query });
    this.records = [...this.records, ...found.records];
    this.cursor = found.cursor ?? undefined;
    this.known = true;
    this.showMessage();
  }
}
