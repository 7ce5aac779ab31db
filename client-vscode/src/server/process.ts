// The process of one run of the server: started, and ended for certain.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** Starts a program in a folder, its standard streams as pipes. Rejects where it cannot be run. */
export function startProcess(command: string, args: readonly string[], folder: string): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: folder, windowsHide: true });
    child.on("error", reject);
    child.once("spawn", () => resolve(child));
  });
}

/** Waits until a process has ended; one that has not after so many milliseconds is killed. */
export async function endProcess(child: ChildProcess, graceMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return;
  }
  const exit = once(child, "exit");
  const kill = setTimeout(() => child.kill("SIGKILL"), graceMs);
  await exit;
  clearTimeout(kill);
}
