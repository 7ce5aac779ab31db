// What the sessions panel needs of the server and of VS Code.
import type { Ask, CommandOptions, Run } from "../server/requests";
import type { NextStep } from "../server/trouble";
import type { ToPage } from "./messages";
import type { Kept } from "./state";

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
  /** What the user left in conversations, by their keys; it outlives the window. */
  kept(): Record<string, Kept>;
  keep(all: Record<string, Kept>): void;
  /** Asks for a model; undefined where the user gave up, null for the usual one. */
  chooseModel(current: string | undefined): Promise<string | null | undefined>;
  copy(text: string): Promise<void>;
  save(name: string, text: string): Promise<void>;
  openFile(uri: string): Promise<void>;
  runInTerminal(name: string, command: string): void;
  newChat(key: string, title: string): Promise<void>;
  doStep(step: NextStep): Promise<void>;
}
