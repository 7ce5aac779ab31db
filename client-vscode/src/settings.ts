// The settings as the server takes them: nested objects of what somebody set, and nothing that a workspace may not say.
import { MACHINE_SETTINGS } from "./protocol";

/** Settings by their dotted names; what nobody set is absent. */
export type Flat = Record<string, unknown>;

type Nested = { [name: string]: unknown };

/** `{"buffer.idleMs": 1}` as `{"buffer": {"idleMs": 1}}`. */
export function nested(flat: Flat): Nested {
  const whole: Nested = {};
  for (const [dotted, value] of Object.entries(flat)) {
    const names = dotted.split(".");
    const last = names.pop() as string;
    let place = whole;
    for (const name of names) {
      place[name] ??= {};
      place = place[name] as Nested;
    }
    place[last] = value;
  }
  return whole;
}

/** What a workspace may choose: everything but what runs and where text goes. */
export function ofWorkspace(flat: Flat): Flat {
  const machine: readonly string[] = MACHINE_SETTINGS;
  return Object.fromEntries(Object.entries(flat).filter(([name]) => !machine.includes(name)));
}

/** The settings in force that a workspace may choose: of one that is not trusted none are heeded. */
export function inForce(user: Flat, workspace: Flat, trusted: boolean): Flat {
  return ofWorkspace(trusted ? { ...user, ...workspace } : user);
}

/** The user's own settings, without agents and endpoints where the workspace is not trusted. */
export function ofUser(flat: Flat, trusted: boolean): Flat {
  if (trusted) {
    return flat;
  }
  const kept = Object.entries(flat).filter(
    ([name]) => !name.startsWith("model.acp.") && !name.startsWith("model.http."),
  );
  const settings = Object.fromEntries(kept);
  if (settings["model.provider"] === "acp" || settings["model.provider"] === "http") {
    settings["model.provider"] = "auto";
  }
  return settings;
}

/**
 * Whether a change of the user's own settings needs a new server: some are taken at its start only, or can afterwards
 * only be narrowed; and one that is set no more would keep the value that the server was started with.
 */
export function needsRestart(before: Flat, after: Flat): boolean {
  const machine: readonly string[] = MACHINE_SETTINGS;
  const fixed = (name: string) => machine.includes(name) || name.startsWith("recording.") || name === "model.provider";
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => fixed(name) || loses(before[name], after[name]))
    .some((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
}

/** Whether a value is gone, or something within it. */
function loses(before: unknown, after: unknown): boolean {
  if (before === undefined || after === undefined) {
    return before !== undefined;
  }
  const names = (value: unknown) => (value instanceof Object && !Array.isArray(value) ? Object.keys(value) : []);
  return names(before).some((name) => !names(after).includes(name));
}

/** Whether the setting `conversation.compaction` switches compaction on; the server judges by the same two values. */
export function compactionEnabled(compaction: unknown): boolean {
  const { enabled, type } = (compaction ?? {}) as { enabled?: unknown; type?: unknown };
  return enabled === true && type === "kimi";
}
