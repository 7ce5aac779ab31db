// How the server is started and stopped, and how what it was told is confirmed; without a VS Code.
import { once as event } from "node:events";
import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { joined } from "../src/joined";
import type { Message } from "../src/protocol";
import { appendMessages, openSession, spliceMessages } from "../src/server/confirmed";
import { isConnectionLost } from "../src/server/connection";
import { endProcess, startProcess } from "../src/server/process";
import { ask, run } from "../src/server/requests";
import { begin } from "../src/server/run";
import type { Server } from "../src/server/server";
import { serverError } from "./samples";

const HANGS = ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"];

describe("work under way", () => {
  test("gives its result", async () => {
    expect(await begin(async () => 7).result).toBe(7);
  });

  test("that is stopped answers at once, whatever it still waits for", async () => {
    const run = begin(() => new Promise<number>(() => undefined));
    run.stop();
    await expect(run.result).rejects.toThrow("stopped before it had started");
  });

  test("hears that it is stopped", async () => {
    let heard: AbortSignal | undefined;
    const run = begin(async (stopping) => {
      heard = stopping;
    });
    run.stop();
    expect(heard?.aborted).toBe(true);
  });
});

describe("work that is not done twice at once", () => {
  test("is joined while it goes on, and begun again afterwards", async () => {
    const ends: (() => void)[] = [];
    const work = joined(() => new Promise<void>((resolve) => ends.push(resolve)));
    const both = [work(), work()];
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await Promise.all(both);
    work();
    expect(ends).toHaveLength(2);
  });

  test("that failed can be begun again", async () => {
    let begun = 0;
    const work = joined(async () => {
      begun += 1;
      throw new Error("no");
    });
    await expect(Promise.all([work(), work()])).rejects.toThrow("no");
    await expect(work()).rejects.toThrow("no");
    expect(begun).toBe(2);
  });
});

describe("the process of the server", () => {
  test("that cannot be run is told", async () => {
    await expect(startProcess("/nowhere/python", [], tmpdir())).rejects.toThrow("ENOENT");
  });

  test("that does not end by itself is killed", async () => {
    const child = await startProcess(process.execPath, HANGS, tmpdir());
    await endProcess(child, 0);
    expect(child.signalCode).toBe("SIGKILL");
  });

  test("that ends by itself is let end", async () => {
    const child = await startProcess(process.execPath, ["-e", "process.stdin.on('end', () => {}).resume()"], tmpdir());
    child.stdin?.end();
    await endProcess(child, 5_000);
    expect(child.exitCode).toBe(0);
  });

  test("that has ended already needs no waiting", async () => {
    const child = await startProcess(process.execPath, ["-e", ""], tmpdir());
    await event(child, "exit");
    await endProcess(child, 5_000);
    expect(child.exitCode).toBe(0);
  });
});

/** A server that keeps one session and takes what `takes` lets it. */
function keeping(messages: Message[] | undefined, takes = true) {
  const kept = { revision: 1, messages };
  const sendRequest = async () => {
    if (kept.messages === undefined) {
      throw serverError("unknown_session");
    }
    return structuredClone(kept);
  };
  const sendNotification = async (
    method: string,
    params: { start?: number; deleteCount?: number; messages: Message[] },
  ) => {
    const before = kept.messages ?? [];
    const after = [...before];
    const isOpening = method === "lithify/didOpenSession";
    const start = isOpening ? 0 : (params.start ?? before.length);
    after.splice(start, isOpening ? before.length : (params.deleteCount ?? 0), ...params.messages);
    if (takes && JSON.stringify(after) !== JSON.stringify(kept.messages)) {
      kept.revision += 1;
      kept.messages = after;
    }
  };
  const client = { sendRequest, sendNotification };
  return { server: { client: async () => client } as unknown as Server, kept };
}

describe("a change of a session", () => {
  const sessionId = "chat-42";
  const [one, two] = ["one", "two"].map((content): Message => ({ role: "user", content }));
  const messages = [one, two] as Message[];

  test("that the server makes is confirmed", async () => {
    const { server, kept } = keeping(undefined);
    await openSession(server, { sessionId, messages });
    await appendMessages(server, { sessionId, messages: [{ role: "user", content: "three", name: undefined }] });
    await spliceMessages(server, { sessionId, start: 0, deleteCount: 1, messages: [] });
    expect(kept.messages?.map((message) => message.content)).toEqual(["two", "three"]);
  });

  test("that changes nothing is confirmed too", async () => {
    const { server } = keeping(messages);
    await openSession(server, { sessionId, messages });
    await appendMessages(server, { sessionId, messages: [] });
    await spliceMessages(server, { sessionId, start: 1, deleteCount: 1, messages: [two as Message] });
  });

  const changes: [string, (server: Server) => Promise<void>][] = [
    ["an opening", (server) => openSession(server, { sessionId, messages: [one as Message] })],
    ["an appending", (server) => appendMessages(server, { sessionId, messages })],
    ["a splice", (server) => spliceMessages(server, { sessionId, start: 0, deleteCount: 1, messages: [] })],
    ["a splice outside", (server) => spliceMessages(server, { sessionId, start: 9, deleteCount: 0, messages: [] })],
  ];

  test.each(changes)("that is refused rejects: %s", async (_, change) => {
    const refused = expect(change(keeping(messages, false).server)).rejects;
    await refused.toMatchObject({ data: { type: "invalid_params" } });
  });

  test("that is refused rejects where there was no session", async () => {
    const { server } = keeping(undefined, false);
    const opening = openSession(server, { sessionId, messages });
    await expect(opening).rejects.toMatchObject({ data: { type: "invalid_params" } });
    const appending = appendMessages(server, { sessionId, messages });
    await expect(appending).rejects.toMatchObject({ data: { type: "unknown_session" } });
  });
});

describe("a request", () => {
  const failing = (error: Error) =>
    ({ client: async () => ({ sendRequest: () => Promise.reject(error) }) }) as unknown as Server;
  const disposed = Object.assign(new Error("Pending response rejected since connection got disposed"), {
    code: -32097,
  });

  test("whose server ends before the answer says so in plain words", async () => {
    const server = failing(disposed);
    const ended = { message: expect.stringMatching(/^Lithify's server ended before it answered/) };
    await expect(ask(server, "lithify/sessionStatus", { sessionId: "a" })).rejects.toMatchObject(ended);
    await expect(run(server, "lithify.extract_now", {})).rejects.toMatchObject(ended);
  });

  test("that the server refuses keeps the server's own error", async () => {
    const error = serverError("busy");
    await expect(ask(failing(error), "lithify/sessionStatus", { sessionId: "a" })).rejects.toBe(error);
    expect(isConnectionLost(error)).toBe(false);
  });
});
