// The server as the rest of the extension knows it: started when it is needed, started again when it ends.
import * as vscode from "vscode";
import type { LanguageClient, Middleware } from "vscode-languageclient/node";
import { failureData } from "../commands/failures";
import { hasModel } from "../models/complete";
import { workspaceSets } from "../read-settings";
import type { ServerState } from "../status/server-gauge";
import { t } from "../text";
import { Backoff } from "./backoff";
import { makeClient, safeFolder, speaksOurProtocol, tellSettings } from "./client";
import { tryPythons } from "./find-python";
import { choose, type Origin } from "./python";
import { crashTrouble, pythonTrouble, ServerTrouble, settingsTrouble, startTrouble, versionTrouble } from "./trouble";

const LAST_LINES = 3;

/** Has a client handle what the server sends, before it starts. */
export type Prepare = (client: LanguageClient) => void;

export class Server implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<ServerState>();
  private readonly backoff = new Backoff();
  private readonly prepared: Prepare[] = [];
  private running: Promise<LanguageClient> | undefined;
  private live: LanguageClient | undefined;
  private startedAt = 0;
  private lastLines: string[] = [];
  private stops = 0;
  private cancelPause: () => void = () => undefined;

  /** Fires with every new state. */
  readonly onDidChangeState = this.changed.event;
  state: ServerState = "resting";
  /** Why the server does not run, while its state is `failed`. */
  trouble: ServerTrouble | undefined;
  /** Whether the server was told that VS Code has a language model. */
  saidModel = false;
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

  /** The running server's client, started if need be. Raises ServerTrouble. */
  client(): Promise<LanguageClient> {
    this.running ??= this.launch("starting");
    return this.running;
  }

  /** The client, where the server runs already. */
  get current(): LanguageClient | undefined {
    return this.live;
  }

  /** Starts the server anew, with the settings and the Python as they are now. Raises ServerTrouble. */
  async restart(): Promise<LanguageClient> {
    await this.stop();
    this.backoff.reset();
    return this.client();
  }

  /** Ends the server; the next one who needs it starts it again. */
  async stop(): Promise<void> {
    this.stops += 1;
    this.cancelPause();
    const ending = this.running;
    this.running = undefined;
    const client = await ending?.catch(() => undefined); // one that is starting is ended when it has started
    if (this.live === client) {
      this.live = undefined;
    }
    await client?.dispose();
    if (this.running === undefined) {
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

  private async launch(state: ServerState): Promise<LanguageClient> {
    this.to(state);
    try {
      return await this.start();
    } catch (error) {
      throw this.failed(error instanceof ServerTrouble ? error : startTrouble(this.python ?? "?", words(error)));
    }
  }

  private async start(): Promise<LanguageClient> {
    const folder = await safeFolder(this.context);
    const choice = choose(await tryPythons(this.context, folder));
    if (choice.kind !== "ready") {
      this.log.warn(`no Python for the server: ${JSON.stringify(choice)}`);
      throw pythonTrouble(choice);
    }
    this.log.info(`starting Lithify ${choice.lithify} with ${choice.python}`);
    this.python = choice.python;
    this.origin = choice.origin;
    this.lastLines = [];
    this.saidModel = await hasModel();
    const client = await makeClient({
      python: choice.python,
      folder,
      log: this.log,
      middleware: this.middleware,
      hasModel: this.saidModel,
      onClosed: (one) => this.ended(one),
      onErrorOutput: (line) => this.hear(line),
    });
    for (const prepare of this.prepared) {
      prepare(client);
    }
    await this.started(client);
    if (!speaksOurProtocol(client)) {
      await client.dispose();
      throw versionTrouble(choice.python, choice.lithify);
    }
    await this.ready(client);
    return client;
  }

  private async started(client: LanguageClient): Promise<void> {
    try {
      await client.start();
    } catch (error) {
      await client.dispose().catch(() => undefined); // it has nothing to end then
      throw failureData(error)?.type === "invalid_settings"
        ? settingsTrouble(words(error))
        : startTrouble(this.python ?? "?", [words(error), ...this.lastLines].join(" "));
    }
  }

  private async ready(client: LanguageClient): Promise<void> {
    this.live = client;
    this.startedAt = Date.now();
    if (workspaceSets()) {
      await tellSettings(client);
    }
    this.to("running");
  }

  /** The connection closed: of a server that ran, another is started after a pause; of one that never did, nothing is. */
  private ended(client: LanguageClient): void {
    if (client !== this.live) {
      return;
    }
    this.live = undefined;
    const pauseMs = this.backoff.next(Date.now() - this.startedAt);
    if (pauseMs === undefined) {
      const trouble = this.failed(crashTrouble(this.python ?? "?", this.lastLines.join(" ")));
      this.running = Promise.reject(trouble);
      this.running.catch(() => undefined); // whoever asks next is told
      return;
    }
    this.log.warn(`the server ended; it is started again in ${pauseMs} ms. ${this.lastLines.join(" ")}`);
    this.to("restarting");
    this.running = this.again(pauseMs);
    this.running.catch(() => undefined); // the state tells it
  }

  /** Starts the server after a pause, and after longer ones where it does not start. */
  private async again(firstPauseMs: number): Promise<LanguageClient> {
    const stops = this.stops;
    for (let pauseMs = firstPauseMs; ; ) {
      await this.pause(pauseMs);
      try {
        return await this.launch("restarting");
      } catch (error) {
        const next = stops === this.stops ? this.backoff.next(0) : undefined;
        if (next === undefined) {
          throw error;
        }
        pauseMs = next;
      }
    }
  }

  private pause(pauseMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, pauseMs);
      this.cancelPause = () => {
        clearTimeout(timer);
        reject(new ServerTrouble(t("Lithify's server was stopped before it was started again."), []));
      };
    });
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
