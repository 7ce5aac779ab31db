// Asks every Python that may run the server what it is.
import { execFile } from "node:child_process";
import * as vscode from "vscode";
import { environmentPython } from "./environment";
import { namesOnPath, type Origin, PROBE, readProbe, type Tried } from "./python";

const PROBE_TIMEOUT_MS = 10_000;
const PYTHON_EXTENSION = "ms-python.python";

/** Tries the Pythons in the order of preference, until one has Lithify. `safeFolder`: no workspace's, imports begin there. */
export async function tryPythons(context: vscode.ExtensionContext, safeFolder: string): Promise<Tried[]> {
  const set = vscode.workspace.getConfiguration("lithify").inspect<string>("server.python")?.globalValue?.trim();
  if (set) {
    return [await probe(set, "setting", safeFolder)];
  }
  const tried: Tried[] = [];
  for (const [path, origin] of await candidates(context)) {
    const one = await probe(path, origin, safeFolder);
    tried.push(one);
    if (one.probe?.lithify != null) {
      break;
    }
  }
  return tried;
}

async function candidates(context: vscode.ExtensionContext): Promise<[string, Origin][]> {
  const found: [string, Origin][] = [];
  const chosen = await pythonExtensionsChoice();
  if (chosen !== undefined) {
    found.push([chosen, "extension"]);
  }
  const ours = await environmentPython(context);
  if (ours !== undefined) {
    found.push([ours, "environment"]);
  }
  return [...found, ...namesOnPath(process.platform).map((name): [string, Origin] => [name, "path"])];
}

interface PythonExtension {
  environments: {
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

/** Fires when another interpreter is chosen in the Python extension; undefined as long as that does not run. */
export function pythonExtensionsChange(): vscode.Event<unknown> | undefined {
  const extension = vscode.extensions.getExtension<PythonExtension>(PYTHON_EXTENSION);
  return extension?.isActive ? extension.exports.environments.onDidChangeActiveEnvironmentPath : undefined;
}

/** The interpreter chosen in the Python extension; none in an untrusted workspace, whose own it could be. */
async function pythonExtensionsChoice(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>(PYTHON_EXTENSION);
  if (extension === undefined || !vscode.workspace.isTrusted) {
    return undefined;
  }
  const { environments } = await extension.activate();
  const path = environments.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri);
  return (await environments.resolveEnvironment(path))?.executable.uri?.fsPath;
}

function probe(path: string, origin: Origin, safeFolder: string): Promise<Tried> {
  const options = { cwd: safeFolder, timeout: PROBE_TIMEOUT_MS, windowsHide: true };
  return new Promise((resolve) => {
    execFile(path, ["-c", PROBE], options, (error, printed, said) => {
      const found = error === null ? readProbe(printed) : undefined;
      const problem = said.trim().split("\n").at(-1) || error?.message || "";
      resolve(found === undefined ? { path, origin, problem } : { path, origin, probe: found });
    });
  });
}
