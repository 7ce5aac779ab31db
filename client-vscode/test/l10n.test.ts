import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { bundle } from "../scripts/texts.mjs";

test("every sentence that people read is in l10n/bundle.l10n.json; 'npm run texts' writes it", async () => {
  expect(readFileSync("l10n/bundle.l10n.json", "utf8")).toBe(await bundle("src"));
});
