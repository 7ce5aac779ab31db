// How each event changes where a compaction in the sessions panel stands.
import type { Chosen, OpenEvent, Opened, Problem, Work } from "./state";

type WorkEvent = Exclude<OpenEvent, { type: "reading" | "read" | "readFailed" | "undone" }>;

/** Where a compaction stands after an event. One that does not fit changes nothing. */
export function ofWork({ work, compactable }: Opened, event: WorkEvent): Work {
  if (event.type === "asked") {
    const before =
      work.kind === "options" ? { instructions: work.instructions, model: work.model } : { instructions: "" };
    const isFree = work.kind === "none" || work.kind === "options" || work.kind === "done";
    return compactable && isFree ? { kind: "options", looking: true, ...before, upTo: event.upTo } : work;
  }
  switch (work.kind) {
    case "options":
      return ofOptions(work, event);
    case "writing":
      return ofWriting(work, event);
    case "draft":
      return ofDraft(work, event);
    case "done":
      return event.type === "dropped"
        ? { kind: "none" }
        : event.type === "failed"
          ? { ...work, problem: event.problem }
          : work;
    default:
      return event.type === "failed" ? { kind: "done", told: "", warnings: [], problem: event.problem } : work;
  }
}

function ofOptions(work: Work & { kind: "options" }, event: WorkEvent): Work {
  switch (event.type) {
    case "chose":
      return { ...work, ...chosen(work, event) };
    case "looking":
      return { ...work, looking: true, problem: undefined };
    case "previewed":
      return { ...work, looking: false, preview: event.preview, noop: undefined, problem: undefined };
    case "nothing":
      return { ...work, looking: false, preview: undefined, noop: event.why };
    case "failed":
      return { ...work, looking: false, problem: event.problem };
    case "writing":
      return { kind: "writing", doing: "", preview: work.preview, ...choice(work) };
    case "cancelled":
    case "dropped":
      return { kind: "none" };
    default:
      return work;
  }
}

function ofWriting(work: Work & { kind: "writing" }, event: WorkEvent): Work {
  const back = (problem?: Problem): Work =>
    work.before === undefined
      ? { kind: "options", looking: false, preview: work.preview, problem, ...choice(work) }
      : { kind: "draft", draft: work.before, applying: false, problem, ...choice(work) };
  switch (event.type) {
    case "progress":
      return { ...work, doing: event.doing };
    case "drafted":
      return { kind: "draft", draft: event.draft, applying: false, ...choice(work) };
    case "nothing":
      return back({ text: event.why, steps: [] });
    case "failed":
      return back(event.problem);
    case "cancelled":
      return back();
    default:
      return work;
  }
}

function ofDraft(work: Work & { kind: "draft" }, event: WorkEvent): Work {
  switch (event.type) {
    case "chose":
      return { ...work, ...chosen(work, event) };
    case "edited":
      return { ...work, draft: { ...work.draft, text: event.text } };
    case "writing":
      return { kind: "writing", doing: "", before: work.draft, ...choice(work), ...chosen(work, event) };
    case "applying":
      return { ...work, applying: true, problem: undefined };
    case "compacted":
      return { kind: "done", told: event.told, warnings: event.warnings };
    case "failed":
      return { ...work, applying: false, problem: event.problem };
    case "dropped":
      return { kind: "none" };
    default:
      return work;
  }
}

function choice({ upTo, instructions, model }: Chosen): Chosen {
  return { upTo, instructions, model };
}

function chosen(
  before: Chosen,
  { instructions, model }: { instructions?: string; model?: string | null },
): Partial<Chosen> {
  return {
    instructions: instructions ?? before.instructions,
    model: model === undefined ? before.model : (model ?? undefined),
  };
}
