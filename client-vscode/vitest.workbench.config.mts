// The tests in a real VS Code: `make test-vscode`. They take minutes.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["workbench/*.test.ts"],
    testTimeout: 90_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    maxWorkers: 1,
    sequence: { shuffle: false },
    bail: 1, // the tests of a file build on each other
  },
});
