import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { Backoff } from "../src/server/backoff";
import {
  baseOf,
  choose,
  namesOnPath,
  type Origin,
  PROBE,
  type Probe,
  problemOf,
  readProbe,
  type Tried,
} from "../src/server/python";
import { chosenTrouble, pythonTrouble } from "../src/server/trouble";

function tried(origin: Origin, version: [number, number, number], lithify: string | null = null): Tried {
  const path = `/python/${origin}`;
  return { path, origin, probe: { version, executable: path, lithify } };
}

describe("the probe of a Python", () => {
  test("a real Python answers it", () => {
    const python = process.platform === "win32" ? "python" : "python3";
    const probe = readProbe(execFileSync(python, ["-c", PROBE], { encoding: "utf8" }));
    expect(probe?.version[0]).toBe(3);
  });

  test("what a site prints before the answer is passed over", () => {
    const answer: Probe = { version: [3, 12, 1], executable: "/p", lithify: "0.1.0" };
    expect(readProbe(`hello\n${JSON.stringify(answer)}\n`)).toEqual(answer);
  });

  const failed = { code: 2, message: "Command failed: /p -c ..." };
  test.each([
    ["did not run", { code: "ENOENT", message: "spawn /p ENOENT" }, "", "spawn /p ENOENT"],
    ["said why", failed, "a warning\nno space left\n", "no space left"],
    [
      "repeats the question",
      failed,
      `ls: ${JSON.stringify(PROBE)}: no such file`,
      "it does not answer as a Python does",
    ],
    ["printed something else", null, "", "it does not answer as a Python does"],
  ])("a program that %s is told in a few words", (_, error, said, problem) => {
    expect(problemOf(error, said)).toBe(problem);
  });

  test.each(["", "Python 2.7.18", '{"version": [3]}', "null", '{"version": ["3", "11", "0"], "executable": "/p"}'])(
    "%j is no probe",
    (printed) => {
      expect(readProbe(printed)).toBeUndefined();
    },
  );
});

describe("the choice of a Python", () => {
  test("the first one that has Lithify runs the server", () => {
    const choice = choose([tried("extension", [3, 12, 0]), tried("environment", [3, 11, 4], "0.1.0")]);
    expect(choice).toEqual({ kind: "ready", python: "/python/environment", origin: "environment", lithify: "0.1.0" });
  });

  test("one that is too old is passed over, even with Lithify", () => {
    expect(choose([tried("extension", [3, 10, 9], "0.1.0")]).kind).toBe("no_python");
  });

  test("without Lithify anywhere, an environment is made with the first that is new enough", () => {
    const choice = choose([tried("extension", [3, 10, 0]), tried("path", [3, 13, 0])]);
    expect(choice).toEqual({ kind: "needs_environment", base: "/python/path" });
  });

  test("a private environment that lost its Lithify is not made with itself", () => {
    expect(choose([tried("environment", [3, 13, 0])]).kind).toBe("no_python");
  });

  test("one that the user set counts alone", () => {
    const choice = choose([tried("setting", [3, 12, 0]), tried("path", [3, 12, 0], "0.1.0")]);
    expect(choice.kind).toBe("setting_unusable");
  });

  test("an environment is made with another Python where the one that is set does not run", () => {
    const unusable: Tried = { path: "/nowhere", origin: "setting", problem: "ENOENT" };
    expect(baseOf([unusable, tried("path", [3, 10, 0]), tried("path", [3, 12, 0])])).toBe("/python/path");
  });

  test.each([
    [{ path: "/p", origin: "setting", problem: "ENOENT" } as Tried, "/p cannot be run (ENOENT)"],
    [tried("setting", [3, 9, 2]), "/python/setting is Python 3.9.2; Lithify needs 3.11 or newer"],
    [tried("setting", [3, 12, 0]), "/python/setting has no Lithify; run 'pip install lithify' with it"],
  ])("a setting that does not work says why", (one, problem) => {
    expect(choose([one])).toEqual({ kind: "setting_unusable", problem });
  });

  test("on Windows the plain name comes first", () => {
    expect(namesOnPath("win32")[0]).toBe("python");
  });
});

describe("the trouble with a Python", () => {
  const steps = (choice: Parameters<typeof pythonTrouble>[0]) =>
    pythonTrouble(choice).steps.map((step) => step.command);

  test("without Lithify, the first step makes an environment", () => {
    expect(steps({ kind: "needs_environment", base: "/p" })[0]).toBe("lithify.makeEnvironment");
  });

  test("with a setting that does not work, the steps are those that cure it", () => {
    expect(steps({ kind: "setting_unusable", problem: "x" })).toEqual([
      "lithify.choosePython",
      "lithify.makeEnvironment",
      "lithify.openSettings",
    ]);
  });

  test("a Python that was chosen and does not do says why, and leads to another choice", () => {
    const { message, steps } = chosenTrouble("/p has no Lithify");
    expect(message).toBe("That Python was not taken: /p has no Lithify.");
    expect(steps[0]?.command).toBe("lithify.choosePython");
  });

  test("without any Python, the message names the version that is needed", () => {
    expect(pythonTrouble({ kind: "no_python", seen: [] }).message).toContain("Python 3.11 or newer");
  });
});

describe("the pauses before a server is started again", () => {
  test("they double, and after five ends in a row there is none", () => {
    const backoff = new Backoff();
    expect([1, 2, 3, 4, 5, 6].map(() => backoff.next(500))).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, undefined]);
  });

  test("two good minutes make good for what was before", () => {
    const backoff = new Backoff();
    backoff.next(500);
    backoff.next(500);
    expect(backoff.next(120_000)).toBe(1_000);
  });

  test("a start by the user begins anew", () => {
    const backoff = new Backoff();
    backoff.next(0);
    backoff.reset();
    expect(backoff.next(0)).toBe(1_000);
  });
});
