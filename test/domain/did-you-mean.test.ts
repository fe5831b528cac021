import { expect, test } from "bun:test";
import { didYouMean, suggestion } from "../../src/domain/did-you-mean.ts";

const known = ["list", "rotate", "compromise", "jwks", "history", "import"];

test.each([
  ["LIST", "list"],
  ["comp", "compromise"],
  ["hsitory", "history"],

  ["rottatte", "rotate"],
  ["jkws", "jwks"],
])("didYouMean suggests for the unknown word %p the known word %p", (given, word) => {
  expect(didYouMean(given, known)).toBe(word);
});

test.each([["delete"], [""], ["x"], ["l".repeat(1000)], ["hi"], ["lixt!"], ["yrotsih"]])(
  "didYouMean suggests nothing for the unknown word %p",
  (given) => {
    expect(didYouMean(given, known)).toBeNull();
  },
);

test("didYouMean treats underscores and dashes alike", () => {
  expect(didYouMean("per_minute", ["per-day", "per-minute"])).toBe("per-minute");
});

test("didYouMean suggests nothing for a common beginning of several words", () => {
  expect(didYouMean("body", ["BODYA_INVIGILATOR_ELIGIBILITY", "BODYB_INVIGILATOR_ELIGIBILITY"])).toBeNull();
});

test("suggestion returns a question, or an empty text if no known word is similar", () => {
  expect(suggestion("jsn", ["json"], "--")).toBe("; did you mean --json?");
  expect(suggestion("quux", ["json"])).toBe("");
});
