// Draws media/icon.png from media/icon.svg: `node workbench/harness/draw-icon.ts`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EXTENSION } from "./editor.ts";
import { browser } from "./workbench.ts";

const SIZE = 256;
const from = await browser();
try {
  const page = await from.newPage({ viewport: { width: SIZE, height: SIZE } });
  await page.setContent(
    `<style>body { margin: 0 }</style>${readFileSync(join(EXTENSION, "media", "icon.svg"), "utf8")}`,
  );
  await page.screenshot({ path: join(EXTENSION, "media", "icon.png"), omitBackground: true });
} finally {
  await from.close();
}
