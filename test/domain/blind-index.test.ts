import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { secrets } from "../harness/samples.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const index = createBlindIndex(Uint8Array.from({ length: 32 }, (_, i) => i));

test("a blind index is the first half of a keyed HMAC-SHA-256 of the kind and the value", () => {
  // Computed with Python's hmac module.
  expect(hex(index.nin("12345678901"))).toBe("74e0c9885ebe8e2cb63cb6280a78c933");
  expect(hex(index.email("ada@example.com"))).toBe("ab7633e9aa5fb26b48b11b6c9f0080f9");
});

test("a blind index differs with the key and with the kind", () => {
  const other = createBlindIndex(secrets.blindIndexKey);
  const all = [
    index.nin("08031234567"),
    index.phone("08031234567"),
    index.email("08031234567"),
    other.nin("08031234567"),
  ];
  expect(new Set(all.map(hex)).size).toBe(4);
});

test("the blind index of an e-mail address ignores case, outer white space and Unicode form", () => {
  const one = hex(index.email("amélie@example.com"));
  expect(hex(index.email("  AMÉLIE@Example.com\n"))).toBe(one);
  expect(hex(index.email("ame\u0301lie@example.com"))).toBe(one);
  expect(hex(index.email("amelie@example.com"))).not.toBe(one);
});
