// Values of the wire that several tests begin with.
import type { BufferStatus, Compacted, MemoryRecord } from "../src/protocol";

export function bufferStatus(changes: Partial<BufferStatus> = {}): BufferStatus {
  const work = { enabled: true, inFlight: false, breaker: "closed", failures: 0 } as const;
  return {
    projectId: "8fb3f3a2f0d44dd1a5f1f7a3b5d1c0e2",
    projectUri: "file:///home/ana/shop",
    sizeBytes: 146_432,
    entries: 37,
    thresholds: { extractionBytes: 262_144, compactionBytes: 1_048_576, ceilingBytes: 4_194_304 },
    state: "idle",
    extraction: work,
    compaction: { ...work, enabled: false },
    waiting: 0,
    records: 4,
    recording: true,
    background: { modelCallsLastHour: 3, tokensLastHour: 12_000, paused: false },
    ...changes,
  };
}

export function compacted(changes: Partial<Compacted> = {}): Compacted {
  return {
    type: "compacted",
    compactionId: "01M8MKT0Q2W5E8R1T4Y7U0P3AS",
    sessionId: "chat-42",
    revision: 2,
    range: { start: 0, end: 12 },
    requestedRange: { start: 0, end: 12 },
    summary: {
      role: "user",
      content: "<system>Previous context has been compacted. Here is the compaction output:</system>\nWork on cart.py",
    },
    stats: { messagesBefore: 14, messagesAfter: 3, tokensBefore: 14_200, tokensAfter: 3_100, durationMs: 900 },
    method: "model",
    provider: "editor",
    promptSource: "lithify",
    warnings: [],
    ...changes,
  };
}

export function record(changes: Partial<MemoryRecord> = {}): MemoryRecord {
  return {
    recordId: "01JZ0C9XG5P7R2D4W6Z8B1F3HJ",
    projectId: "8fb3f3a2f0d44dd1a5f1f7a3b5d1c0e2",
    type: "decision",
    title: "Totals are rounded once",
    summary: "The tax is rounded on the sum, not on each line.",
    facts: ["cart.py rounds the sum"],
    concepts: [],
    files: ["shop/cart.py"],
    sourceEventIds: ["01JZ0C4T7Q9W3N5XK2V8M6R1AB"],
    createdAt: "2026-07-01T07:30:12.250Z",
    method: "model",
    ...changes,
  };
}

/** An error as the server answers it. */
export function serverError(type: string, retryable = false, message = "it did not work; try so"): Error {
  return Object.assign(new Error(message), { code: -32803, data: { type, retryable } });
}
