import { describe, expect, test } from "vitest";
import manifest from "../package.json";
import texts from "../package.nls.json";
import { looksLikeChat } from "../src/looks-like-chat";
import { MACHINE_SETTINGS } from "../src/protocol";
import { compactionEnabled, inForce, needsRestart, nested, ofUser, ofWorkspace } from "../src/settings";

describe("settings on their way to the server", () => {
  test("dotted names become nested objects", () => {
    const flat = { "buffer.idleMs": 1, "model.acp.env": ["A"], dataDir: "/d" };
    expect(nested(flat)).toEqual({ buffer: { idleMs: 1 }, model: { acp: { env: ["A"] } }, dataDir: "/d" });
  });

  test("a workspace chooses neither what runs nor where text goes", () => {
    const all = Object.fromEntries(MACHINE_SETTINGS.map((name) => [name, "x"]));
    expect(ofWorkspace({ ...all, "log.level": "debug" })).toEqual({ "log.level": "debug" });
  });

  test("a workspace's own settings count where it is trusted, and nowhere else", () => {
    const [user, workspace] = [{ "log.level": "info" }, { "log.level": "debug", "conversation.compaction": {} }];
    expect(inForce(user, workspace, true)).toEqual(workspace);
    expect(inForce(user, workspace, false)).toEqual(user);
  });

  test("in an untrusted workspace there is no agent and no endpoint", () => {
    const flat = { "model.provider": "acp", "model.acp.command": ["kimi"], "model.http.baseUrl": "http://x" };
    expect(ofUser(flat, false)).toEqual({ "model.provider": "auto" });
  });

  test("in an untrusted workspace the offline model stays the user's choice", () => {
    expect(ofUser({ "model.provider": "offline" }, false)).toEqual({ "model.provider": "offline" });
  });

  test("in a trusted workspace the user's settings are what they are", () => {
    const flat = { "model.acp.command": ["kimi"] };
    expect(ofUser(flat, true)).toBe(flat);
  });

  test.each(["dataDir", "model.http.baseUrl", "model.provider", "recording.enabled"])(
    "%s needs a new server",
    (name) => {
      expect(needsRestart({}, { [name]: "x" })).toBe(true);
    },
  );

  test("a setting that the server takes while it runs needs none", () => {
    expect(needsRestart({ "buffer.idleMs": 1 }, { "buffer.idleMs": 2 })).toBe(false);
  });

  test.each([
    ["is set no more", { "buffer.idleMs": 1 }, {}],
    ["lost a name", { "documents.formats": { "*.a": "x", "*.b": "x" } }, { "documents.formats": { "*.a": "x" } }],
  ])("a setting that %s needs a new server, which else would keep it", (_, before, after) => {
    expect([needsRestart(before, after), needsRestart(after, before)]).toEqual([true, false]);
  });

  test("a setting with the same value needs none", () => {
    expect(needsRestart({ "model.acp.env": ["A"] }, { "model.acp.env": ["A"] })).toBe(false);
  });

  test.each([
    [{ enabled: true, type: "kimi" }, true],
    [{ enabled: true, type: "other" }, false],
    [{ enabled: false, type: "kimi" }, false],
    [undefined, false],
  ])("compaction with %j is on: %s", (setting, on) => {
    expect(compactionEnabled(setting)).toBe(on);
  });
});

describe("the manifest", () => {
  const properties = manifest.contributes.configuration.properties as Record<string, { scope: string }>;
  const restricted = manifest.capabilities.untrustedWorkspaces.restrictedConfigurations;

  test("what chooses what runs or where text goes is of the machine, and restricted", () => {
    const machine = Object.keys(properties).filter((name) => properties[name]?.scope === "machine");
    expect(machine.sort()).toEqual([...restricted].sort());
  });

  test("every text is in the language file", () => {
    const named = JSON.stringify(manifest).match(/%[^%" ]+%/g) ?? [];
    expect(named.filter((one) => !(one.slice(1, -1) in texts))).toEqual([]);
  });

  test("the language file has no text that nothing names", () => {
    const manifestText = JSON.stringify(manifest);
    expect(Object.keys(texts).filter((name) => !manifestText.includes(`%${name}%`))).toEqual([]);
  });

  test("every command in a menu is contributed", () => {
    const known = new Set(manifest.contributes.commands.map((one) => one.command));
    const used = Object.values(manifest.contributes.menus).flatMap((items) => items.map((one) => one.command));
    expect(used.filter((command) => !known.has(command))).toEqual([]);
  });

  test.each([
    "lithify.compactDocument",
    "lithify.compactDocumentUpToCursor",
    "lithify.compactChat",
    "lithify.undoChatCompaction",
  ])("%s is hidden from the palette where compaction is off", (command) => {
    const item = manifest.contributes.menus.commandPalette.find((one) => one.command === command);
    expect(item?.when).toContain("lithify.compactionEnabled");
  });
});

describe("a document that may be a chat file", () => {
  test.each([
    ["/c/context.jsonl", '{"role": "user", "content": "hi"}'],
    ["/c/a.json", '{"messages": [{"role":"assistant"}]}'],
    ["/c/rollout.jsonl", '{"timestamp":"x","type":"session_meta"}'],
    ["/c/s.jsonl", '{"parentUuid":null,"type":"user"}'],
    ["/p/run.traj", '{"history": [{"role": "system", "content": "x"}]}'],
    ["/p/.specstory/history/a.md", "# x"],
    ["/p/chat.md", "<!-- Generated by SpecStory -->"],
  ])("%s is worth starting the server for", (path, head) => {
    expect(looksLikeChat(path, head)).toBe(true);
  });

  test.each([
    ["/p/package.json", '{"name": "x"}'],
    ["/p/README.md", "# A project"],
    ["/p/main.py", '{"role": "user"}'],
  ])("%s is not", (path, head) => {
    expect(looksLikeChat(path, head)).toBe(false);
  });
});
