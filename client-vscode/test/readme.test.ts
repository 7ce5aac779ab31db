// The example of the README, compiled as another extension would: against `api.d.ts`, strictly.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const FOLDER = dirname(dirname(fileURLToPath(import.meta.url)));
const EXAMPLE = join(FOLDER, "test", "readme-example.ts");
const GIVEN = `
import type { LithifyMessage } from "../api";
declare const messages: LithifyMessage[];
declare function show(messages: LithifyMessage[]): void;
`;

/** What the compiler says against a program of one file that is only in memory. */
function complaints(text: string): string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    target: ts.ScriptTarget.ES2023,
    types: ["vscode"],
    typeRoots: [join(FOLDER, "node_modules", "@types")],
  };
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile, readFile } = host;
  host.fileExists = (name) => name === EXAMPLE || fileExists(name);
  host.readFile = (name) => (name === EXAMPLE ? text : readFile(name));
  host.getSourceFile = (name, version) =>
    name === EXAMPLE ? ts.createSourceFile(name, text, version) : getSourceFile(name, version);
  const program = ts.createProgram([EXAMPLE], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}

function example(): string {
  const found = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(FOLDER, "README.md"), "utf8"));
  return GIVEN + (found?.[1] ?? "").replace('"./lithify-api"', '"../api"');
}

test("the README's example fits the API", { timeout: 60_000 }, () => {
  expect(example()).toContain("getExtension<LithifyApi>");
  expect(complaints(example())).toEqual([]);
});

test("an example that does not fit is told", { timeout: 60_000 }, () => {
  expect(complaints(example().replace('kind: "tool_use"', 'kind: "tool"'))).not.toEqual([]);
});
