import { afterEach, describe, expect, test } from "vitest";
import { ago, kilobytes, percent, shortTokens } from "../src/amounts";
import { escaped, unlinked } from "../src/markdown";
import { speakWith, t } from "../src/text";

describe("amounts", () => {
  test.each([
    [950, "950"],
    [1_000, "1k"],
    [1_249, "1.2k"],
    [9_960, "10k"],
    [14_200, "14k"],
    [999_400, "999k"],
    [999_600, "1M"],
    [1_300_000, "1.3M"],
  ])("%i tokens are shown as %s", (tokens, shown) => {
    expect(shortTokens(tokens)).toBe(shown);
  });

  test("no bytes are 0 KB", () => {
    expect(kilobytes(0)).toBe("0");
  });

  test("a share is rounded down", () => {
    expect(percent(0.7999)).toBe("79 %");
  });

  test.each([
    [59, "just now"],
    [60, "1 min ago"],
    [7_200, "2 h ago"],
    [172_800, "2 d ago"],
  ])("what was %i seconds ago was %s", (seconds, words) => {
    expect(ago("2026-07-01T00:00:00Z", Date.parse("2026-07-01T00:00:00Z") + seconds * 1000)).toBe(words);
  });
});

describe("foreign text in Markdown", () => {
  test("HTML stays text", () => {
    expect(escaped("<b>&amp;")).toBe("&lt;b\\>&amp;amp;");
  });

  test("line ends become spaces, so that no line begins anew", () => {
    expect(escaped("a\n# b")).toBe("a \\# b");
  });
});

describe("words", () => {
  afterEach(() =>
    speakWith((sentence, ...values) => sentence.replace(/\{(\d)\}/g, (_, index) => String(values[index]))),
  );

  test("values are put where the sentence has holes", () => {
    expect(t("{1} before {0}", "b", "a")).toBe("a before b");
  });

  test("another translator is heard from then on", () => {
    speakWith((sentence) => sentence.toUpperCase());
    expect(t("hello")).toBe("HELLO");
  });
});

describe("a text in a notification", () => {
  test("makes no link of words of a model", () => {
    const told = unlinked("the model failed: [see why](command:attack.run) $(error)");
    expect(told).toBe("the model failed: [see why] (command:attack.run) $ (error)");
  });
});
