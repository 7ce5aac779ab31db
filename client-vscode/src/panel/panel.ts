// The sessions panel behind its page: what the page asks is done with the server, and what comes of it becomes its state.

import { modelName } from "../amounts";
import { failureOf } from "../commands/failures";
import { type CompactionResult, noop, saved, sentence, undone } from "../commands/results";
import type { CompactConversation, Compacted, Draft, Preview } from "../protocol";
import type { Ask, CommandOptions, Run } from "../server/requests";
import { type NextStep, ServerTrouble } from "../server/trouble";
import { t } from "../text";
import { asMarkdown, markdownName } from "./as-markdown";
import { type Conversation, ofAgentSession, ofSession, summaryOf, summaryText } from "./conversation";
import { keyOf, listedAgent, listedChat, type Target, targetOf } from "./listing";
import type { FromPage, ToPage } from "./messages";
import { shownRow } from "./messages";
import { type Chosen, type Drafted, type PanelEvent, type PanelState, type Problem, reduce, START } from "./state";

const MOST_LISTED = 200;

/** What the panel needs of the server and of VS Code. */
export interface Surroundings {
  ask: Ask;
  run: Run;
  /** What one run is cancelled with. */
  newCancellation(): { token: NonNullable<CommandOptions["token"]>; cancel(): void };
  project(): string | undefined;
  compactionEnabled(): boolean;
  trusted(): boolean;
  words(): Record<string, string>;
  post(message: ToPage): void;
  /** Asks for a model; undefined where the user gave up, null for the usual one. */
  chooseModel(current: string | undefined): Promise<string | null | undefined>;
  copy(text: string): Promise<void>;
  save(name: string, text: string): Promise<void>;
  openFile(uri: string): Promise<void>;
  runInTerminal(name: string, command: string): void;
  newChat(key: string): Promise<void>;
  doStep(step: NextStep): Promise<void>;
}

export class Panel {
  private state: PanelState = START;
  private conversation: Conversation | undefined;
  private steps: NextStep[] = [];
  private compactionId: string | undefined;
  private digest: string | undefined;
  private looks = 0;
  private refreshing: Promise<void> | undefined;
  private cancelWriting: () => void = () => undefined;

  constructor(private readonly around: Surroundings) {}

  /** Does what the page asks. Failures become part of the state. */
  async hear(said: FromPage): Promise<void> {
    try {
      await this.act(said);
    } catch (error) {
      const problem = this.problem(error);
      this.to({ type: "failed", problem });
    }
  }

  /** Reads the list anew; one reading at a time. */
  refresh(): Promise<void> {
    this.refreshing ??= this.readList().finally(() => {
      this.refreshing = undefined;
    });
    return this.refreshing;
  }

  private async readList(): Promise<void> {
    this.to({ type: "listing" });
    try {
      this.to({ type: "listed", items: await this.list() });
    } catch (error) {
      this.to({ type: "listFailed", problem: this.problem(error) });
    }
  }

  /** A live session changed on the server, by whomever. */
  async sessionChanged(sessionId: string): Promise<void> {
    if (this.state.open?.item.key === keyOf({ sessionId }) && this.state.open.work.kind !== "draft") {
      await this.read();
    }
  }

  /** The server runs, perhaps anew: its drafts are gone then. */
  async restarted(): Promise<void> {
    if (this.draft() !== undefined) {
      const text = t("The server was started anew, and this draft ended with it: have it written anew.");
      this.to({ type: "failed", problem: { text, steps: [] } });
    }
    await this.settingsChanged();
  }

  /** Compaction was switched on or off, or the workspace is trusted now. */
  async settingsChanged(): Promise<void> {
    await this.refresh();
    if (this.state.open !== undefined) {
      await this.read();
    }
  }

  /** The text of a message of the open conversation. */
  textAt(index: number): string | undefined {
    return this.conversation?.rows[index]?.text;
  }

  private async act(said: FromPage): Promise<void> {
    switch (said.type) {
      case "ready":
        return this.ready();
      case "refresh":
        return this.refresh();
      case "open":
        return this.open(said.text);
      case "close":
        await this.leave();
        return this.refresh();
      case "reload":
        return this.read();
      case "step":
        return this.doStep(said.index);
      case "wholeText":
        return this.sendText(said.index);
      case "openFile":
      case "resume":
      case "newChat":
      case "copySummary":
      case "saveMarkdown":
        return this.use(said.type);
      default:
        return this.work(said);
    }
  }

