// Collects the sentences that people read into l10n/bundle.l10n.json: the first argument of every call of `t`.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";

const BUNDLE = "l10n/bundle.l10n.json";

/** The bundle's text, from the sources in a folder. Throws where a sentence is no literal. */
export async function bundle(folder) {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".ts")).sort();
  const sentences = new Set();
  for (const name of names.filter((one) => one !== "text.ts")) {
    const text = await readFile(join(folder, name), "utf8");
    visit(ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true), name, sentences);
  }
  const sorted = [...sentences].sort();
  return `${JSON.stringify(Object.fromEntries(sorted.map((one) => [one, one])), null, 2)}\n`;
}

function visit(node, file, sentences) {
  if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === "t") {
    const [sentence] = node.arguments;
    if (!ts.isStringLiteral(sentence)) {
      throw new Error(`${file}: the first argument of t must be a string literal, not ${sentence.getText()}`);
    }
    sentences.add(sentence.text);
  }
  ts.forEachChild(node, (child) => visit(child, file, sentences));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await writeFile(BUNDLE, await bundle("src"));
}
