// A compaction in the sessions panel: from its preview over the draft to its undoing, as the page asks for each step.
import { modelName } from "../amounts";
import { failureData } from "../commands/failures";
import { type CompactionResult, noop, saved, toldWarnings, undone } from "../commands/results";
import type { CompactConversation, Compacted, Draft, Preview } from "../protocol";
import type { CommandOptions } from "../server/requests";
import { summaryText } from "./conversation";
import { targetOf } from "./listing";
import type { FromPage } from "./messages";
import type { Chosen, Drafted, PanelEvent, PanelState, PreviewShown } from "./state";
import type { Surroundings } from "./surroundings";

/** The panel, as the compaction of its open conversation sees it. */
export interface Shell {
  around: Surroundings;
  state(): PanelState;
  to(event: PanelEvent, tell?: boolean): void;
  /** Reads the conversation and the list anew. */
  readAgain(): Promise<void>;
  /** Opens another session in place of the open one. */
  openOther(key: string): Promise<void>;
}

export class Compaction {
  /** The compaction that Undo takes back: that of this panel, else the newest that is known. */
  newest: string | undefined;
  private looks = 0;
  private writes = 0;
  private cancelWriting: () => void = () => undefined;

  constructor(private readonly shell: Shell) {}

  /** Does what the page asks of a compaction; anything else is none of its. */
  async act(said: FromPage): Promise<void> {
    switch (said.type) {
      case "compact":
        this.shell.to({ type: "asked", upTo: said.index });
        return this.look();
      case "typed":
        return this.shell.to({ type: "chose", instructions: said.text }, false);
      case "instructions":
        this.shell.to({ type: "chose", instructions: said.text }, false);
        return this.look();
      case "chooseModel":
        return this.chooseModel();
      case "showRequest":
        await this.shell.around.run("lithify.preview_compaction", this.argument());
        return;
      case "write":
        return this.write();
      case "again":
        return this.write(said.text);
      case "cancel":
        return this.cancelWriting();
      case "earlier":
        return this.shell.to({ type: "earlier" });
      case "draftText":
        return this.shell.to({ type: "edited", text: said.text }, false);
      case "accept":
        return this.accept(said.text);
      case "discard":
        return this.discard();
      case "dismiss":
        return this.shell.to({ type: "dropped" });
      case "undo":
        return this.undo();
    }
  }

  /** The conversation is left: what is being written is cancelled. */
  leave(): void {
    this.cancelWriting();
    this.writes += 1;
  }

  /** Lets a draft go; one that is gone already is let go of. */
  private async letGo(draftId: string | undefined): Promise<void> {
    try {
      if (draftId !== undefined) {
        await this.shell.around.run("lithify.discard_draft", { draftId });
      }
    } catch (error) {
      if (failureData(error)?.type !== "unknown_draft") {
        throw error;
      }
    }
  }

  /** The server was started anew, and its drafts ended with it. */
  draftLost(): void {
    if (this.draft() !== undefined) {
      this.shell.to({ type: "lost" });
    }
  }

  private get state(): PanelState {
    return this.shell.state();
  }

  /** Asks the server what the compaction that is being prepared would do. */
  async look(): Promise<void> {
    if (this.state.open?.work.kind !== "options") {
      return;
    }
    this.looks += 1;
    const mine = this.looks;
    this.shell.to({ type: "looking" });
    try {
      const result = await this.compact({ ...this.argument(), dryRun: true });
      if (mine === this.looks) {
        this.previewed(result);
      }
    } catch (error) {
      if (mine === this.looks) {
        throw error;
      }
    }
  }

  private previewed(result: CompactionResult): void {
    if (result.type === "noop") {
      this.shell.to({ type: "nothing", why: noop(result) });
    } else if (result.type === "preview") {
      this.shell.to({ type: "previewed", preview: shownPreview(result) });
    }
  }

  private async chooseModel(): Promise<void> {
    const { work } = this.state.open ?? {};
    if (work?.kind === "options" || work?.kind === "draft") {
      const model = await this.shell.around.chooseModel(work.model);
      if (model !== undefined) {
        this.shell.to({ type: "chose", model });
        await this.look();
      }
    }
  }

