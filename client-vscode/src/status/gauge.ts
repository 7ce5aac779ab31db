// What the status bar says of a project's buffer: decided from its status alone.
import { ago, entries, grouped, kilobytes, modelName, records } from "../amounts";
import { escaped } from "../markdown";
import type { BufferStatus, WorkStatus } from "../protocol";
import { t } from "../text";

export type Severity = "normal" | "warning" | "error";

/** A gauge: its text with icons, what a screen reader says, its hover as Markdown, its colour. */
export interface Gauge {
  text: string;
  label: string;
  hover: string;
  severity: Severity;
}

/** The state in one word or two. */
export function stateName(status: BufferStatus): string {
  if (status.state === "degraded") {
    return t("degraded");
  }
  if (status.state === "full") {
    return t("full");
  }
  if (status.background.paused) {
    return t("over budget");
  }
  if (!status.recording) {
    return t("recording paused");
  }
  if (status.state === "extracting") {
    return t("extracting");
  }
  return status.state === "compacting" ? t("compacting") : t("idle");
}

export function needsAttention(status: BufferStatus): boolean {
  return status.state === "degraded" || status.state === "full" || status.background.paused;
}

export function isWorking(status: BufferStatus): boolean {
  return status.extraction.inFlight || status.compaction.inFlight;
}

/** The gauge of a buffer; `now` in milliseconds since 1970. */
export function bufferGauge(status: BufferStatus, now: number): Gauge {
  const size = t("{0}/{1} KB", kilobytes(status.sizeBytes), kilobytes(status.thresholds.extractionBytes));
  return {
    text: `$(${icon(status)}) ${size}`,
    label: t("Lithify buffer: {0}, {1}", size, stateName(status)),
    hover: hover(status, now),
    severity: needsAttention(status) ? "warning" : "normal",
  };
}

function icon(status: BufferStatus): string {
  if (isWorking(status)) {
    return "sync~spin";
  }
  if (needsAttention(status)) {
    return "warning";
  }
  return status.recording ? "database" : "debug-pause";
}

function hover(status: BufferStatus, now: number): string {
  const { background } = status;
  const lines = [
    `**${t("Lithify")}**: ${stateName(status)}`,
    t("Recorded and not yet made into memory: {0} KB in {1}", kilobytes(status.sizeBytes), entries(status.entries)),
    thresholds(status),
    t("Memory: {0}", records(status.records)),
    work(t("Extraction of memory"), status.extraction, now),
    work(t("Compaction of the buffer"), status.compaction, now),
    t(
      "Model use in the background, last hour: {0} calls, {1} tokens",
      grouped(background.modelCallsLastHour),
      grouped(background.tokensLastHour),
    ),
  ];
  if (status.waiting > 0) {
    lines.push(t("Waiting until the buffer has room: {0}", entries(status.waiting)));
  }
  if (background.paused) {
    lines.push(t("The hourly limit of background work is reached; it goes on by itself."));
  }
  if (typeof status.problem === "string") {
    lines.push(`$(warning) ${escaped(status.problem)}`);
  }
  return lines.join("\n\n");
}

/** At which sizes something is done with the buffer; its compaction only where that is on. */
function thresholds({ thresholds, compaction }: BufferStatus): string {
  const sizes = [thresholds.extractionBytes, thresholds.ceilingBytes, thresholds.compactionBytes].map(kilobytes);
  return compaction.enabled
    ? t("Made into memory at {0} KB, compacted at {2} KB, full at {1} KB", ...sizes)
    : t("Made into memory at {0} KB, full at {1} KB", ...sizes);
}

function work(name: string, status: WorkStatus, now: number): string {
  if (!status.enabled) {
    return t("{0}: off", name);
  }
  const said = [status.inFlight ? t("running") : lastRun(status, now)];
  if (typeof status.lastProvider === "string") {
    said.push(t("by {0}", escaped(modelName(status.lastProvider, status.lastModel))));
  }
  if (status.breaker !== "closed") {
    said.push(status.failures === 1 ? t("pausing after 1 failure") : t("pausing after {0} failures", status.failures));
  }
  if (typeof status.lastError === "string") {
    said.push(t("failed: {0}", escaped(status.lastError)));
  }
  return `${name}: ${said.join(", ")}`;
}

function lastRun(status: WorkStatus, now: number): string {
  return typeof status.lastRunAt === "string" ? t("last run {0}", ago(status.lastRunAt, now)) : t("not run yet");
}
