// The sessions panel behind its page: what the page asks is done with the server, and what comes of it becomes its state.
import { failureOf } from "../commands/failures";
import { sentence } from "../commands/results";
import { type NextStep, ServerTrouble } from "../server/trouble";
import { asMarkdown, markdownName } from "./as-markdown";
import { Compaction } from "./compaction";
import { type Conversation, ofAgentSession, ofSession, summaryOf } from "./conversation";
import { keyOf, listedAgent, listedChat, type Target, targetOf } from "./listing";
import type { FromPage } from "./messages";
import { shownRow } from "./messages";
import { type PanelEvent, type PanelState, type Problem, reduce, START } from "./state";
import type { Surroundings } from "./surroundings";
import { keptOf } from "./work";

/** How many chats, and how many sessions of agents, are listed at first, and how many more at a time. */
const PAGE = 100;
/** The server lists no more than these of either. */
const MOST_LISTED = 1_000;

export class Panel {
  private state: PanelState = START;
  private conversation: Conversation | undefined;
  private steps: NextStep[] = [];
  private listed = PAGE;
  private refreshing: Promise<void> | undefined;
  private readonly compaction: Compaction;

  constructor(private readonly around: Surroundings) {
    this.compaction = new Compaction({
      around,
      state: () => this.state,
      to: (event, tell) => this.to(event, tell),
      readAgain: async () => {
        await this.read();
        await this.refresh();
      },
      openOther: (key) => this.show(key),
    });
  }

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
      this.to({ type: "listed", ...(await this.list()) });
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

  /** A turn of a chat ended: its conversation and the list are not what they were. */
  async turnEnded(sessionId: string): Promise<void> {
    await (this.state.open === undefined ? this.refresh() : this.sessionChanged(sessionId));
  }

  /** Shows the session with that key, which may have come into being just now. */
  async show(key: string): Promise<void> {
    await this.refresh();
    await this.open(key);
  }

  /** The server runs, perhaps anew: its drafts are gone then. */
  async restarted(): Promise<void> {
    this.compaction.draftLost();
    await this.settingsChanged();
    await this.compaction.look();
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
      case "more":
        this.listed = Math.min(this.listed + PAGE, MOST_LISTED);
        return this.refresh();
      case "open":
        return this.open(said.text);
      case "close":
        this.leave();
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
        return this.compaction.act(said);
    }
  }

  private async ready(): Promise<void> {
    this.around.post({ type: "words", words: this.around.words() });
    this.around.post({ type: "state", state: this.state });
    this.sendRows();
    if (this.state.open === undefined || this.state.items.length === 0) {
      await this.refresh();
    }
  }

  private async list(): Promise<Pick<PanelState, "items" | "more">> {
    const place = { projectUri: this.around.project(), limit: this.listed };
    const trusted = this.around.trusted();
    const kept = this.around.kept();
    const [chats, agents] = await Promise.all([
      this.around.ask("lithify/listSessions", place),
      this.around.ask("lithify/listAgentSessions", place),
    ]);
    return {
      items: [...chats.sessions.map(listedChat), ...agents.sessions.map((one) => listedAgent(one, trusted))].map(
        (one) => (kept[one.key]?.draft === undefined ? one : { ...one, drafted: true }),
      ),
      more: place.limit < MOST_LISTED && (chats.cursor != null || agents.more === true),
    };
  }

  private async open(key: string): Promise<void> {
    const item = this.state.items.find((one) => one.key === key);
    if (item !== undefined) {
      this.leave();
      this.to({ type: "opening", item, kept: this.around.kept()[key] });
      await this.read();
      await this.compaction.look();
    }
  }

  private leave(): void {
    this.compaction.leave();
    this.conversation = undefined;
    this.to({ type: "closed" });
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
        this.shown(conversation, compactable);
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

  private shown(conversation: Conversation, compactable: boolean): void {
    this.conversation = conversation;
    this.compaction.newest = conversation.undo;
    const { title, tokens, rows, folds } = conversation;
    const summarised = summaryOf(conversation) !== undefined;
    const undoable = conversation.undo !== undefined && compactable;
    this.to({ type: "read", title, tokens, messages: rows.length, compactable, undoable, summarised, folds });
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

  private async use(what: "openFile" | "resume" | "newChat" | "copySummary" | "saveMarkdown"): Promise<void> {
    const { item } = this.state.open ?? {};
    if (item === undefined || this.conversation === undefined) {
      return;
    }
    switch (what) {
      case "openFile":
        return this.around.openFile(item.key);
      case "newChat":
        return this.around.newChat(item.key, item.title);
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
    if (event.type !== "read") {
      this.keep();
    }
    if (tell) {
      this.around.post({ type: "state", state: this.state });
    }
  }

  /** Keeps what the user has made in the open conversation. */
  private keep(): void {
    const { open } = this.state;
    if (open !== undefined) {
      const { [open.item.key]: before, ...others } = this.around.kept();
      const now = keptOf(open.work);
      if (JSON.stringify(before) !== JSON.stringify(now)) {
        this.around.keep(now === undefined ? others : { ...others, [open.item.key]: now });
      }
    }
  }
}
