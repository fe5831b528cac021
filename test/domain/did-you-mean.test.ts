import { expect, test } from "bun:test";
import { didYouMean, suggestion } from "../../src/domain/did-you-mean.ts";

const known = ["list", "rotate", "compromise", "jwks", "history", "import"];

test.each([
  ["LIST", "list"],
  ["comp", "compromise"],

  ["hsitory", "history"],

  ["rottatte", "rotate"],
  ["jkws", "jwks"],
])("the unknown word %p is taken for %p", (given, word) => {
  expect(didYouMean(given, known)).toBe(word);
});

test.each([["delete"], [""], ["x"], ["l".repeat(1000)], ["hi"], ["lixt!"], ["yrotsih"]])(
  "the unknown word %p is like no known word",
  (given) => {
    expect(didYouMean(given, known)).toBeNull();
  },
);

test("didYouMean treats underscores and dashes alike", () => {
  expect(didYouMean("per_minute", ["per-day", "per-minute"])).toBe("per-minute");
});

test("a common beginning of several words is taken for none", () => {
  expect(didYouMean("body", ["BODYA_INVIGILATOR_ELIGIBILITY", "BODYB_INVIGILATOR_ELIGIBILITY"])).toBeNull();
});

test("suggestion gives a question, or an empty text", () => {
  expect(suggestion("jsn", ["json"], "--")).toBe("; did you mean --json?");
  expect(suggestion("quux", ["json"])).toBe("");
});
