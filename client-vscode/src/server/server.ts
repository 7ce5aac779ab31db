// The server as the rest of the extension knows it: started when it is needed, started again when it ends.
import type { ChildProcess } from "node:child_process";
import { setTimeout } from "node:timers/promises";
import * as vscode from "vscode";
import type { LanguageClient, Middleware } from "vscode-languageclient/node";
import { failureData } from "../commands/failures";
import { hasModel } from "../models/complete";
import { userSettings } from "../read-settings";
import type { Flat } from "../settings";
import type { ServerState } from "../status/server-gauge";
import { t } from "../text";
import { Backoff } from "./backoff";
import { answers, makeClient, safeFolder, speaksOurProtocol, tellSettings } from "./client";
import { tryPythons } from "./find-python";
import { endProcess, startProcess } from "./process";
import { choose, type Origin } from "./python";
import { begin, type Run } from "./run";
import { crashTrouble, pythonTrouble, ServerTrouble, settingsTrouble, startTrouble, versionTrouble } from "./trouble";

const LAST_LINES = 3;
const END_MS = 2_000;

/** Has a client handle what the server sends, before it starts. */
export type Prepare = (client: LanguageClient) => void;

/** A server that runs. */
interface Live {
  client: LanguageClient;
  process: ChildProcess;
}

