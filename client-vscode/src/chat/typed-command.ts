// A command as it was typed: VS Code leaves it in the prompt where it does not offer it, as while compaction is off.

const NAMES = ["compact-up-to", "compact", "memory", "status", "undo", "continue"];

/** The command of a request and the text behind it; a known one that begins the prompt counts too. */
export function typedCommand({ command, prompt }: { command?: string; prompt: string }): {
  command?: string;
  prompt: string;
} {
  const [, name, rest] = /^\s*\/(\S+)\s*([\s\S]*)$/.exec(prompt) ?? [];
  return command === undefined && name !== undefined && NAMES.includes(name)
    ? { command: name, prompt: rest ?? "" }
    : { command, prompt };
}
