import { expect, test } from "bun:test";
import {
  decodeBase64,
  decodeBase64Hash,
  decodeBase64url,
  encodeBase64,
  encodeBase64url,
} from "../../src/partner/base64.ts";

// biome-ignore format: a list reads better in rows
const foreign = [
  "AA==", "AAA=", "AA ", " AA", "A A=", "AA\n", "A\fAA", "AA+A", "AA/A", "AAé", "AA\u00a0A", "AA\ud83d",
  "AA.A",
];
const spareBits = ["AB", "AP", "A_", "AAB", "AAC", "AAD", "AA_"];
const impossible = ["A", "AAAAA"];

test("base64url encoding and decoding is exact for byte strings of 0 to 70 bytes", () => {
  for (let length = 0; length <= 70; length++) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 151 + length * 37) % 256);
    const text = Buffer.from(bytes).toString("base64url");
    expect(decodeBase64url(text)).toEqual(bytes);
    expect(encodeBase64url(bytes)).toBe(text);
  }
});

test("base64url decoding refuses every other spelling of a byte string", () => {
  for (const text of [...foreign, ...spareBits, ...impossible])
    expect([text, decodeBase64url(text)]).toEqual([text, null]);
});

test("base64url decoding accepts only endings whose spare bits are zero", () => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const endings = [...alphabet].filter((character) => decodeBase64url(`A${character}`) !== null);
  expect(endings.join("")).toBe("AQgw");
  expect([...alphabet].filter((character) => decodeBase64url(`AA${character}`) !== null)).toHaveLength(16);
});

test("base64 decoding accepts only one spelling of each byte string", () => {
  for (let length = 0; length <= 70; length++) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 151 + length * 37) % 256);
    const text = Buffer.from(bytes).toString("base64");
    expect(encodeBase64(bytes)).toBe(text);
    expect(decodeBase64(text)).toEqual(bytes);
    if (text.endsWith("=")) expect(decodeBase64(text.replace(/=+$/, ""))).toBeNull();
  }
  const others = ["=", "==", "====", "A===", "AA", "AA=", "AB==", "AAB=", "AA-A", "AA_A", "AA A", "AAA\n"];
  expect(others.map(decodeBase64)).toEqual(others.map(() => null));
  const hashes = [32, 31, 33, 0].map((length) => encodeBase64(new Uint8Array(length)));
  expect([...hashes, "A"].map((hash) => decodeBase64Hash(hash) !== null)).toEqual([
    true,
    ...Array(4).fill(false),
  ]);
});