export class Server implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<ServerState>();
  private readonly backoff = new Backoff();
  private readonly prepared: Prepare[] = [];
  private run: Run<LanguageClient> | undefined;
  private live: Live | undefined;
  private startedAt = 0;
  private lastLines: string[] = [];

  /** Fires with every new state. */
  readonly onDidChangeState = this.changed.event;
  state: ServerState = "resting";
  /** Why the server does not run, while its state is `failed`. */
  trouble: ServerTrouble | undefined;
  /** Whether the server was told that VS Code has a language model. */
  saidModel = false;
  /** The user's own settings that the server was started with. */
  startedWith: Flat = {};
  /** The Python that runs, or last ran, the server, and where it was found. */
  python: string | undefined;
  origin: Origin | undefined;

  constructor(
    private readonly context: vscode.ExtensionContext,
    readonly log: vscode.LogOutputChannel,
    private readonly middleware: Middleware,
  ) {}

  /** Has every client handle something; call it before the first start. */
  prepare(prepare: Prepare): void {
    this.prepared.push(prepare);
  }

  /**
   * The running server's client, started if need be. Raises ServerTrouble. Who waits for a start that gives way to
   * another gets what comes of that one.
   */
  async client(): Promise<LanguageClient> {
    for (;;) {
      this.run ??= begin((stopping) => this.launch("starting", stopping));
      const run = this.run;
      try {
        return await run.result;
      } catch (error) {
        if (this.run === run || this.run === undefined) {
          throw error;
        }
      }
    }
  }

  /** The client, where the server runs already. */
  get current(): LanguageClient | undefined {
    return this.live?.client;
  }

  /** Starts the server anew, with the settings and the Python as they are now. Raises ServerTrouble. */
  restart(): Promise<LanguageClient> {
    const ended = this.end();
    this.backoff.reset();
    this.run = begin(async (stopping) => {
      await ended;
      return this.launch("starting", stopping);
    });
    this.to("starting");
    return this.client();
  }

  /** Ends the server; the next one who needs it starts it again. */
  async stop(): Promise<void> {
    await this.end();
    if (this.run === undefined) {
      this.to("resting");
    }
  }

  dispose(): void {
    this.changed.dispose();
  }

  /** Does work that nobody waits for: where it fails, the log says so. */
  inBackground(work: Thenable<unknown>): void {
    work.then(undefined, (error) => this.log.warn(words(error)));
  }

  /** Ends the process in order where it runs, at once where it is starting. */
  private async end(): Promise<void> {
    const { run, live } = this;
    this.run = undefined;
    this.live = undefined;
    run?.stop();
    if (live !== undefined) {
      await live.client.dispose(END_MS).catch((error) => this.log.warn(words(error)));
      await endProcess(live.process, END_MS);
    }
  }

  private async launch(state: ServerState, stopping: AbortSignal): Promise<LanguageClient> {
    stopping.throwIfAborted();
    this.to(state);
    try {
      return await this.start(stopping);
    } catch (error) {
      stopping.throwIfAborted(); // what takes its place says how that goes
      throw this.failed(error instanceof ServerTrouble ? error : startTrouble(this.python ?? "?", words(error)));
    }
  }

  private async start(stopping: AbortSignal): Promise<LanguageClient> {
    const folder = await safeFolder(this.context);
    const choice = choose(await tryPythons(this.context, folder, stopping));
    stopping.throwIfAborted();
    if (choice.kind !== "ready") {
      this.log.warn(`no Python for the server: ${JSON.stringify(choice)}`);
      throw pythonTrouble(choice);
    }
    this.log.info(`starting Lithify ${choice.lithify} with ${choice.python}`);
    this.python = choice.python;
    this.origin = choice.origin;
    this.lastLines = [];
    this.saidModel = await hasModel();
    const process = await startProcess(choice.python, ["-P", "-m", "lithify", "serve"], folder);
    try {
      const client = await this.connect(process, stopping);
      if (!speaksOurProtocol(client)) {
        throw versionTrouble(choice.python, choice.lithify);
      }
      await this.ready({ client, process });
      return client;
    } catch (error) {
      await endProcess(process, 0);
      throw error;
    }
  }

  /** A client that has the server's first answer. The process is killed where that is stopped, or takes too long. */
  private async connect(process: ChildProcess, stopping: AbortSignal): Promise<LanguageClient> {
    const unreadable = new AbortController();
    this.startedWith = userSettings();
    const client = await makeClient({
      process,
      settings: this.startedWith,
      log: this.log,
      middleware: this.middleware,
      hasModel: this.saidModel,
      onClosed: (one) => this.ended(one),
      onUnreadable: () => unreadable.abort(new Error(t("it printed something before its first answer"))),
      onErrorOutput: (line) => this.hear(line),
    });
    for (const prepare of this.prepared) {
      prepare(client);
    }
    try {
      await answers(client, process, [stopping, unreadable.signal]);
    } catch (error) {
      throw failureData(error)?.type === "invalid_settings"
        ? settingsTrouble(words(error))
        : startTrouble(this.python ?? "?", [words(error), ...this.lastLines].join(". "));
    }
    stopping.throwIfAborted();
    return client;
  }

  private async ready(live: Live): Promise<void> {
    this.live = live;
    this.startedAt = Date.now();
    // What changed while it started, and what the workspace sets.
    await tellSettings(live.client).catch((error) => this.log.warn(words(error)));
    if (this.live === live) {
      this.to("running");
    }
  }

  /** The connection closed: of a server that ran, another is started after a pause; of one that never did, nothing is. */
  private ended(client: LanguageClient): void {
    if (client !== this.live?.client) {
      return;
    }
    this.inBackground(endProcess(this.live.process, END_MS));
    this.live = undefined;
    const pauseMs = this.backoff.next(Date.now() - this.startedAt);
    if (pauseMs === undefined) {
      const trouble = crashTrouble(this.python ?? "?", this.lastLines.join(" "));
      this.run = begin(() => Promise.reject(trouble)); // whoever asks next is told
      this.failed(trouble);
      return;
    }
    this.log.warn(`the server ended; it is started again in ${pauseMs} ms. ${this.lastLines.join(" ")}`);
    this.run = begin((stopping) => this.again(pauseMs, stopping));
    this.to("restarting");
  }

  /** Starts the server after a pause, and after longer ones where it does not start. */
  private async again(firstPauseMs: number, stopping: AbortSignal): Promise<LanguageClient> {
    for (let pauseMs = firstPauseMs; ; ) {
      await setTimeout(pauseMs, undefined, { signal: stopping });
      try {
        return await this.launch("restarting", stopping);
      } catch (error) {
        const next = stopping.aborted ? undefined : this.backoff.next(0);
        if (next === undefined) {
          throw error;
        }
        pauseMs = next;
      }
    }
  }

  private hear(line: string): void {
    this.log.debug(line);
    this.lastLines = [...this.lastLines, line].slice(-LAST_LINES);
  }

  private failed(trouble: ServerTrouble): ServerTrouble {
    this.log.error(trouble.message);
    this.trouble = trouble;
    this.to("failed");
    return trouble;
  }

  private to(state: ServerState): void {
    this.state = state;
    this.trouble = state === "failed" ? this.trouble : undefined;
    this.changed.fire(state);
  }
}

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
