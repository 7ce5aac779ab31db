// A memory record as a text to read.
import { modelName } from "../amounts";
import type { MemoryRecord } from "../protocol";
import { t } from "../text";

/** The record in Markdown, as a document of its own. Its words stand as they are: it is shown as text, not rendered. */
export function recordText(record: MemoryRecord): string {
  const sections = [
    `# ${record.title}`,
    t("{0}, made {1} by {2}", typeName(record), record.createdAt.slice(0, 10), maker(record)),
    record.summary,
    section(t("Facts"), record.facts),
    section(t("Concepts"), record.concepts),
    section(t("Files"), record.files),
    section(t("Made from the events"), record.sourceEventIds),
  ];
  return `${sections.filter((one) => one !== "").join("\n\n")}\n`;
}

/** The type of a record in words. */
export function typeName({ type }: Pick<MemoryRecord, "type">): string {
  const names = {
    tool_use: t("use of a tool"),
    decision: t("decision"),
    error: t("error"),
    discovery: t("discovery"),
    pattern: t("pattern"),
    session_summary: t("summary of a session"),
  };
  return names[type];
}

/** The icon of a record's type. */
export function typeIcon({ type }: Pick<MemoryRecord, "type">): string {
  const icons = {
    tool_use: "tools",
    decision: "law",
    error: "error",
    discovery: "lightbulb",
    pattern: "symbol-structure",
    session_summary: "note",
  };
  return icons[type];
}

/** A name for the document: the title without what no path may hold. */
export function recordFileName(record: MemoryRecord): string {
  const title = record.title
    .replace(/[^\p{L}\p{N} _-]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 60);
  return `${record.recordId}/${title || t("Record")}.md`;
}

function maker({ method }: MemoryRecord): string {
  return method === "model" ? t("a model") : modelName("offline", undefined);
}

function section(title: string, items: readonly string[]): string {
  return items.length === 0 ? "" : `## ${title}\n\n${items.map((item) => `- ${item}`).join("\n")}`;
}