  /** The steps of a compaction. */
  private async work(said: Exclude<FromPage, { type: "open" | "wholeText" | "step" }>): Promise<void> {
    switch (said.type) {
      case "compact":
        this.digest = undefined;
        this.to({ type: "asked", upTo: said.index });
        return this.look();
      case "instructions":
        this.to({ type: "chose", instructions: said.text }, false);
        return this.look();
      case "chooseModel":
        return this.chooseModel();
      case "showRequest":
        await this.around.run("lithify.preview_compaction", this.argument());
        return;
      case "write":
        return this.write();
      case "again":
        return this.write(said.text);
      case "cancel":
        return this.cancelWriting();
      case "draftText":
        return this.to({ type: "edited", text: said.text }, false);
      case "accept":
        return this.accept(said.text);
      case "discard":
        return this.discard();
      case "dismiss":
        return this.to({ type: "dropped" });
      case "undo":
        return this.undo();
    }
  }

  private async ready(): Promise<void> {
    this.around.post({ type: "words", words: this.around.words() });
    this.around.post({ type: "state", state: this.state });
    this.sendRows();
    if (this.state.items.length === 0 && !this.state.listing) {
      await this.refresh();
    }
  }

  private async list(): Promise<PanelState["items"]> {
    const place = { projectUri: this.around.project(), limit: MOST_LISTED };
    const trusted = this.around.trusted();
    const [chats, agents] = await Promise.all([
      this.around.ask("lithify/listSessions", place),
      this.around.ask("lithify/listAgentSessions", place),
    ]);
    return [...chats.sessions.map(listedChat), ...agents.sessions.map((one) => listedAgent(one, trusted))];
  }

  private async open(key: string): Promise<void> {
    const item = this.state.items.find((one) => one.key === key);
    if (item !== undefined) {
      await this.leave();
      this.to({ type: "opening", item });
      await this.read();
    }
  }

  private async leave(): Promise<void> {
    this.cancelWriting();
    const { work } = this.state.open ?? {};
    this.conversation = undefined;
    this.to({ type: "closed" });
    if (work?.kind === "draft") {
      await this.around.run("lithify.discard_draft", { draftId: work.draft.draftId });
    }
  }

  /** Reads the open conversation anew. */
  private async read(): Promise<void> {
    const key = this.state.open?.item.key;
    if (key === undefined) {
      return;
    }
    this.to({ type: "reading" });
    try {
      const [conversation, compactable] = await this.fetch(targetOf(key));
      if (this.state.open?.item.key === key) {
        this.show(conversation, compactable);
      }
    } catch (error) {
      if (this.state.open?.item.key === key) {
        this.to({ type: "readFailed", problem: this.problem(error) });
      }
    }
  }

  private async fetch(target: Target): Promise<[Conversation, boolean]> {
    const enabled = this.around.compactionEnabled();
    if ("uri" in target) {
      const found = await this.around.ask("lithify/getAgentSession", target);
      return [ofAgentSession(found), enabled && found.writable && this.around.trusted()];
    }
    const session = await this.around.ask("lithify/getSession", target);
    const { actions } = await this.around.ask("lithify/sessionActions", { agent: session.agent });
    return [ofSession(session), enabled && actions.length > 0];
  }

  private show(conversation: Conversation, compactable: boolean): void {
    this.conversation = conversation;
    this.compactionId = conversation.undo;
    const { title, tokens, rows } = conversation;
    const summarised = summaryOf(conversation) !== undefined;
    const undoable = conversation.undo !== undefined && compactable;
    this.to({ type: "read", title, tokens, messages: rows.length, compactable, undoable, summarised });
    this.sendRows();
  }

  private sendRows(): void {
    const { open } = this.state;
    if (open !== undefined && this.conversation !== undefined) {
      const rows = this.conversation.rows.map(shownRow);
      this.around.post({ type: "rows", key: open.item.key, version: open.version, rows });
    }
  }

  private sendText(index: number): void {
    const { open } = this.state;
    const text = this.textAt(index);
    if (open !== undefined && text !== undefined) {
      this.around.post({ type: "text", key: open.item.key, version: open.version, index, text });
    }
  }

  // --- the compaction ---

