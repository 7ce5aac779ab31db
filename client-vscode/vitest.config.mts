// The unit tests: of all that knows nothing of VS Code.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["test/**/*.test.ts"], testTimeout: 10_000, maxWorkers: 1, isolate: false },
});
