// What a user is told of a result: one sentence, with what was saved; no-ops quietly.
import { entries, grouped, kilobytes, messages, records, tokens } from "../amounts";
import { textOf } from "../chat/history";
import type {
  BufferCompactionResult,
  Compacted,
  Draft,
  ExtractionResult,
  Noop,
  Preview,
  PreviewDocument,
  Undone,
} from "../protocol";
import type { NextStep } from "../server/trouble";
import { t } from "../text";

/** A result as people are told it. Quiet ones are shown for a moment in the status bar. */
export interface Told {
  text: string;
  severity: "quiet" | "information" | "warning";
  steps: NextStep[];
}

export type CompactionResult = Compacted | Draft | Noop | Preview | PreviewDocument;

/** What to say of the result of a server's command; undefined where there is nothing to say. */
export function resultOf(command: string, result: unknown): Told | undefined {
  switch (command) {
    case "lithify.compact_conversation":
    case "lithify.compact_up_to_here":
    case "lithify.apply_compaction":
    case "lithify.preview_compaction":
    case "lithify.compact_with_instructions":
      return compaction(result as CompactionResult);
    case "lithify.undo_compaction":
      return undoing(result as Undone);
    case "lithify.extract_now":
      return extraction(result as ExtractionResult);
    case "lithify.compact_buffer":
      return bufferCompaction(result as BufferCompactionResult);
    default:
      return undefined;
  }
}

function compaction(result: CompactionResult): Told | undefined {
  switch (result.type) {
    case "noop":
      return quiet(noop(result));
    case "compacted":
      return compacted(result);
    case "preview":
      return { text: preview(result), severity: "information", steps: [] };
    case "draft":
      return { text: t("A summary is drafted; nothing is changed yet."), severity: "information", steps: [] };
    default:
      return undefined; // a preview that the server had the editor show
  }
}

function compacted(result: Compacted): Told {
  const warnings = toldWarnings(result);
  return {
    text: [saved(result), ...warnings].join(" "),
    severity: warnings.length > 0 ? "warning" : "information",
    steps: [...undoSteps(result), summaryStep(result)],
  };
}

/** What holds for every compaction until somebody changes the installation; nobody is told it with each. */
const ONCE_AND_FOR_ALL: ReadonlySet<string> = new Set(["prompt_fallback"]);

/** The warnings of a compaction or a draft that people are told, as sentences. */
export function toldWarnings({ warnings }: Pick<Compacted, "warnings">): string[] {
  return warnings.filter((one) => !ONCE_AND_FOR_ALL.has(one.code)).map((one) => sentence(one.message));
}

/** "Compacted 12 messages: 14,200 tokens became 3,100, 11,100 saved." */
export function saved({ range, stats }: Pick<Compacted, "range" | "stats">): string {
  const gain = stats.tokensBefore - stats.tokensAfter;
  const head = [messages(range.end - range.start), tokens(stats.tokensBefore), grouped(stats.tokensAfter)] as const;
  return gain > 0
    ? t("Compacted {0}: {1} became {2}, {3} saved.", ...head, grouped(gain))
    : t("Compacted {0}: {1} became {2}, nothing saved.", ...head);
}

/** Why there was nothing to compact. */
export function noop({ reason }: Noop): string {
  switch (reason) {
    case "empty":
      return t("Nothing to compact: there is no message.");
    case "preserve_none":
      return t("Nothing to compact: the settings keep every message.");
    case "too_few_messages":
      return t("Nothing to compact yet: there are only as many messages as are kept.");
    case "nothing_before_tail":
      return t("Nothing to compact yet: the newest messages are kept, and none stands before them.");
    case "system_only":
      return t("Nothing to compact: there are system messages alone.");
  }
}

export function undone(result: Undone): string {
  if (result.restoredUri != null) {
    return t("The session went on meanwhile and stays as it is. What it held before is a session of its own now.");
  }
  return result.messages == null
    ? t("The compaction is undone.")
    : t("The compaction is undone; the conversation has {0} again.", messages(result.messages.length));
}

function undoing(result: Undone): Told {
  if (result.restoredUri == null) {
    return quiet(undone(result));
  }
  const open = { title: t("Open It"), command: "lithify.openSession", argument: result.restoredUri };
  return { text: undone(result), severity: "information", steps: [open] };
}

function preview({ stats, requests }: Preview): string {
  const sizes = [tokens(stats.tokensBefore), grouped(stats.tokensAfter)] as const;
  return requests === 1
    ? t("One request would be sent: {0} would become about {1}.", ...sizes)
    : t("{2} requests would be sent: {0} would become about {1}.", ...sizes, requests);
}

/** The button that takes a compaction back; none where the server says that it cannot be. */
export function undoSteps(result: Compacted): NextStep[] {
  if (result.warnings.some((one) => one.code === "undo_unavailable")) {
    return [];
  }
  const target = result.sessionId == null ? { uri: result.uri } : { sessionId: result.sessionId };
  const argument = { ...target, compactionId: result.compactionId };
  return [{ title: t("Undo"), command: "lithify.undoCompaction", argument }];
}

/** The button that opens the summary to be read. It carries the text, which an undo takes out of the session. */
export function summaryStep({ summary }: Pick<Compacted, "summary">): NextStep {
  const text = textOf(summary).replace(/^<system>[^<]*<\/system>\s*/, "");
  return { title: t("Show Summary"), command: "lithify.showSummary", argument: { text } };
}

function extraction(result: ExtractionResult): Told {
  if (typeof result.problem === "string") {
    return { text: t("Memory was not extracted: {0}", sentence(result.problem)), severity: "warning", steps: [] };
  }
  if (result.extracted === 0) {
    return quiet(t("There was nothing to extract."));
  }
  if (result.reason === "nothing_worth_keeping") {
    return quiet(t("The model found nothing worth keeping in {0}.", entries(result.extracted)));
  }
  const done = t("Extracted {0} from {1}.", records(result.records), entries(result.extracted));
  return { text: done, severity: "information", steps: [] };
}

function bufferCompaction(result: BufferCompactionResult): Told {
  if (typeof result.problem === "string") {
    return { text: t("The buffer was not compacted: {0}", sentence(result.problem)), severity: "warning", steps: [] };
  }
  if (result.sizeAfter >= result.sizeBefore) {
    return quiet(t("The buffer had nothing to compact."));
  }
  const sizes = [kilobytes(result.sizeBefore), kilobytes(result.sizeAfter)] as const;
  const done = t("The buffer is compacted: {0} KB became {1} KB in {2}.", ...sizes, entries(result.entriesAfter));
  return { text: done, severity: "information", steps: [] };
}

function quiet(text: string): Told {
  return { text, severity: "quiet", steps: [] };
}

/** A text as a sentence of its own: it begins large and ends in a full stop. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  const ended = /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
  return ended.charAt(0).toUpperCase() + ended.slice(1);
}
