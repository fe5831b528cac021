import { expect, test } from "bun:test";
import { readJwsHeader, readJwsPart, splitCompactJws } from "../../src/partner/jws.ts";
import { Refusal } from "../../src/partner/reasons.ts";

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text));
const encoded = (header: unknown) => Buffer.from(JSON.stringify(header)).toString("base64url");

test("a JWS must have exactly three parts, of which the header must not be empty", () => {
  const isRefused = (text: string) => splitCompactJws(text) instanceof Refusal;
  expect(["a.e30.AA", "a..", "e30.e30.AA"].map(isRefused)).toEqual([false, false, false]);
  expect(["", "e30", "e30.e30", ".e30.AA", "..", "a.e30.AA."].map(isRefused)).toEqual(Array(6).fill(true));
});

test.each([
  ["[]", "JWS_MALFORMED", "The payload is no JSON object."],
  ["{", "JWS_MALFORMED", "The payload is not JSON in UTF-8."],
  ['{"a":1,"a":1}', "JSON_DUPLICATE_MEMBER", "The payload is not strict JSON."],
])("the JWS part %s is refused as %s", (text, reason, detail) => {
  expect(readJwsPart(bytesOf(text), "payload")).toMatchObject({ reason, detail } as object);
});

test("a JWS part that is not UTF-8 is refused", () => {
  const detail = "The header is not JSON in UTF-8.";
  expect(readJwsPart(Uint8Array.of(0xff), "header")).toMatchObject({ reason: "JWS_MALFORMED", detail });
});

// biome-ignore format: a table reads better in rows
test.each<[header: unknown, read: object]>([
  [{ alg: "RS256", kid: "k" }, { kid: "k", typ: null }],
  [{ alg: "RS256", kid: "k", typ: "JWT" }, { kid: "k", typ: "JWT" }],
  [{ alg: "RS256", kid: "k", typ: 7 }, { reason: "HEADER_TYP" }],
  [{ alg: "RS256", kid: "k", typ: null }, { reason: "HEADER_TYP" }],
  [{ alg: "RS256", kid: "" }, { reason: "HEADER_KID" }],
  [[], { detail: "The header is no JSON object." }],
])("the JWS header %j gives the result %j", (header, read) => {
  expect(readJwsHeader(encoded(header))).toMatchObject(read);
});
