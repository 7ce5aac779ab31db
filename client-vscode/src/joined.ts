// Work that must not be done twice at once.

/** The same work, but a call while it goes on joins that and begins none of its own. */
export function joined<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let going: Promise<Result> | undefined;
  return () => {
    going ??= work().finally(() => {
      going = undefined;
    });
    return going;
  };
}
