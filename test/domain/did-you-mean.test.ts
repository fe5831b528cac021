import { describe, expect, test } from "bun:test";
import { didYouMean, suggestion } from "../../src/domain/did-you-mean.ts";

describe("did you mean", () => {
  const known = ["list", "rotate", "compromise", "jwks", "history", "import"];

  test.each([
    ["LIST", "list"],
    ["comp", "compromise"],

    ["hsitory", "history"],

    ["rottatte", "rotate"],
    ["jkws", "jwks"],
  ])("%p means %p", (given, word) => {
    expect(didYouMean(given, known)).toBe(word);
  });

  test.each([["delete"], [""], ["x"], ["l".repeat(1000)], ["hi"], ["lixt!"], ["yrotsih"]])(
    "%p means nothing known",
    (given) => {
      expect(didYouMean(given, known)).toBeNull();
    },
  );

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