  /** Asks the server what the compaction that is being prepared would do. */
  private async look(): Promise<void> {
    if (this.state.open?.work.kind !== "options") {
      return;
    }
    this.looks += 1;
    const mine = this.looks;
    this.to({ type: "looking" });
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
      this.to({ type: "nothing", why: noop(result) });
    } else if (result.type === "preview") {
      this.digest = result.digest ?? undefined;
      this.to({ type: "previewed", preview: shownPreview(result) });
    }
  }

  private async chooseModel(): Promise<void> {
    const { work } = this.state.open ?? {};
    if (work?.kind === "options" || work?.kind === "draft") {
      const model = await this.around.chooseModel(work.model);
      if (model !== undefined) {
        this.to({ type: "chose", model });
        await this.look();
      }
    }
  }

  /** Has the model write a draft; another one in place of a draft that is there. */
  private async write(instructions?: string): Promise<void> {
    const before = this.draft();
    this.to({ type: "writing", instructions });
    if (this.state.open?.work.kind !== "writing") {
      return;
    }
    const cancellation = this.around.newCancellation();
    this.cancelWriting = () => cancellation.cancel();
    const onProgress = (doing: string) => this.to({ type: "progress", doing });
    try {
      const argument = { ...this.argument(), digest: this.digest, draft: true };
      await this.written(await this.compact(argument, { token: cancellation.token, onProgress }), before);
    } catch (error) {
      this.notWritten(error);
    } finally {
      this.cancelWriting = () => undefined;
    }
  }

  private async written(result: CompactionResult, before: Drafted | undefined): Promise<void> {
    if (result.type === "noop") {
      return this.to({ type: "nothing", why: noop(result) });
    }
    if (result.type !== "draft") {
      return;
    }
    if (this.state.open?.work.kind !== "writing") {
      await this.around.run("lithify.discard_draft", { draftId: result.draftId }); // the user left meanwhile
      return;
    }
    this.to({ type: "drafted", draft: drafted(result) });
    if (before !== undefined) {
      await this.around.run("lithify.discard_draft", { draftId: before.draftId });
    }
  }

  private notWritten(error: unknown): void {
    const failure = failureOf(error);
    if (failure.severity === "quiet") {
      this.to({ type: "cancelled" });
    } else {
      throw error;
    }
  }

  private async accept(text: string): Promise<void> {
    const draft = this.draft();
    if (draft === undefined) {
      return;
    }
    this.to({ type: "edited", text }, false);
    this.to({ type: "applying" });
    const argument = { draftId: draft.draftId, summaryText: text };
    const result = (await this.around.run("lithify.apply_compaction", argument)) as Compacted;
    this.to({ type: "compacted", told: saved(result), warnings: warningsOf(result) });
    await this.read();
    this.compactionId = result.compactionId;
    await this.refresh();
  }

  private async discard(): Promise<void> {
    const draft = this.draft();
    this.to({ type: "dropped" });
    if (draft !== undefined) {
      await this.around.run("lithify.discard_draft", { draftId: draft.draftId });
    }
  }

  private async undo(): Promise<void> {
    const key = this.state.open?.item.key;
    if (key !== undefined) {
      const argument = { ...targetOf(key), compactionId: this.compactionId };
      const result = await this.around.run("lithify.undo_compaction", argument);
      this.to({ type: "undone", told: undone(result) });
      await this.read();
      await this.refresh();
    }
  }

  private draft(): Drafted | undefined {
    const { work } = this.state.open ?? {};
    return work?.kind === "draft" ? work.draft : undefined;
  }

  private compact(argument: Argument, options?: CommandOptions): Promise<CompactionResult> {
    const { index, ...others } = argument;
    return index === undefined
      ? this.around.run("lithify.compact_conversation", others, options)
      : this.around.run("lithify.compact_up_to_here", { ...others, index } as never, options);
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

  // --- what can be done with a conversation ---

  private async use(what: "openFile" | "resume" | "newChat" | "copySummary" | "saveMarkdown"): Promise<void> {
    const { item } = this.state.open ?? {};
    if (item === undefined || this.conversation === undefined) {
      return;
    }
    switch (what) {
      case "openFile":
        return this.around.openFile(item.key);
      case "newChat":
        return this.around.newChat(item.key);
      case "copySummary":
        return this.around.copy(summaryOf(this.conversation) ?? "");
      case "saveMarkdown":
        return this.around.save(
          markdownName(item.title),
          asMarkdown({ ...this.conversation, title: item.title }, item.agent),
        );
      case "resume":
        if (item.resumeCommand !== undefined) {
          this.around.runInTerminal(item.agent ?? "Lithify", item.resumeCommand);
        }
    }
  }

  private async doStep(index: number): Promise<void> {
    const step = this.steps[index];
    if (step !== undefined) {
      await this.around.doStep(step);
    }
  }

  private problem(error: unknown): Problem {
    const { text, steps } =
      error instanceof ServerTrouble ? { text: error.message, steps: [...error.steps] } : failureOf(error);
    this.steps = steps;
    return { text: sentence(text), steps: steps.map((one) => one.title) };
  }

  /** The next state; the page is told, unless it knows already. */
  private to(event: PanelEvent, tell = true): void {
    this.state = reduce(this.state, event);
    if (tell) {
      this.around.post({ type: "state", state: this.state });
    }
  }
}

type Argument = CompactConversation & { index?: number };

function shownPreview({ range, requests, stats, request, promptSource }: Preview): NonNullable<ShownPreview> {
  return { range, requests, stats, model: request.model ?? undefined, promptSource };
}

type ShownPreview = Extract<PanelEvent, { type: "previewed" }>["preview"];

function drafted(result: Draft): Drafted {
  const { draftId, range, stats } = result;
  const by = modelName(result.provider, result.model);
  return { draftId, text: summaryText(result.summary), range, stats, by, warnings: warningsOf(result) };
}

function warningsOf({ warnings }: Pick<Draft, "warnings">): string[] {
  return warnings.map((one) => sentence(one.message));
}
