import { expect, test } from "bun:test";
import { refuse } from "../../src/partner/reasons.ts";
import {
  isJsonObject,
  isJsonThoughRefused,
  type JsonErrorCode,
  maxJsonDepth,
  readStrictJson,
  sliceJsonMembers,
  sliceJsonParts,
} from "../../src/partner/strict-json.ts";

function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

/** The longest text, in characters, that is parsed whatever its content is. */
const harmlessLength = 1024 * 1024;

const refused: [string, string | Uint8Array, JsonErrorCode][] = [
  ["an empty text", "", "JSON_MALFORMED"],
  ["trailing bytes", "{} {}", "JSON_MALFORMED"],
  ["a trailing comma", "[1,]", "JSON_MALFORMED"],
  ["a byte order mark", "\uFEFF{}", "JSON_MALFORMED"],
  ["a byte order mark in bytes", Buffer.from("\uFEFF{}"), "JSON_MALFORMED"],
  ["a raw control character", '"\u0000"', "JSON_MALFORMED"],
  ["bytes that are not UTF-8", Uint8Array.of(0x22, 0xff, 0x22), "INPUT_NOT_UTF8"],
  ["overlong UTF-8", Uint8Array.of(0x22, 0xc0, 0x80, 0x22), "INPUT_NOT_UTF8"],
  ["a duplicate member", '{"a":1,"a":1}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate in another spelling", '{"a":1,"\\u0061":2}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate deep inside", '[{"x":[{"y":{"a":1,"b":2,"a":3}}]}]', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate whose first value is nested", '{"a":{"b":{"c":1}},"a":2}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate with white space before the colon", '{"a" : 1,"a"\n\t\r :2}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate __proto__", '{"__proto__":1,"__proto__":2}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate empty name", '{"":1,"":2}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate with escaped quotes", '{"a\\"":1,"a\\u0022":2}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate after escaped backslashes", '{"x":"\\\\","a":1,"a":2}', "JSON_DUPLICATE_MEMBER"],
  ["a lone surrogate", '"\\ud800"', "JSON_LONE_SURROGATE"],
  ["a lone surrogate in a member name", '{"\\uDC00":1}', "JSON_LONE_SURROGATE"],
  ["an unescaped lone surrogate", '"\ud800"', "JSON_LONE_SURROGATE"],
  ["an infinite number", "[1e400]", "JSON_NUMBER_RANGE"],
  ["a whole number beyond 2^53", "9007199254740993", "JSON_NUMBER_RANGE"],
  ["a whole number below -2^53", "-9007199254740993", "JSON_NUMBER_RANGE"],
  ["too deep nesting", nested(maxJsonDepth + 1), "JSON_TOO_DEEP"],
  [
    "too deep objects",
    `${'{"a":'.repeat(maxJsonDepth + 1)}1${"}".repeat(maxJsonDepth + 1)}`,
    "JSON_TOO_DEEP",
  ],
  ["a lone surrogate before a number out of range", '["\\ud800",1e400]', "JSON_LONE_SURROGATE"],
  ["a number out of range before a lone surrogate", '[1e400,"\\ud800"]', "JSON_NUMBER_RANGE"],
  ["a lone surrogate before too deep nesting", `["\\ud800",${nested(maxJsonDepth)}]`, "JSON_TOO_DEEP"],
  ["a lone surrogate in a duplicate member", '{"a":"\\ud800","a":1}', "JSON_DUPLICATE_MEMBER"],
  ["an unterminated string as the whole text", '"abc', "JSON_MALFORMED"],
  ["an unterminated string", '["abc', "JSON_MALFORMED"],
  ["a string that ends in an escaped quote", '["abc\\"', "JSON_MALFORMED"],
];

for (const [name, text, problem] of refused) {
  test(`readStrictJson refuses ${name}`, () => expect(readStrictJson(text)).toEqual(refuse(problem)));
}

// biome-ignore format: a table reads better in rows
const accepted = [
  '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}', '{"a":"\\"a\\":1","b":"{\\"c\\":1}"}',
  '{"a":"\\\\","b":"\\\\\\\\"}', '{"text":"a:b \\": c"}', '["a", "b" , "c"]', '{"A":1,"a":2}',
  '{"a" :1,"b"\t:2}', '{"constructor":1,"toString":2,"hasOwnProperty":3}', '{"1":1,"0":2,"01":3}',
  '" \\ud83d\\ude00 "', "[9007199254740991, -9007199254740991, 0.1, 1e10, -0]",
  nested(maxJsonDepth),
  `[${"[],{},".repeat(maxJsonDepth)}0]`, " \t\r\n null \n",
];

for (const text of accepted) {
  test(`readStrictJson accepts ${text.slice(0, 60)}`, () =>
    expect(readStrictJson(text)).toEqual(JSON.parse(text)));
}

test("readStrictJson accepts __proto__ as an ordinary member", () => {
  const reading = readStrictJson('{"__proto__":{"admin":true}}');
  const value = reading as object;
  expect(Object.keys(value)).toEqual(["__proto__"]);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
});

test("readStrictJson accepts UTF-8 bytes", () => {
  expect(readStrictJson(Buffer.from('{"name":"Adé"}'))).toEqual({ name: "Adé" });
});

test("isJsonObject is true for an object, and for no other value", () => {
  expect([{}, { a: 1 }].map(isJsonObject)).toEqual([true, true]);
  expect([[], null, "{}", 1, undefined].map(isJsonObject)).toEqual(Array(5).fill(false));
});

test.each([
  ["JSON_DUPLICATE_MEMBER", 1, true],
  ["JSON_NUMBER_RANGE", 1, true],
  ["JSON_LONE_SURROGATE", 1, true],
  ["JSON_TOO_DEEP", harmlessLength, true],
  ["JSON_TOO_DEEP", harmlessLength + 1, false],
  ["JSON_MALFORMED", 1, false],
  ["INPUT_NOT_UTF8", 1, false],
  ["INPUT_TOO_LARGE", 1, false],
] as [JsonErrorCode, number, boolean][])(
  "isJsonThoughRefused, given the refusal %s of a text of %d characters, returns %p",
  (reason, length, was) => expect(isJsonThoughRefused(" ".repeat(length), refuse(reason))).toBe(was),
);

test.each([
  ["[]", []],
  [" { } ", []],
  ["[1]", ["1"]],
  [
    '[1, "a,]b\\"," , [2,{"x":[3,4]}] ,{"y":5,"z":"}"}]',
    ["1", '"a,]b\\","', '[2,{"x":[3,4]}]', '{"y":5,"z":"}"}'],
  ],
  ['{"a":1,"b": [1,2] ,"c":{"d":1,"e":2}}', ['"a":1', '"b": [1,2]', '"c":{"d":1,"e":2}']],
])("sliceJsonParts returns the parts of %s", (text, parts) => expect(sliceJsonParts(text)).toEqual(parts));

test("sliceJsonMembers returns the members of an object exactly as they are written", () => {
  const text = '{ "a" : 1 , "\\u0061":"x:y","a\\"b": {"c":[1, 2]} }';
  expect(sliceJsonMembers(text)).toEqual([
    { name: "a", value: "1" },
    { name: "a", value: '"x:y"' },
    { name: 'a"b', value: '{"c":[1, 2]}' },
  ]);
});

test("readStrictJson refuses a text of more than a megabyte that is nested too deeply, before parsing it", () => {
  const longest = "[ ".repeat(maxJsonDepth + 1).padEnd(harmlessLength, " ");
  expect(readStrictJson(longest)).toEqual(refuse("JSON_MALFORMED"));
  expect(readStrictJson(`${longest} `)).toEqual(refuse("JSON_TOO_DEEP"));
  const objects = '{"a":'.repeat(maxJsonDepth + 1).padEnd(harmlessLength + 1, " ");
  expect(readStrictJson(objects)).toEqual(refuse("JSON_TOO_DEEP"));
  expect(readStrictJson(`"${longest}`)).toEqual(refuse("JSON_MALFORMED"));
});
