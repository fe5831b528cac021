import { expect, test } from "bun:test";
import { readEnvelopes } from "../../src/partner/input.ts";

/** Writes each item in short: its line, its index in an array, and its value as JSON or the reason of its refusal. */
const find = (input: string | Uint8Array) =>
  [...readEnvelopes(input)].map((item) => {
    const place = `${item.place.line ?? "-"}/${item.place.index ?? "-"}`;
    return `${place} ${"value" in item ? JSON.stringify(item.value) : item.refusal.reason}`;
  });

test.each(["", "\n", " \t\r\n", "\uFEFF", "[]", '{"count":0,"results":[]}', "[]\n[]\n"])(
  "readEnvelopes finds nothing in %p",
  (text) => {
    expect(find(text)).toEqual([]);
  },
);

const notUtf8 = Buffer.concat([Buffer.from('{"a":1}\n"'), Buffer.of(0xff), Buffer.from('"\n{"b":2}')]);
const lines = '{"a":1}\r\n\n  \na.b.c\n[{"b":2}]\n{"count":1,"results":[3]}';
const twice = '{"a":1}\n{"b":2,"b":2}\n{"c":3}';
const named = '{"signature":"a.b.c","results":[]}';
const indented = '{\n  "reasons": [\n    "A"\n  ],\n  "profile": {},\n';
const array = '[ {"a":"]},[{"}, {"b":1,"b":2} ,"x\\"]"]';
const [mismatch, duplicate] = ["-/- BATCH_COUNT_MISMATCH", "-/- JSON_DUPLICATE_MEMBER"];
test.each<[what: string, input: string | Uint8Array, ...found: string[]]>([
  ["an object as one envelope", '{"a":1}', '-/- {"a":1}'],
  ["an indented object as one envelope", '{\n  "a": 1\n}\n', '-/- {"a":1}'],
  ["an object after a byte order mark", '\uFEFF{"a":1}', '-/- {"a":1}'],
  ["any other text as a bare signature", "a.b.c", '-/- "a.b.c"'],
  ["a bare signature with a line break", "a.b.c\r\n", '-/- "a.b.c"'],
  ["a bare signature with its white space", " a.b.c \n", '-/- " a.b.c "'],
  ["a JSON text as a bare signature", '"a.b.c"', '-/- "a.b.c"'],
  ["each element of an array", '[{"a":1},"a.b.c",7]', '-/0 {"a":1}', '-/1 "a.b.c"', "-/2 7"],
  ["each envelope of a batch", '{"count":1,"results":[{"a":1}]}', '-/0 {"a":1}'],
  ["an envelope with a member called results", named, `-/- ${named}`],
  ["lines with their numbers", lines, '1/- {"a":1}', '4/- "a.b.c"', '5/0 {"b":2}', "6/0 3"],
  ["a batch without a count as refused", '{"results":[]}', mismatch],
  ["a batch without an array as refused", '{"count":1,"results":{}}', "-/- BATCH_MALFORMED"],
  ["only the malformed line as refused", '{"a":\n{"b":2}\n', "1/- JSON_MALFORMED", '2/- {"b":2}'],
  ["only the line with a duplicate", twice, '1/- {"a":1}', "2/- JSON_DUPLICATE_MEMBER", '3/- {"c":3}'],
  ["only the line that is not UTF-8 as refused", notUtf8, '1/- {"a":1}', "2/- INPUT_NOT_UTF8", '3/- {"b":2}'],
  ["a damaged indented document as one refusal", indented, "-/- JSON_MALFORMED"],
  [
    "strings with brackets in an array",
    array,
    '-/0 {"a":"]},[{"}',
    "-/1 JSON_DUPLICATE_MEMBER",
    '-/2 "x\\"]"',
  ],
])("readEnvelopes reads %s", (_what, input, ...found) => {
  expect(find(input)).toEqual(found);
});

test("readEnvelopes refuses a batch with a wrong count, and still reads its envelopes", () => {
  for (const count of ["2", '"1"', "null", "1.5"])
    expect(find(`{"count":${count},"results":[{"a":1}]}`)).toEqual([mismatch, '-/0 {"a":1}']);
});

test("readEnvelopes refuses only the malformed envelope of a batch", () => {
  const batch = '{ "results" : [{"b":1,"b":2},{"c":[1,{}]}], "count" : 2 }';
  expect(find(batch)).toEqual(["-/0 JSON_DUPLICATE_MEMBER", '-/1 {"c":[1,{}]}']);
});

test.each([
  '{"count":1,"results":[],"results":[{"a":1}]}',
  '{"count":1,"count":1,"results":[{"a":1}]}',
  '{"count":1,"results":[{"a":1}],"\\u0072esults":[{"a":1}]}',
  '{"count":1,"results":[{"a":1}],"meta":{"x":1,"x":2}}',
  '{"count":2,"results":[{"a":1,"a":2}]}',
  '{"signature":"a","signature":"b","results":[{"a":1}]}',
])("readEnvelopes refuses a batch with a duplicate member: %s", (batch) => {
  expect(find(batch)).toEqual([duplicate]);
});
