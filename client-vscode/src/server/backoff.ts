// How long to wait before a server that ended is started again, and when to give up.

const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;
const MOST_RESTARTS = 5;
const HEALTHY_MS = 120_000;

/** Counts ends in a row: the pauses double, and a run of two minutes makes good for what was before. */
export class Backoff {
  private ends = 0;

  /**
   * The milliseconds to wait after an end, or undefined to give up.
   *
   * @param ranMs how long the server had run
   */
  next(ranMs: number): number | undefined {
    this.ends = ranMs >= HEALTHY_MS ? 1 : this.ends + 1;
    return this.ends > MOST_RESTARTS ? undefined : Math.min(LONGEST_MS, FIRST_MS * 2 ** (this.ends - 1));
  }

  /** Forgets what was: the user starts the server anew. */
  reset(): void {
    this.ends = 0;
  }
}
