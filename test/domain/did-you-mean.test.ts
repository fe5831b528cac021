import { describe, expect, test } from "bun:test";
import { didYouMean, distanceOf, suggestion } from "../../src/domain/did-you-mean.ts";

describe("distance", () => {
  test.each([
    ["", "", 0],
    ["", "abc", 3],
    ["abc", "", 3],
    ["kitten", "sitting", 3],
    ["lsit", "list", 1],
    ["ca", "abc", 3],
    ["status", "status", 0],
  ])("of %p and %p is %d", (one, other, distance) => {
    expect(distanceOf(one, other)).toBe(distance);
    expect(distanceOf(other, one)).toBe(distance);
  });
});

describe("did you mean", () => {
  const known = ["list", "rotate", "compromise", "jwks", "history", "import"];

  test.each([
    ["lsit", "list"],
    ["rotat", "rotate"],
    ["LIST", "list"],
    ["comp", "compromise"],
    ["improt", "import"],
  ])("%p means %p", (given, word) => {
    expect(didYouMean(given, known)).toBe(word);
  });

  test.each([["delete"], [""], ["x"], ["l".repeat(1000)], ["hi"]])("%p means nothing known", (given) => {
    expect(didYouMean(given, known)).toBeNull();
  });

  test("underscores and dashes are one", () => {
    expect(didYouMean("per_minute", ["per-day", "per-minute"])).toBe("per-minute");
  });

  test("a beginning of several words is none of them", () => {
    expect(didYouMean("body", ["BODYA_INVIGILATOR_ELIGIBILITY", "BODYB_INVIGILATOR_ELIGIBILITY"])).toBeNull();
  });

  test("the question stands behind the message, or nothing does", () => {
    expect(suggestion("jsn", ["json"], "--")).toBe("; did you mean --json?");
    expect(suggestion("quux", ["json"])).toBe("");
  });
});
