// Asks every Python that may run the server what it is.
import { execFile } from "node:child_process";
import * as vscode from "vscode";
import { environmentPython } from "./environment";
import { isNewEnough, namesOnPath, type Origin, PROBE, problemOf, readProbe, type Tried } from "./python";

const PROBE_TIMEOUT_MS = 10_000;
const PYTHON_EXTENSION = "ms-python.python";

/**
 * Tries the Pythons in the order of preference, until one has Lithify; one that the user set is tried alone.
 * `safeFolder`: no workspace's, imports begin there.
 */
export async function tryPythons(
  context: vscode.ExtensionContext,
  safeFolder: string,
  stopping?: AbortSignal,
): Promise<Tried[]> {
  const set = pythonSetting();
  if (set !== undefined) {
    return [await probe(set, "setting", safeFolder, stopping)];
  }
  return tryUntil(await candidates(context), (one) => one.probe?.lithify != null, safeFolder, stopping);
}

/** Tries every Python there is, until one is new enough to make an environment with: one that is set comes first. */
export async function tryBases(context: vscode.ExtensionContext, safeFolder: string): Promise<Tried[]> {
  const set = pythonSetting();
  const others = (await candidates(context)).filter(([, origin]) => origin !== "environment");
  const all: [string, Origin][] = set === undefined ? others : [[set, "setting"], ...others];
  return tryUntil(all, (one) => one.probe !== undefined && isNewEnough(one.probe), safeFolder);
}

/** The Python that the user set, if any; no workspace can. */
export function pythonSetting(): string | undefined {
  const set = vscode.workspace.getConfiguration("lithify").inspect<string>("server.python")?.globalValue?.trim();
  return set || undefined;
}

async function tryUntil(
  pythons: readonly [string, Origin][],
  isFound: (one: Tried) => boolean,
  safeFolder: string,
  stopping?: AbortSignal,
): Promise<Tried[]> {
  const tried: Tried[] = [];
  for (const [path, origin] of pythons) {
    const one = await probe(path, origin, safeFolder, stopping);
    tried.push(one);
    if (isFound(one) || stopping?.aborted) {
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

/** Asks a Python what it is. */
export function probe(path: string, origin: Origin, safeFolder: string, stopping?: AbortSignal): Promise<Tried> {
  const options = { cwd: safeFolder, timeout: PROBE_TIMEOUT_MS, windowsHide: true, signal: stopping };
  return new Promise((resolve) => {
    execFile(path, ["-c", PROBE], options, (error, printed, said) => {
      const found = error === null ? readProbe(printed) : undefined;
      resolve(found === undefined ? { path, origin, problem: problemOf(error, said) } : { path, origin, probe: found });
    });
  });
}
