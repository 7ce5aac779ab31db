// The search box over the memory: records appear while one types, Enter opens one.
import * as vscode from "vscode";
import { tellFailure } from "../commands/tell";
import { projectUri } from "../project";
import type { MemoryRecord } from "../protocol";
import { run } from "../server/requests";
import type { Server } from "../server/server";
import { t } from "../text";
import { typeIcon, typeName } from "./record-text";

const MOST_FOUND = 30;

interface Found extends vscode.QuickPickItem {
  record?: MemoryRecord;
  /** A line that only says that there is nothing. */
  none?: boolean;
}

/** Asks what to look for. Calls `open` with a record that is chosen, `list` to have the whole result in the view. */
export function searchMemory(
  server: Server,
  open: (record: MemoryRecord) => void,
  list: (query: string) => void,
): void {
  const box = vscode.window.createQuickPick<Found>();
  box.title = t("Search Lithify's memory of this project");
  box.placeholder = t("Words to look for; empty: the newest");
  box.matchOnDescription = true;
  box.matchOnDetail = true;
  let newest = 0;
  const look = async (query: string) => {
    newest += 1;
    const mine = newest;
    box.busy = true;
    try {
      const records = await find(server, query);
      if (mine === newest) {
        box.items = shown(records, query);
      }
    } catch (error) {
      box.hide();
      tellFailure(error);
    } finally {
      box.busy = mine !== newest;
    }
  };
  box.onDidChangeValue((value) => look(value.trim()));
  box.onDidAccept(() => {
    const [chosen] = box.selectedItems;
    if (chosen?.none) {
      return; // the box stays for other words
    }
    chosen?.record === undefined ? list(box.value.trim()) : open(chosen.record);
    box.hide();
  });
  box.onDidHide(() => box.dispose());
  box.show();
  look("");
}

async function find(server: Server, query: string): Promise<MemoryRecord[]> {
  const place = { projectUri: projectUri(), limit: MOST_FOUND };
  const answer =
    query === ""
      ? await run(server, "lithify.list_memory", place)
      : await run(server, "lithify.search_memory", { ...place, query });
  return answer.records;
}

function shown(records: readonly MemoryRecord[], query: string): Found[] {
  const found = records.map((record) => ({
    record,
    label: `$(${typeIcon(record)}) ${record.title.replaceAll("$(", "$\u200b(")}`, // a title shows no icon of its own
    description: typeName(record),
    detail: record.summary.split("\n", 1)[0],
    alwaysShow: true,
  }));
  const all = { label: `$(list-flat) ${t("Show all of these in the memory view")}`, alwaysShow: true };
  if (found.length === 0) {
    const none = query === "" ? t("The memory of this project is empty yet") : t("No record fits “{0}”", query);
    return [{ label: none.replaceAll("$(", "$\u200b("), alwaysShow: true, none: true }];
  }
  return query === "" ? found : [...found, all];
}
