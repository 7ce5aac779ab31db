// Which Python runs the server: decided from what each one said of itself.
import { t } from "../text";

export const OLDEST: readonly [number, number] = [3, 11];

/** Where a Python was found: the user's setting, the Python extension, our private environment, the PATH. */
export type Origin = "setting" | "extension" | "environment" | "path";

/** What a Python said: its version, its own path, and the version of Lithify in it. */
export interface Probe {
  version: [number, number, number];
  executable: string;
  lithify: string | null;
}

/** A Python that was tried; `probe` is absent where it could not be run, and `problem` says why. */
export interface Tried {
  path: string;
  origin: Origin;
  probe?: Probe;
  problem?: string;
}

export type Choice =
  | { kind: "ready"; python: string; origin: Origin; lithify: string }
  | { kind: "setting_unusable"; problem: string }
  | { kind: "needs_environment"; base: string }
  | { kind: "no_python"; seen: string[] };

/** The program that a Python is asked with; it prints one `Probe` as JSON. */
export const PROBE = [
  "import json, sys",
  "found = {'version': list(sys.version_info[:3]), 'executable': sys.executable, 'lithify': None}",
  "try:",
  "    from importlib.metadata import version",
  "    found['lithify'] = version('lithify')",
  "except Exception:",
  "    pass",
  "print(json.dumps(found))",
].join("\n");

/** What a Python printed, or undefined where that is no probe. */
export function readProbe(printed: string): Probe | undefined {
  try {
    const found = JSON.parse(printed.trim().split("\n").at(-1) ?? "");
    const [major, minor, patch] = found.version;
    if ([major, minor, patch].every(Number.isInteger) && typeof found.executable === "string") {
      const lithify = typeof found.lithify === "string" ? found.lithify : null;
      return { version: [major, minor, patch], executable: found.executable, lithify };
    }
  } catch {
    return undefined; // what is not JSON is no probe
  }
  return undefined;
}

const LONGEST_PROBLEM = 120;

/** Why a program gave no probe: the system's word where it did not run, else the last line it said, if that is short. */
export function problemOf(error: { code?: unknown; message: string } | null, said: string): string {
  const last = said.trim().split("\n").at(-1) ?? "";
  if (typeof error?.code === "string") {
    return error.message;
  }
  return last !== "" && last.length <= LONGEST_PROBLEM ? last : t("it does not answer as a Python does");
}

export function isNewEnough(probe: Probe): boolean {
  const [major, minor] = probe.version;
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

/** Names of Python on the PATH, the newest first. */
export function namesOnPath(platform: NodeJS.Platform): string[] {
  const versioned = [14, 13, 12, 11].map((minor) => `python3.${minor}`);
  return platform === "win32" ? ["python", "python3", ...versioned] : ["python3", "python", ...versioned];
}

/**
 * The Python to run the server with. A Python that the user set counts alone. Else the first that has Lithify, in the
 * order they were tried; else the first that a private environment can be made with.
 */
export function choose(tried: readonly Tried[]): Choice {
  const set = tried.find((one) => one.origin === "setting");
  if (set !== undefined) {
    return ofSetting(set);
  }
  const usable = tried.filter((one) => one.probe !== undefined && isNewEnough(one.probe));
  for (const { path, origin, probe } of usable) {
    if (probe !== undefined && probe.lithify !== null) {
      return { kind: "ready", python: path, origin, lithify: probe.lithify };
    }
  }
  const base = baseOf(tried);
  return base === undefined ? { kind: "no_python", seen: tried.map(described) } : { kind: "needs_environment", base };
}

/** The first Python that a private environment can be made with; one is not made with itself. */
export function baseOf(tried: readonly Tried[]): string | undefined {
  const usable = tried.find(
    ({ origin, probe }) => origin !== "environment" && probe !== undefined && isNewEnough(probe),
  );
  return usable?.path;
}

function ofSetting({ path, probe, problem }: Tried): Choice {
  if (probe === undefined) {
    return { kind: "setting_unusable", problem: t("{0} cannot be run ({1})", path, problem ?? t("unknown reason")) };
  }
  if (!isNewEnough(probe)) {
    const version = probe.version.join(".");
    return { kind: "setting_unusable", problem: t("{0} is Python {1}; Lithify needs 3.11 or newer", path, version) };
  }
  if (probe.lithify === null) {
    return { kind: "setting_unusable", problem: t("{0} has no Lithify; run 'pip install lithify' with it", path) };
  }
  return { kind: "ready", python: path, origin: "setting", lithify: probe.lithify };
}

function described({ path, probe, problem }: Tried): string {
  return probe === undefined ? `${path}: ${problem ?? "?"}` : `${path}: Python ${probe.version.join(".")}`;
}