  /** Has the model write a draft; another one in place of a draft that is there. `text` then stands in it, where given. */
  private async write(instructions?: string, text?: string): Promise<void> {
    const { work } = this.state.open ?? {};
    if (work?.kind !== "options" && (work?.kind !== "draft" || work.applying)) {
      return; // it is being written already
    }
    const before = this.draft();
    const digest = work.kind === "draft" ? work.draft.digest : work.preview?.digest;
    this.shell.to({ type: "writing", instructions });
    this.writes += 1;
    const mine = this.writes;
    const cancellation = this.shell.around.newCancellation();
    this.cancelWriting = () => cancellation.cancel();
    const onProgress = (doing: string) => mine === this.writes && this.shell.to({ type: "progress", doing });
    try {
      const argument = { ...this.argument(), digest, draft: true };
      const result = await this.compact(argument, { token: cancellation.token, onProgress });
      await (mine === this.writes ? this.written(result, before, { digest, text }) : this.letGo(draftOf(result)));
    } catch (error) {
      if (mine === this.writes) {
        this.notWritten(error);
      } // else nobody waits for it any more
    }
  }

  private async written(
    result: CompactionResult,
    before: Drafted | undefined,
    { digest, text }: { digest?: string; text?: string },
  ): Promise<void> {
    if (result.type === "noop") {
      this.shell.to({ type: "nothing", why: noop(result) });
    } else if (result.type === "draft") {
      this.shell.to({ type: "drafted", draft: drafted(result, digest, text) });
      await this.letGo(before?.draftId);
    }
  }

  private notWritten(error: unknown): void {
    if (failureData(error)?.type !== "cancelled") {
      throw error;
    }
    this.shell.to({ type: "cancelled" });
  }

  private async accept(text: string): Promise<void> {
    const { work } = this.state.open ?? {};
    if (work?.kind !== "draft" || work.applying) {
      return;
    }
    this.shell.to({ type: "edited", text }, false);
    if (work.draft.lost) {
      await this.write(undefined, text);
    }
    const draft = this.draft();
    if (draft === undefined || draft.lost) {
      return; // cancelled, or it failed, which is told
    }
    this.shell.to({ type: "applying" });
    const result = await this.apply(draft.draftId, text);
    if (result === undefined) {
      return this.draftLost();
    }
    this.shell.to({ type: "compacted", told: saved(result), warnings: toldWarnings(result) });
    await this.shell.readAgain();
    this.newest = result.compactionId;
  }

  /** Writes a text in the place of what a draft summarises; undefined where the server has no such draft any more. */
  private async apply(draftId: string, summaryText: string): Promise<Compacted | undefined> {
    try {
      return (await this.shell.around.run("lithify.apply_compaction", { draftId, summaryText })) as Compacted;
    } catch (error) {
      if (failureData(error)?.type === "unknown_draft") {
        return undefined;
      }
      throw error;
    }
  }

  private async discard(): Promise<void> {
    const draft = this.draft();
    this.shell.to({ type: "dropped" });
    await this.letGo(draft?.draftId);
  }

  private async undo(): Promise<void> {
    const key = this.state.open?.item.key;
    if (key !== undefined) {
      const argument = { ...targetOf(key), compactionId: this.newest };
      const result = await this.shell.around.run("lithify.undo_compaction", argument);
      const now = result.restoredUri ?? key;
      await (now === key ? this.shell.readAgain() : this.shell.openOther(now));
      if (this.state.open?.item.key === now) {
        this.shell.to({ type: "undone", told: undone(result) });
      }
    }
  }

  private draft(): Drafted | undefined {
    const { work } = this.state.open ?? {};
    return work?.kind === "draft" ? work.draft : undefined;
  }

  private compact(argument: Argument, options?: CommandOptions): Promise<CompactionResult> {
    const { index, ...others } = argument;
    return index === undefined
      ? this.shell.around.run("lithify.compact_conversation", others, options)
      : this.shell.around.run("lithify.compact_up_to_here", { ...others, index } as never, options);
  }

  private argument(): Argument {
    const { item, work } = this.state.open as NonNullable<PanelState["open"]>;
    const { upTo, instructions, model } = work as Chosen;
    return {
      ...targetOf(item.key),
      ...(upTo === undefined ? {} : { index: upTo }),
      ...(instructions?.trim() ? { instructions: instructions.trim() } : {}),
      ...(model === undefined ? {} : { compactionModel: model }),
    };
  }
}

type Argument = CompactConversation & { index?: number };

function shownPreview({ range, requests, stats, request, promptSource, digest }: Preview): PreviewShown {
  return { range, requests, stats, model: request.model ?? undefined, promptSource, digest: digest ?? undefined };
}

function draftOf(result: CompactionResult): string | undefined {
  return result.type === "draft" ? result.draftId : undefined;
}

function drafted(result: Draft, digest: string | undefined, text: string | undefined): Drafted {
  const { draftId, range, stats } = result;
  const by = modelName(result.provider, result.model);
  const written = summaryText(result.summary);
  return { draftId, text: text ?? written, written, digest, range, stats, by, warnings: toldWarnings(result) };
}
