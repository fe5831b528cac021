import { expect, test } from "bun:test";
import { parsePolicy } from "../../src/domain/policy.ts";

const rule = { certificate: ["VERIFIED"], sources: ["new_system"], categories: [], minDaysRemaining: 0 };
const document = (changes: object) => JSON.stringify({ version: "1", purposes: {}, ...changes });
const oneRule = (changes: object) =>
  document({ purposes: { EMPLOYER_BACKGROUND_CHECK: { ...rule, ...changes } } });

test("a policy without rules is accepted", () => {
  expect(parsePolicy(document({}))).toEqual({ version: "1", purposes: {} });
});

test("a byte order mark before a policy is removed, and a byte order mark inside a text stays", () => {
  const policy = oneRule({ categories: ["\ufeffA"] });
  for (const text of [policy, `\ufeff${policy}`]) expect(parsePolicy(text)).toEqual(JSON.parse(policy));
});

// biome-ignore format: a table reads better in rows
test.each<[string, string, RegExp]>([
  ["malformed JSON", "{", /^the policy is not valid JSON$/],
  ["another JSON value than an object", "7", /^the policy is not valid: the document: /],
  ["an empty object", "{}", /^the policy is not valid: version: missing$/],
  ["no version", JSON.stringify({ purposes: {} }), /: version: /],
  ["a version that is too long", document({ version: "v".repeat(65) }), /: version: must be 1 to 64/],
  ["a purpose that does not exist", document({ purposes: { NO_SUCH_PURPOSE: rule } }),
    /: purposes\.NO_SUCH_PURPOSE: /],
  ["a mistyped member", document({ purpose: {} }), /: purpose: /],
  ["a mistyped member of a rule", oneRule({ minDayRemaining: 3 }), /CHECK\.minDayRemaining: /],
  ["an unknown certificate", oneRule({ certificate: ["GOOD"] }), /CHECK\.certificate\.0: /],
  ["an unknown source", oneRule({ sources: ["paper"] }), /CHECK\.sources\.0: /],
  ["an empty category", oneRule({ categories: [""] }), /CHECK\.categories\.0: /],
  ["a negative number of days", oneRule({ minDaysRemaining: -1 }), /CHECK\.minDaysRemaining: /],
  ["more than a hundred years", oneRule({ minDaysRemaining: 36_501 }), /CHECK\.minDaysRemaining: /],
  ["no categories", oneRule({ categories: undefined }), /CHECK\.categories: /],
])("the refusal of a policy with %s names the wrong member", (_what, text, message) => {
  const refusal = { code: "CONFIG_INVALID", message: expect.stringMatching(message) };
  expect(() => parsePolicy(text)).toThrow(expect.objectContaining(refusal));
});
