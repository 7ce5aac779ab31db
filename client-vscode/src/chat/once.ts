// Keeps the second click of a double click from doing again what the first one does.

const SAME_CLICK_MS = 500;

/** Runs an act unless one with that key is running, or ended less than half a second ago. */
export function once(): (key: string, act: () => Promise<unknown>) => Promise<void> {
  const running = new Set<string>();
  return async (key, act) => {
    if (running.has(key)) {
      return;
    }
    running.add(key);
    try {
      await act();
    } finally {
      setTimeout(() => running.delete(key), SAME_CLICK_MS);
    }
  };
}
