import { expect, test } from "bun:test";
import { firstDifference, isSameSecond, readOuterMembers } from "../../src/partner/outer-members.ts";
import type { Refusal } from "../../src/partner/reasons.ts";
import type { JsonValue } from "../../src/partner/strict-json.ts";

test.each<[signed: string, outer: JsonValue, place: string | null]>([
  ['{"a":[1,{"b":2}],"c":null}', { c: null, a: [1, { b: 2 }] }, null],
  ['{"a":[1,{"b":2}]}', { a: [1, { b: 3 }] }, "result.a[1].b"],
  ['{"a":[1,2]}', { a: [1] }, "result.a"],
  ['{"a":["x"]}', { a: "x" }, "result.a"],
  ['{"a":{}}', { a: [] }, "result.a"],
  ['{"a":{"b":1}}', { a: {} }, "result.a.b"],
  ['{"a":1}', { a: 1, b: 1 }, "result"],
  ["7", "7", "result"],
  // Every object inherits this member, and an empty one is what it looks like.
  ['{"__proto__":{}}', { b: 1 }, "result.__proto__"],
])("%s, and unsigned %j, differ first at %p", (signed, outer, place) => {
  expect(firstDifference(JSON.parse(signed), outer, "result")).toBe(place);
});

test("a time that cannot be read is of no second", () => {
  const times = ["", "1970-01-01T00:00:00.999Z", "1970-01-01T00:00:01Z"];
  expect(times.map((time) => isSameSecond(time, 0))).toEqual([false, true, false]);
});

test("what is missing of an envelope is named", () => {
  const texts = {
    verificationId: "",
    verifiedAt: "",
    issuer: "",
    audience: "",
    signature: "",
    signatureKid: "",
  };
  const whole = { ...texts, result: {} };
  expect(readOuterMembers(whole)).toBe(whole as never);
  for (const member of Object.keys(texts))
    expect(readOuterMembers({ ...whole, [member]: 7 })).toMatchObject({
      reason: "ENVELOPE_MALFORMED",
      detail: `The member ${member} is missing or not a text.`,
    });
  const { reason, detail } = readOuterMembers({ ...whole, result: [] }) as Refusal;
  expect([reason, detail]).toEqual(["ENVELOPE_MALFORMED", "The member result is missing or not an object."]);
});
