// Why the server does not run, in words, and what can be done about it.
import type { FailureData } from "../protocol";
import { t } from "../text";
import type { Choice } from "./python";

/** A button under a message: what it says, and the command it runs. */
export interface NextStep {
  title: string;
  command: string;
  argument?: unknown;
}

/** The server cannot be had; the message is for people, the steps are offered under it. */
export class ServerTrouble extends Error {
  readonly data: FailureData = { type: "server_unavailable", retryable: false };

  constructor(
    message: string,
    readonly steps: readonly NextStep[],
  ) {
    super(message);
  }
}

export const showLog = (): NextStep => ({ title: t("Show Log"), command: "lithify.showLog" });
const choosePython = (): NextStep => ({ title: t("Choose Python..."), command: "lithify.choosePython" });
const makeEnvironment = (): NextStep => ({ title: t("Make Environment"), command: "lithify.makeEnvironment" });
const startAgain = (): NextStep => ({ title: t("Start Again"), command: "lithify.restartServer" });

/** A request that the server did not live to answer. */
export class ServerEnded extends Error {
  readonly data: FailureData = { type: "server_ended", retryable: true };

  constructor() {
    super(t("Lithify's server ended before it answered. It starts again by itself; then try once more."));
  }
}

/** Something that the server refused without an answer. */
export class NotTaken extends Error {
  readonly data: FailureData = { type: "invalid_params", retryable: false };

  constructor() {
    super(t("Lithify's server did not take this. Its log, which “Lithify: Show Log” opens, says why."));
  }
}

/** The trouble of having no Python to run the server with. */
export function pythonTrouble(choice: Exclude<Choice, { kind: "ready" }>): ServerTrouble {
  switch (choice.kind) {
    case "setting_unusable":
      return new ServerTrouble(t("The setting lithify.server.python does not work: {0}.", choice.problem), [
        { title: t("Use Another Python..."), command: "lithify.choosePython" },
        makeEnvironment(),
        { title: t("Open Settings"), command: "lithify.openSettings", argument: "lithify.server.python" },
      ]);
    case "needs_environment":
      return new ServerTrouble(
        t("Lithify is not installed in a Python yet. It can make a private environment with {0}.", choice.base),
        [makeEnvironment(), choosePython(), showLog()],
      );
    case "no_python":
      return new ServerTrouble(t("Lithify needs Python 3.11 or newer, and none was found. Install one or choose it."), [
        choosePython(),
        startAgain(),
        showLog(),
      ]);
  }
}

/** The trouble of a Python that was chosen and does not do; it is not written into the setting. */
export function chosenTrouble(problem: string): ServerTrouble {
  return new ServerTrouble(t("That Python was not taken: {0}.", problem), [
    { title: t("Use Another Python..."), command: "lithify.choosePython" },
    makeEnvironment(),
  ]);
}

/** The trouble of a server that does not start or ends again and again; `said` is what it last said, if anything. */
export function crashTrouble(python: string, said: string): ServerTrouble {
  const words = said === "" ? "" : ` ${t("It last said: {0}", said)}`;
  return new ServerTrouble(t("Lithify's server ({0}) ended again and again.", python) + words, [
    startAgain(),
    choosePython(),
    showLog(),
  ]);
}

/** The trouble of a server that refuses to start, with its own words. */
export function startTrouble(python: string, reason: string): ServerTrouble {
  return new ServerTrouble(t("Lithify's server ({0}) did not start: {1}", python, reason), [
    startAgain(),
    choosePython(),
    showLog(),
  ]);
}

/** The trouble of settings that the server refuses, each named in its own words. */
export function settingsTrouble(reason: string): ServerTrouble {
  return new ServerTrouble(t("Lithify's server did not start: {0}", reason), [
    { title: t("Open Settings"), command: "lithify.openSettings" },
    startAgain(),
    showLog(),
  ]);
}

/** The trouble of a server that speaks another version of the protocol. */
export function versionTrouble(python: string, lithify: string): ServerTrouble {
  return new ServerTrouble(
    t("The Lithify {0} in {1} does not fit this extension. Update it, or make a private environment.", lithify, python),
    [makeEnvironment(), choosePython(), showLog()],
  );
}
