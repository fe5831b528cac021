import { describe, expect, test } from "bun:test";
import { createPublicKey, verify } from "node:crypto";
import { endsAsEnvelope, readLineBlock } from "../../src/partner/input.ts";
import { createKeySet } from "../../src/partner/key-set.ts";
import { decodeUtf8 } from "../../src/partner/strict-json.ts";
import { unopened } from "../../src/partner/verification.ts";
import { verifyEnvelopeSync } from "../../src/partner/verify-envelope.ts";
import { cutWrittenEnvelope } from "../../src/partner/written-envelope.ts";
import { audience, envelope, issuer, keys, now, result } from "../fixtures/envelope-tokens.ts";
import { numbers } from "../harness/random.ts";

const jwk = keys.active.jwk;
const publicKey = createPublicKey({ key: jwk, format: "jwk" });
const options = {
  keys: await createKeySet({ jwks: { keys: [jwk] } }),
  issuer,
  audience,
  now: new Date(now),
  verifySignature: (_kid: string, _jwk: unknown, input: Uint8Array, signature: Uint8Array) =>
    verify("sha256", input, publicKey, signature),
};

const lines = [
  envelope(),
  envelope({ result: { ...result, teacher: null } }),
  envelope({ result: { ...result, teacher: { name: "Ọlá 😀", tId: 1, state: null, category: null } } }),
  envelope({ sub: "x" }),
  envelope({ iss: "https://other.example" }),
  envelope({ result: { ...result, profile: { signature: "x", deep: [[[1.5]]] } } }),
].map((one) => Buffer.from(JSON.stringify(one)));

/** What `tvs verify` says of the text of a line; null when the line may be something else than one envelope. */
function short(line: Buffer) {
  const text = decodeUtf8(line);
  return text === null || !endsAsEnvelope(text) ? null : verifyEnvelopeSync(text, options);
}

/** The reader that knows no short cut: what is parsed already is never cut. */
function strict(line: Buffer) {
  const items = [...readLineBlock(new Uint8Array(line), { line: 0 })];
  return items.map((item) =>
    "refusal" in item ? unopened(item.refusal) : verifyEnvelopeSync(item.value, options),
  );
}

const pieces = [
  '"',
  "\\",
  "{",
  "}",
  ",",
  ":",
  " ",
  "\r",
  "\0",
  "\x7f",
  "\xff",
  "e",
  "9",
  "-0",
  "1e400",
  "=",
  ".",
  "\\u0041",
  '"found":true,',
  '"a":1,"a":2',
  ',"signature":"',
  '","signatureKid":"',
  "99999999999999999",
  "__proto__",
  "[[",
];

function mutate(line: Buffer, random: (below: number) => number): Buffer {
  let text = line.toString("latin1");
  for (let count = 1 + random(2); count > 0; count--) {
    const at = random(text.length);
    const piece = pieces[random(pieces.length)] ?? "";
    const kind = random(4);
    if (kind === 0) text = text.slice(0, at) + piece + text.slice(at);
    else if (kind === 1) text = text.slice(0, at) + text.slice(at + 1 + random(3));
    else if (kind === 2) text = text.slice(0, at) + piece + text.slice(at + piece.length);
    else text = text.slice(0, at) + text.charAt(random(text.length)) + text.slice(at + 1);
  }
  return Buffer.from(text, "latin1");
}

describe("an envelope in the service's own writing", () => {
  test("is cut, and judged as the strict reader judges it", () => {
    for (const line of lines) {
      expect(cutWrittenEnvelope(line.toString())).not.toBeNull();
      expect([short(line)]).toEqual(strict(line));
    }
  });

  test("in every other spelling is left to the strict reader", () => {
    const text = JSON.stringify(envelope());
    const others = [
      ` ${text}`,
      `${text} `,
      text.replace('"found":true', '"found": true'),
      text.replace('"found":true', '"found":true,"found":true'),
      text.replace('"tId":204417', '"tId":204417.0'),
      text.replace("LA/2019", "LA\\/2019"),
      text.replace("eyJ", "\\u0065yJ"),
      text.replace('"verifiedAt"', '"verifiedat"'),
      `${text}${text}`,
    ];
    for (const other of others) expect(cutWrittenEnvelope(other)).toBeNull();
  });
});

describe("a line that ends as an envelope", () => {
  test("never gets another verdict than from the strict reader, over mutated envelopes", () => {
    const random = numbers(20261121);
    let taken = 0;
    for (let round = 0; round < 6000; round++) {
      const line = mutate(lines[round % lines.length] ?? Buffer.alloc(0), random);
      const verification = line.includes(0x0a) ? null : short(line);
      if (verification === null) continue;
      taken++;
      expect({ round, found: [verification] }).toEqual({ round, found: strict(line) });
    }
    expect(taken).toBeGreaterThan(500);
  });

  test("is no batch, no list, and has nothing behind it", () => {
    const text = JSON.stringify(envelope());
    const others = [
      `[${text}]`,
      `{"count":1,"results":[${text}]}`,
      `{"count":1,"results":[${text}],"kid":"k"}`,
      `{"results":[],"note":",\\"signature\\":","signatureKid":"k"}`,
      `${text} `,
      "a.b.c",
      '","signatureKid":"',
    ];
    for (const other of others)
      expect({ other, ends: endsAsEnvelope(other) }).toEqual({ other, ends: false });
    expect(endsAsEnvelope(text)).toBe(true);
    expect(endsAsEnvelope(`${text}\r`)).toBe(true);
  });
});
