// The menus behind the gauges: what is offered when.
import type { BufferStatus } from "../protocol";
import { t } from "../text";
import type { ServerState } from "./server-gauge";

/** One line of a menu; `command` is run when it is chosen. */
export interface MenuItem {
  label: string;
  description?: string;
  command: string;
}

/** The menu of the buffer's gauge; while the server does not run, what can be done about it. */
export function bufferMenu(state: ServerState, status: BufferStatus | undefined): MenuItem[] {
  const always = [
    { label: `$(output) ${t("Show log")}`, command: "lithify.showLog" },
    { label: `$(gear) ${t("Settings")}`, command: "lithify.openSettings" },
  ];
  const sessions = { label: `$(comment-discussion) ${t("Show sessions")}`, command: "lithify.showSessions" };
  const runs = state === "running" || state === "resting";
  return runs ? [sessions, ...work(status), ...always] : [...repairs(), ...always];
}

function repairs(): MenuItem[] {
  return [
    { label: `$(refresh) ${t("Start again")}`, command: "lithify.restartServer" },
    { label: `$(symbol-misc) ${t("Use another Python...")}`, command: "lithify.choosePython" },
    { label: `$(package) ${t("Make a private environment")}`, command: "lithify.makeEnvironment" },
  ];
}

function work(status: BufferStatus | undefined): MenuItem[] {
  const items: MenuItem[] = [{ label: `$(sparkle) ${t("Extract memory now")}`, command: "lithify.extractNow" }];
  if (status?.compaction.enabled === true) {
    items.push({ label: `$(fold) ${t("Compact buffer")}`, command: "lithify.compactBuffer" });
  }
  items.push(
    status?.recording === false
      ? { label: `$(debug-start) ${t("Resume recording")}`, command: "lithify.resumeRecording" }
      : { label: `$(debug-pause) ${t("Pause recording")}`, command: "lithify.pauseRecording" },
    { label: `$(search) ${t("Search memory...")}`, command: "lithify.searchMemory" },
    { label: `$(list-flat) ${t("Open the buffer")}`, command: "lithify.showBuffer" },
    { label: `$(book) ${t("Open the ledger of model calls")}`, command: "lithify.showLedger" },
  );
  return items;
}

/** The menu of the conversation's gauge: compaction stands first when the window fills, and nowhere when it is off. */
export function conversationMenu(compactionEnabled: boolean, filling: boolean): MenuItem[] {
  const compaction = [
    {
      label: `$(fold) ${t("Compact this conversation")}`,
      description: filling ? t("most of the model's window is used") : undefined,
      command: "lithify.compactChat",
    },
    { label: `$(discard) ${t("Undo the last compaction")}`, command: "lithify.undoChatCompaction" },
  ];
  const open = [
    { label: `$(comment-discussion) ${t("Open the chat")}`, command: "workbench.action.chat.open" },
    { label: `$(list-unordered) ${t("Show sessions")}`, command: "lithify.showSessions" },
  ];
  if (!compactionEnabled) {
    return open;
  }
  return filling ? [...compaction, ...open] : [...open, ...compaction];
}
