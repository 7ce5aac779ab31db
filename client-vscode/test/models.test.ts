import { describe, expect, test } from "vitest";
import { chooseModel, lacksConsent, modelOptions, reasonOf } from "../src/models/choosing";
import { countTokens, offlineAnswer } from "../src/models/offline-answer";

const own = { id: "lithify-offline", name: "Lithify offline", vendor: "lithify", family: "lithify-offline" };
const small = { id: "gpt-5-mini", name: "GPT-5 mini", vendor: "copilot", family: "gpt-5-mini" };
const large = { id: "gpt-5-2026", name: "GPT-5", vendor: "copilot", family: "gpt-5" };

describe("the choice of the editor's model", () => {
  test("our own model never writes a summary", () => {
    expect(chooseModel([own], own.id, own.id)).toBeUndefined();
  });

  test.each([
    ["its id", "gpt-5-2026"],
    ["its family", "gpt-5"],
    ["its name", "GPT-5"],
  ])("a model can be asked for by %s", (_, wanted) => {
    expect(chooseModel([own, small, large], wanted, undefined)).toBe(large);
  });

  test("where the one asked for is not there, the one last chosen answers", () => {
    expect(chooseModel([small, large], "claude-haiku-4.5", large.id)).toBe(large);
  });

  test("else the first one", () => {
    expect(chooseModel([own, small, large], undefined, "gone")).toBe(small);
  });
});

describe("consent", () => {
  test.each([
    ["a user's own request may bring up the question", true, undefined, undefined],
    ["a user's own request is sent also after a refusal: VS Code decides", true, false, undefined],
    ["work in the background goes on where it was given", false, true, undefined],
    ["work in the background never brings up the question", false, undefined, "consent_required"],
    ["work in the background heeds a refusal", false, false, "consent_denied"],
  ])("%s", (_, userInitiated, consent, reason) => {
    expect(lacksConsent(userInitiated, consent)).toBe(reason);
  });
});

describe("what an error of the editor's model means", () => {
  test.each([
    ["NoPermissions", "denied", "consent_denied"],
    ["NotFound", "gone", "no_model"],
    ["Blocked", "no more today", "quota"],
    ["Blocked", "the prompt is too long", "context_too_long"],
    [undefined, "You have exceeded your premium request allowance", "quota"],
    [undefined, "Rate limit reached", "quota"],
    [undefined, "maximum context length is 8192 tokens", "context_too_long"],
    [undefined, "socket hang up", "unknown"],
  ])("code %s with %j is %s", (code, message, reason) => {
    expect(reasonOf(code, message)).toBe(reason);
  });

  test("our own switch against tools is no option of a model's API", () => {
    expect(modelOptions({ disable_all_tools: true, temperature: 0.2 })).toEqual({ temperature: 0.2 });
  });
});

describe("the offline model", () => {
  test("says that no language model answers", () => {
    expect(offlineAnswer("hello")).toContain("No language model runs behind it");
  });

  test("quotes what was written", () => {
    expect(offlineAnswer("Why does\nit fail?")).toContain("You wrote: “Why does it fail?”");
  });

  test("cuts a long message", () => {
    expect(offlineAnswer("x".repeat(1_000)).length).toBeLessThan(600);
  });

  test("says the same to the same message", () => {
    expect(offlineAnswer("a")).toBe(offlineAnswer("a"));
  });

  test("counts tokens as the server does", () => {
    expect([countTokens(""), countTokens("abc"), countTokens("漢字")]).toEqual([0, 2, 3]);
  });
});
