// How each event changes where a compaction in the sessions panel stands.
import type { Chosen, Drafted, Kept, OpenEvent, Opened, Problem, Work } from "./state";

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

/** What is kept of a compaction when its conversation is left; undefined where the user has made nothing yet. */
export function keptOf(work: Work): Kept | undefined {
  const chosen = work.kind === "none" || work.kind === "done" ? undefined : choice(work);
  const draft = work.kind === "draft" ? work.draft : work.kind === "writing" ? work.before : undefined;
  const isMade = draft !== undefined || chosen?.instructions.trim();
  return chosen !== undefined && isMade ? { chosen, ...(draft && { draft }) } : undefined;
}

/** Where a compaction stands when its conversation is opened again. */
export function resumed(kept: Kept | undefined): Work {
  if (kept === undefined) {
    return { kind: "none" };
  }
  const { chosen, draft } = kept;
  return draft === undefined
    ? { kind: "options", looking: true, ...chosen }
    : { kind: "draft", draft, applying: false, ...chosen };
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
      return { kind: "draft", draft: withEarlier(event.draft, work.before), applying: false, ...choice(work) };
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
    case "lost":
      return { ...work, applying: false, problem: undefined, draft: { ...work.draft, lost: true } };
    case "earlier":
      return { ...work, draft: swapped(work.draft) };
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

/** A new draft, with the text that the user had made of the one before where that is another. */
function withEarlier(draft: Drafted, before: Drafted | undefined): Drafted {
  const own = before === undefined || before.text === before.written ? before?.earlier : before.text;
  return own === undefined || own === draft.text ? draft : { ...draft, earlier: own };
}

/** The user's earlier text in place of the one that stands there, which becomes the earlier one. */
function swapped(draft: Drafted): Drafted {
  return draft.earlier === undefined ? draft : { ...draft, text: draft.earlier, earlier: draft.text };
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
