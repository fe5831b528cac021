import { describe, expect, test } from "bun:test";
import { decodeBase64url, decodeBase64urlPortably, encodeBase64url } from "../../src/partner/base64url.ts";

const foreign = [
  "AA==",
  "AAA=",
  "AA ",
  " AA",
  "A A=",
  "AA\n",
  "A\fAA",
  "AA+A",
  "AA/A",
  "AAé",
  "AA\u00a0A",
  "AA\ud83d",
  "AA.A",
];
const spareBits = ["AB", "AP", "A_", "AAB", "AAC", "AAD", "AA_"];
const impossible = ["A", "AAAAA"];

describe.each([
  ["with the runtime's decoder", decodeBase64url],
  ["portably", decodeBase64urlPortably],
])("decoding %s", (_name, decode) => {
  test("gives back every byte string of up to 70 bytes", () => {
    for (let length = 0; length <= 70; length++) {
      const bytes = Uint8Array.from({ length }, (_, index) => (index * 151 + length * 37) % 256);
      const text = Buffer.from(bytes).toString("base64url");
      expect(decode(text)).toEqual(bytes);
      expect(encodeBase64url(bytes)).toBe(text);
    }
  });

  test("refuses every other spelling", () => {
    for (const text of [...foreign, ...spareBits, ...impossible])
      expect([text, decode(text)]).toEqual([text, null]);
  });

  test("accepts one spelling only of each two-character and three-character text", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const endings = [...alphabet].filter((character) => decode(`A${character}`) !== null);
    expect(endings.join("")).toBe("AQgw");
    expect([...alphabet].filter((character) => decode(`AA${character}`) !== null)).toHaveLength(16);
  });
});
