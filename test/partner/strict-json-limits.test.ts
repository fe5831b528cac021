/** Tests that take too long to repeat for each mutant of `readStrictJson` (test/mutation/main.ts). */
import { expect, test } from "bun:test";
import { Refusal, refuse } from "../../src/partner/reasons.ts";
import { maxJsonValues, readStrictJson } from "../../src/partner/strict-json.ts";

test("readStrictJson refuses a million brackets without exhausting the stack", () => {
  expect(readStrictJson("[".repeat(1_000_000) + "]".repeat(1_000_000))).toBeInstanceOf(Refusal);
});

test("readStrictJson refuses a text that would use gigabytes of memory, before parsing it", () => {
  // The reader refuses the depth before it could find that the closing brackets are missing.
  expect(readStrictJson("[".repeat(2_000_000))).toEqual(refuse("JSON_TOO_DEEP"));
  expect(readStrictJson(`[${"{},".repeat(maxJsonValues)}{}]`)).toEqual(refuse("INPUT_TOO_LARGE"));
  const almost = "0,".repeat(maxJsonValues - 1);
  expect(readStrictJson(`[${almost}[]]`)).toEqual(refuse("INPUT_TOO_LARGE"));
  expect(readStrictJson(`[${almost}{}]`)).toEqual(refuse("INPUT_TOO_LARGE"));
  expect(readStrictJson(`[${almost}0,0]`)).toEqual(refuse("INPUT_TOO_LARGE"));
  expect(readStrictJson(`[${almost}0]`)).toBeArrayOfSize(maxJsonValues);
});
