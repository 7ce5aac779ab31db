// Bundles the extension into dist/extension.js, with the licences of what is bundled beside it, and the page of the
// sessions panel into dist/panel.js and dist/panel.css.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const result = await build({
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  mainFields: ["module", "main"],
  external: ["vscode"],
  minify: true,
  keepNames: true,
  metafile: true,
  legalComments: "none",
  logLevel: "warning",
});

await build({
  entryPoints: { panel: "src/webview/main.ts" },
  outdir: "dist",
  bundle: true,
  platform: "browser",
  format: "iife",
  target: "chrome128",
  minify: true,
  legalComments: "none",
  logLevel: "warning",
});

const packages = new Set(
  Object.keys(result.metafile.inputs)
    .map((path) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[0])
    .filter((folder) => folder !== undefined),
);
await mkdir("dist", { recursive: true });
await writeFile("dist/LICENSES.txt", (await Promise.all([...packages].sort().map(licence))).join("\n"));

async function licence(folder) {
  const { name, version, license } = JSON.parse(await readFile(`${folder}package.json`, "utf8"));
  const file = (await readdir(folder)).find((one) => /^(licen[cs]e|copying)/i.test(one));
  if (file === undefined) {
    throw new Error(`${name} is bundled but carries no licence file; name its licence in esbuild.mjs`);
  }
  return `${name} ${version} (${license})\n\n${await readFile(folder + file, "utf8")}\n${"-".repeat(80)}\n`;
}
