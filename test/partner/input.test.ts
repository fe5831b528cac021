import { expect, test } from "bun:test";
import { readEnvelopes } from "../../src/partner/input.ts";

/** A short form: the value, or the reason, with its place. */
function find(input: string | Uint8Array): unknown[] {
  return [...readEnvelopes(input)].map((item) => {
    const place = `${item.place.line ?? "-"}/${item.place.index ?? "-"}`;
    return [place, "value" in item ? item.value : item.refusal.reason];
  });
}

test.each(["", "\n", " \t\r\n", "\uFEFF", "[]", '{"count":0,"results":[]}', "[]\n[]\n"])(
  "readEnvelopes finds nothing in %p",
  (text) => {
    expect(find(text)).toEqual([]);
  },
);

test("readEnvelopes reads an object as one envelope", () => {
  expect(find('{"a":1}')).toEqual([["-/-", { a: 1 }]]);
  expect(find('{\n  "a": 1\n}\n')).toEqual([["-/-", { a: 1 }]]);
  expect(find('\uFEFF{"a":1}')).toEqual([["-/-", { a: 1 }]]);
});

test("readEnvelopes reads any other text as a bare signature, with its white space", () => {
  expect(find("a.b.c")).toEqual([["-/-", "a.b.c"]]);
  expect(find("a.b.c\r\n")).toEqual([["-/-", "a.b.c"]]);
  expect(find(" a.b.c \n")).toEqual([["-/-", " a.b.c "]]);
  expect(find('"a.b.c"')).toEqual([["-/-", "a.b.c"]]);
});

test("readEnvelopes reads the envelopes in arrays and batches", () => {
  expect(find('[{"a":1},"a.b.c",7]')).toEqual([
    ["-/0", { a: 1 }],
    ["-/1", "a.b.c"],
    ["-/2", 7],
  ]);
  expect(find('{"count":1,"results":[{"a":1}]}')).toEqual([["-/0", { a: 1 }]]);
});

test("readEnvelopes reads an envelope with a member called results as an envelope", () => {
  expect(find('{"signature":"a.b.c","results":[]}')).toEqual([["-/-", { signature: "a.b.c", results: [] }]]);
});

test("readEnvelopes refuses a batch with a wrong count, and still reads its envelopes", () => {
  for (const count of ["2", '"1"', "null", "1.5"]) {
    expect(find(`{"count":${count},"results":[{"a":1}]}`)).toEqual([
      ["-/-", "BATCH_COUNT_MISMATCH"],
      ["-/0", { a: 1 }],
    ]);
  }
  expect(find('{"results":[]}')).toEqual([["-/-", "BATCH_COUNT_MISMATCH"]]);
  expect(find('{"count":1,"results":{}}')).toEqual([["-/-", "BATCH_MALFORMED"]]);
});

test("readEnvelopes reads lines of envelopes and signatures with their line numbers", () => {
  expect(find('{"a":1}\r\n\n  \na.b.c\n[{"b":2}]\n{"count":1,"results":[3]}')).toEqual([
    ["1/-", { a: 1 }],
    ["4/-", "a.b.c"],
    ["5/0", { b: 2 }],
    ["6/0", 3],
  ]);
});

test("readEnvelopes refuses only the malformed line of NDJSON", () => {
  expect(find('{"a":\n{"b":2}\n')).toEqual([
    ["1/-", "JSON_MALFORMED"],
    ["2/-", { b: 2 }],
  ]);
  expect(find('{"a":1}\n{"b":2,"b":2}\n{"c":3}')).toEqual([
    ["1/-", { a: 1 }],
    ["2/-", "JSON_DUPLICATE_MEMBER"],
    ["3/-", { c: 3 }],
  ]);
});

test("readEnvelopes refuses only the line that is not UTF-8", () => {
  const bytes = Buffer.concat([Buffer.from('{"a":1}\n"'), Buffer.of(0xff), Buffer.from('"\n{"b":2}')]);
  expect(find(bytes)).toEqual([
    ["1/-", { a: 1 }],
    ["2/-", "INPUT_NOT_UTF8"],
    ["3/-", { b: 2 }],
  ]);
});

test("readEnvelopes returns one refusal for a damaged indented document", () => {
  expect(find('{\n  "reasons": [\n    "A"\n  ],\n  "profile": {},\n')).toEqual([["-/-", "JSON_MALFORMED"]]);
});

test("readEnvelopes refuses only the malformed element of an array", () => {
  expect(find('[ {"a":"]},[{"}, {"b":1,"b":2} ,"x\\"]"]')).toEqual([
    ["-/0", { a: "]},[{" }],
    ["-/1", "JSON_DUPLICATE_MEMBER"],
    ["-/2", 'x"]'],
  ]);
  expect(find('{ "results" : [{"b":1,"b":2},{"c":[1,{}]}], "count" : 2 }')).toEqual([
    ["-/0", "JSON_DUPLICATE_MEMBER"],
    ["-/1", { c: [1, {}] }],
  ]);
});

test("readEnvelopes refuses a batch with a duplicate member", () => {
  const batches = [
    '{"count":1,"results":[],"results":[{"a":1}]}',
    '{"count":1,"count":1,"results":[{"a":1}]}',
    '{"count":1,"results":[{"a":1}],"\\u0072esults":[{"a":1}]}',
    '{"count":1,"results":[{"a":1}],"meta":{"x":1,"x":2}}',
    '{"count":2,"results":[{"a":1,"a":2}]}',
    '{"signature":"a","signature":"b","results":[{"a":1}]}',
  ];
  for (const batch of batches) expect(find(batch)).toEqual([["-/-", "JSON_DUPLICATE_MEMBER"]]);
});
