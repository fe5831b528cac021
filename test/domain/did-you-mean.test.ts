import { expect, test } from "bun:test";
import { findSimilarWord, suggestWord } from "../../src/domain/did-you-mean.ts";

const known = ["list", "rotate", "compromise", "jwks", "history", "import", "per-day", "per-minute"];

test.each([
  ["LIST", "list"],
  ["comp", "compromise"],
  ["hsitory", "history"],
  ["rottatte", "rotate"],
  ["jkws", "jwks"],
  ["per_minute", "per-minute"],
])("findSimilarWord finds for the unknown word %p the known word %p", (given, word) => {
  expect(findSimilarWord(given, known)).toBe(word);
});

test.each([["delete"], [""], ["x"], ["l".repeat(1000)], ["hi"], ["lixt!"], ["yrotsih"], ["per"]])(
  "findSimilarWord finds no known word for the unknown word %p",
  (given) => {
    expect(findSimilarWord(given, known)).toBeNull();
  },
);

test("suggestWord returns a question with the similar word, or an empty text if no known word is similar", () => {
  expect(suggestWord("jsn", ["json"], "--")).toBe("; did you mean --json?");
  expect(suggestWord("quux", ["json"])).toBe("");
});
