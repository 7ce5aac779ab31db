// The tests in a real VS Code: `make test-vscode`. They take minutes, and are patient with a machine that is busy.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["workbench/*.test.ts"],
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
    fileParallelism: false,
    maxWorkers: 1,
    sequence: { shuffle: false },
    bail: 1, // the tests of a file build on each other
  },
});
