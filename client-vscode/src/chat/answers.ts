// What @lithify says to its commands, as Markdown. Foreign text in it is escaped.
import { grouped, kilobytes, modelName, percent, records, tokens } from "../amounts";
import { noop, saved, toldWarnings } from "../commands/results";
import { escaped } from "../markdown";
import { typeName } from "../memory/record-text";
import type { BufferStatus, Compacted, MemoryRecord, Noop, SessionStatus } from "../protocol";
import { stateName } from "../status/gauge";
import { t } from "../text";

/** The answer to a compaction: sizes before and after, who wrote it, warnings. The summary stands behind a button. */
export function compactionAnswer(result: Compacted | Noop): string {
  if (result.type === "noop") {
    return noop(result);
  }
  const { stats } = result;
  const table = [
    `| | ${t("before")} | ${t("after")} |`,
    "|---|--:|--:|",
    `| ${t("messages")} | ${grouped(stats.messagesBefore)} | ${grouped(stats.messagesAfter)} |`,
    `| ${t("tokens")} | ${grouped(stats.tokensBefore)} | ${grouped(stats.tokensAfter)} |`,
  ].join("\n");
  const by = t("Written by {0}.", escaped(modelName(result.provider, result.model)));
  const warnings = toldWarnings(result).map((one) => `$(warning) ${escaped(one)}`);
  const grown = stats.tokensAfter < stats.tokensBefore ? [] : [`$(warning) ${doesNotPay()}`];
  return [saved(result), ...grown, table, by, ...warnings].join("\n\n");
}

function doesNotPay(): string {
  return t("It did not pay: the summary is not shorter than what it replaced. Undo brings the messages back.");
}

/** What `/compact-up-to` says where its number is none of an answer. */
export function upToAnswer(answers: number): string {
  if (answers === 0) {
    return t("This chat has no answer yet that could be compacted up to.");
  }
  return answers === 1
    ? t("Say up to which answer. There is one so far: /compact-up-to 1")
    : t("Say up to which answer, as a number from 1 to {0}: /compact-up-to 1", answers);
}

/** The answer to `/memory`: the records found, each by its title and summary. */
export function memoryAnswer(found: readonly MemoryRecord[], query: string): string {
  if (found.length === 0) {
    return query === ""
      ? t("Nothing is kept for this project yet.")
      : t("No memory record of this project fits “{0}”.", escaped(query));
  }
  const head = query === "" ? t("The newest of this project's memory:") : t("Found {0}:", records(found.length));
  return [
    head,
    ...found.map((one) => `* **${escaped(one.title)}** (${typeName(one)})  \n  ${escaped(one.summary)}`),
  ].join("\n\n");
}

/** The answer to `/status`: the buffer, and this chat where it has a session. */
export function statusAnswer(buffer: BufferStatus, chat: SessionStatus | undefined): string {
  const { thresholds } = buffer;
  const lines = [
    `* ${t("Buffer: {0} of {1} KB, {2}", kilobytes(buffer.sizeBytes), kilobytes(thresholds.extractionBytes), stateName(buffer))}`,
    `* ${t("Memory: {0}", records(buffer.records))}`,
    `* ${t("Recording: {0}", buffer.recording ? t("on") : t("paused"))}`,
  ];
  if (typeof buffer.problem === "string") {
    lines.push(`* $(warning) ${escaped(buffer.problem)}`);
  }
  if (chat === undefined) {
    lines.push(`* ${t("This chat has no message yet.")}`);
  } else if (typeof chat.share === "number" && typeof chat.window === "number") {
    lines.push(
      `* ${t("This chat: {0}, {1} of the model's {2}", tokens(chat.tokens), percent(chat.share), grouped(chat.window))}`,
    );
  } else {
    lines.push(`* ${t("This chat: {0}", tokens(chat.tokens))}`);
  }
  return lines.join("\n");
}
