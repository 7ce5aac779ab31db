// Work that can be stopped at any time, wherever it stands.
import { t } from "../text";
import { ServerTrouble } from "./trouble";

/** Work under way. Once it is stopped, its result is a ServerTrouble, at once. */
export interface Run<Result> {
  readonly result: Promise<Result>;
  stop(): void;
}

/** Begins work; it gets the signal that says when to stop. Nobody need wait for its result. */
export function begin<Result>(work: (stopping: AbortSignal) => Promise<Result>): Run<Result> {
  const stopping = new AbortController();
  const result = new Promise<Result>((resolve, reject) => {
    stopping.signal.addEventListener("abort", () => reject(stopping.signal.reason));
    work(stopping.signal).then(resolve, reject);
  });
  result.catch(() => undefined);
  return {
    result,
    stop: () => stopping.abort(new ServerTrouble(t("Lithify's server was stopped before it had started."), [])),
  };
}
