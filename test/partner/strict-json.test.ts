import { describe, expect, test } from "bun:test";
import { Refusal, refuse } from "../../src/partner/reasons.ts";
import {
  type JsonReason,
  maxJsonDepth,
  maxJsonValues,
  readStrictJson,
} from "../../src/partner/strict-json.ts";

function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

const refused: [string, string | Uint8Array, JsonReason][] = [
  ["nothing", "", "JSON_MALFORMED"],
  ["trailing bytes", "{} {}", "JSON_MALFORMED"],
  ["a trailing comma", "[1,]", "JSON_MALFORMED"],
  ["a byte order mark", "\uFEFF{}", "JSON_MALFORMED"],
  ["a byte order mark in bytes", Buffer.from("\uFEFF{}"), "JSON_MALFORMED"],
  ["a raw control character", '"\u0000"', "JSON_MALFORMED"],
  ["bytes that are not UTF-8", Uint8Array.of(0x22, 0xff, 0x22), "INPUT_NOT_UTF8"],
  ["overlong UTF-8", Uint8Array.of(0x22, 0xc0, 0x80, 0x22), "INPUT_NOT_UTF8"],
  ["a duplicate", '{"a":1,"a":1}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate in another spelling", '{"a":1,"\\u0061":2}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate deep inside", '[{"x":[{"y":{"a":1,"b":2,"a":3}}]}]', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate whose first value is nested", '{"a":{"b":{"c":1}},"a":2}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate with white space before the colon", '{"a" : 1,"a"\n\t\r :2}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate __proto__", '{"__proto__":1,"__proto__":2}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate empty name", '{"":1,"":2}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate with escaped quotes", '{"a\\"":1,"a\\u0022":2}', "JSON_DUPLICATE_MEMBER"],
  ["a duplicate after escaped backslashes", '{"x":"\\\\","a":1,"a":2}', "JSON_DUPLICATE_MEMBER"],
  ["half of a pair", '"\\ud800"', "JSON_LONE_SURROGATE"],
  ["half of a pair in a name", '{"\\uDC00":1}', "JSON_LONE_SURROGATE"],
  ["half of a pair, unescaped", '"\ud800"', "JSON_LONE_SURROGATE"],
  ["an infinite number", "[1e400]", "JSON_NUMBER_RANGE"],
  ["a whole number beyond 2^53", "9007199254740993", "JSON_NUMBER_RANGE"],
  ["too deep nesting", nested(maxJsonDepth + 1), "JSON_TOO_DEEP"],
];

describe("readStrictJson refuses", () => {
  for (const [name, text, problem] of refused) {
    test(name, () => expect(readStrictJson(text)).toEqual(refuse(problem)));
  }

  test("a million brackets without exhausting the stack", () => {
    expect(readStrictJson(nested(1_000_000))).toBeInstanceOf(Refusal);
  });

  test("what would take gigabytes in memory, before it is parsed", () => {
    // That the end is missing is never looked at.
    expect(readStrictJson("[".repeat(2_000_000))).toEqual(refuse("JSON_TOO_DEEP"));
    expect(readStrictJson(`[${"{},".repeat(maxJsonValues)}{}]`)).toEqual(refuse("INPUT_TOO_LARGE"));
  });
});

const accepted = [
  '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}',
  '{"a":"\\"a\\":1","b":"{\\"c\\":1}"}',
  '{"a":"\\\\","b":"\\\\\\\\"}',
  '{"text":"a:b \\": c"}',
  '["a", "b" , "c"]',
  '{"A":1,"a":2}',
  '{"constructor":1,"toString":2,"hasOwnProperty":3}',
  '{"1":1,"0":2,"01":3}',
  '" \\ud83d\\ude00 "',
  "[9007199254740991, -9007199254740991, 0.1, 1e10, -0]",
  nested(maxJsonDepth),
  " \t\r\n null \n",
];

describe("readStrictJson accepts", () => {
  for (const text of accepted) {
    test(text.slice(0, 60), () => expect(readStrictJson(text)).toEqual(JSON.parse(text)));
  }

  test("__proto__ as an ordinary member", () => {
    const reading = readStrictJson('{"__proto__":{"admin":true}}');
    const value = reading as object;
    expect(Object.keys(value)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test("bytes as well as text", () => {
    expect(readStrictJson(Buffer.from('{"name":"Adé"}'))).toEqual({ name: "Adé" });
  });
});
