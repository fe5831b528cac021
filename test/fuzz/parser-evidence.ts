/**
 * The parsers of signed documents. Independent code (node:crypto and lenient readers) checks each accepted input again: a
 * trusted key of the fixtures must have signed exactly that content.
 */

import { strict as assert } from "node:assert";
import { createPublicKey, verify } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { inflateSync } from "node:zlib";
import { isUtf16 } from "../../src/partner/file-text.ts";
import {
  createKeySet,
  Refusal,
  readEnvelopes,
  readStrictJson,
  refusalReasons,
  type Verification,
  verifyEnvelope,
  verifyStatement,
} from "../../src/partner/partner.ts";
import { verifyStatusLists } from "../../src/partner/status-list.ts";
import { statement } from "../api/openapi/examples.ts";
import { audience, folder, issuer, keys, now as nowText } from "../fixtures/envelope-tokens.ts";
import { kinds, envelopes as placed } from "../fixtures/status-lists.ts";
import { undefinedIfThrown } from "./parser-edits.ts";

/** A parser under test, with valid and invalid inputs to edit. */
export type FuzzedParser = {
  readonly corpus: readonly Buffer[];
  /** Its share of the inputs, per thousand. */
  readonly share: number;
  /** @returns whether the parser accepts the input. @throws if the parser breaks a rule */
  accepts(input: Buffer): boolean | Promise<boolean>;
};

export const filesOf = (...path: readonly string[]): Buffer[] =>
  readdirSync(join(...path)).map((name) => readFileSync(join(...path, name)));
const read = (name: string) => readFileSync(join(folder, "keys", name));
export const buffers = (texts: readonly string[]) => texts.map((text) => Buffer.from(text));

export const now = new Date(nowText);
const nowSeconds = now.getTime() / 1000;
const [jwks, keyHistory] = [read("jwks.json"), read("history.jose")];
export const options = { keys: await createKeySet({ jwks, keyHistory, issuer }), issuer, audience, now };
const publicKeys = new Map(
  [keys.active, keys.retired, keys.compromised].map(({ kid, privateKey }) => [
    kid,
    createPublicKey(privateKey),
  ]),
);

type Read = ReturnType<typeof JSON.parse>;
const decoded = (part: string): Read => JSON.parse(Buffer.from(part, "base64url").toString());

/** Header and claims of a token that a trusted key has signed. @throws AssertionError for any other */
function genuine(jws: string): { header: Read; claims: Read } {
  const [head = "", body = "", signature = "", ...more] = jws.split(".");
  const key = publicKeys.get(decoded(head).kid);
  const bytes = Buffer.from(signature, "base64url");
  const isSigned = verify("sha256", Buffer.from(`${head}.${body}`), key ?? "", bytes);
  assert(isSigned && more.length === 0, "accepted what no trusted key has signed");
  const { header, claims } = { header: decoded(head), claims: decoded(body) };
  assert.equal(header.alg, "RS256");
  return { header, claims };
}

const otherTypes = ["tvs-statement+jwt", "key-history+jwt", "statuslist+jwt"];

/** Checks issuer, audience, time, key and type of an accepted token. */
function genuineNow(jws: string, type?: string) {
  const { header, claims } = genuine(jws);
  assert(type === undefined ? !otherTypes.includes(header.typ) : header.typ === type, "another token's type");
  assert.deepEqual([claims.iss, claims.aud], [issuer, audience]);
  const isInTime =
    claims.iat <= nowSeconds + 60 && !(claims.exp <= nowSeconds - 60) && !(claims.nbf > nowSeconds + 60);
  assert(isInTime, "accepted out of its time");
  const isStolen =
    header.kid === keys.compromised.kid && claims.iat >= Date.parse("2025-09-01T12:00:00Z") / 1000;
  assert(!isStolen, "accepted what a thief may have signed");
  return { header, claims };
}

/** Checks that a verdict is consistent and has a published reason. @returns whether it is valid */
export function isAccepted({ valid, reason, verdict }: Verification): boolean {
  assert.equal(valid, reason === null);
  assert.equal(valid, verdict === "valid");
  assert(reason === null || reason in refusalReasons, `${reason} is no reason`);
  return valid;
}

/** Checks that the unsigned members equal the signed ones. */
function assertOuter(
  outer: Read,
  { header, claims }: ReturnType<typeof genuine>,
  id: string,
  time: string,
): void {
  const named = [outer.issuer, outer.audience, outer.signatureKid];
  assert.deepEqual(named, [claims.iss, claims.aud, header.kid]);
  assert.equal(outer[id], claims.sub ?? claims.jti);
  assert.equal(Math.floor(Date.parse(outer[time]) / 1000), claims.iat);
}

async function acceptsEnvelope(
  value: Read,
  given: Parameters<typeof verifyEnvelope>[1] = options,
): Promise<boolean> {
  const verification = await verifyEnvelope(value, given);
  if (!isAccepted(verification)) return false;
  const isToken = typeof value === "string" && !/^\s*\{/.test(value);
  const read = () => (typeof value === "string" ? JSON.parse(value) : value);
  const outer = isToken ? null : read();
  const token = genuineNow(outer?.signature ?? value);
  assert.deepEqual(verification.result, token.claims.result);
  if (outer === null) return true;
  assert.deepEqual(outer.result, token.claims.result);
  assertOuter(outer, token, "verificationId", "verifiedAt");
  return true;
}

const envelope: FuzzedParser = {
  corpus: filesOf(folder, "inputs"),
  share: 240,
  async accepts(input) {
    const reasons: (string | null)[] = [];
    const items = [...readEnvelopes(input)];
    const text = undefinedIfThrown(() =>
      new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(input),
    );
    // As a text, UTF-16 has a NUL after each character, and is refused instead of decoded.
    if (text !== undefined && isUtf16(input))
      for (const item of readEnvelopes(text))
        assert.equal("refusal" in item && item.refusal.reason, "TEXT_DAMAGED");
    else if (text !== undefined) assert.deepEqual([...readEnvelopes(text)], items);
    for (const item of items) {
      if ("refusal" in item) reasons.push(item.refusal.reason);
      else if (await acceptsEnvelope(item.value)) reasons.push(null);
      else reasons.push((await verifyEnvelope(item.value, options)).reason);
    }
    return reasons.includes(null);
  },
};

/** Whether every JSON reader understands a text alike, by an independent tokenizer. */
function isStrict(text: string): boolean {
  const value = undefinedIfThrown(() => ({ read: JSON.parse(text) as Read }));
  if (value === undefined) return false;
  const open: (Set<string> | null)[] = [];
  const tokens = [...text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]|-?\d[\d.eE+-]*/g)].map(([token]) => token);
  for (const [at, token] of tokens.entries()) {
    if (token === "{" || token === "[") open.push(token === "{" ? new Set() : null);
    else if (token === "}" || token === "]") open.pop();
    else if (token.startsWith('"')) {
      const string: string = JSON.parse(token);
      const names = tokens[at + 1] === ":" ? open.at(-1) : undefined;
      if (names?.has(string) || !string.isWellFormed()) return false;
      names?.add(string);
    } else if (token !== ":" && !(Math.abs(Number(token)) <= Number.MAX_SAFE_INTEGER)) return false;
    if (open.length > 32) return false;
  }
  return true;
}

const someJson = [
  '[1,2.5e3,null,"\\ud83d\\ude00"]',
  '{"a":{"\\u0061":1},"b":[[[]]]}',
  JSON.stringify(statement.rows),
];
const strictJson: FuzzedParser = {
  corpus: [...buffers(someJson), ...filesOf(folder, "keys").filter((file) => file[0] === 0x7b)],
  share: 150,
  accepts(input) {
    const reading = readStrictJson(input);
    const text = undefinedIfThrown(() =>
      new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(input),
    );
    assert.equal(!(reading instanceof Refusal), text !== undefined && isStrict(text));
    if (reading instanceof Refusal) return false;
    assert(isDeepStrictEqual(reading, JSON.parse(text ?? "")));
    assert.deepEqual(readStrictJson(text ?? ""), reading);
    return true;
  },
};

const statementRows: FuzzedParser = {
  corpus: buffers([JSON.stringify(statement)]),
  share: 60,
  async accepts(input) {
    const verification = await verifyStatement(input.toString(), options);
    if (!isAccepted(verification)) return false;
    const given = JSON.parse(input.toString());
    const token = genuineNow(given.signature, "tvs-statement+jwt");
    const { purpose, policyVersion, list, summary } = token.claims;
    const { rows } = given;
    assert.deepEqual(verification.statement, { purpose, policyVersion, list, summary, rows });
    // The root covers every member of a row, so only the signed rows are accepted.
    assert(isDeepStrictEqual(rows, statement.rows), "accepted rows that nobody signed");
    assertOuter(given, token, "statementId", "issuedAt");
    return true;
  },
};

/** The envelope with index 0 is valid only if one of these lists is genuine and its bit 0 is clear. */
async function acceptsByLists(statusLists: readonly string[]): Promise<boolean> {
  const { input } = placed["an answer that was a yes"] ?? {};
  const isValid = await acceptsEnvelope(input, { ...options, statusLists });
  const clear = (text: string) => {
    const { header, claims } = genuine(text.trim());
    const { bits, lst } = claims.status_list;
    const places = inflateSync(Buffer.from(lst, "base64url"), { finishFlush: 2 });
    return header.typ === "statuslist+jwt" && (Number(places[0]) & (2 ** bits - 1)) === 0;
  };
  assert(!isValid || statusLists.some((text) => undefinedIfThrown(() => clear(text))), "valid by silence");
  return isValid;
}

const lists = Object.values(kinds)
  .flatMap((kind) => kind.lists)
  .filter((list) => list.length < 10_000);
const statusList: FuzzedParser = {
  corpus: buffers(lists),
  share: 50,
  async accepts(input) {
    const text = input.toString();
    const [opened] = await verifyStatusLists([text], options.keys);
    if (!(opened instanceof Refusal)) assert.notEqual(genuine(text.trim()).header.kid, keys.compromised.kid);
    return acceptsByLists([text]);
  },
};

export const evidence: Readonly<Record<string, FuzzedParser>> = {
  envelopes: envelope,
  "strict JSON": strictJson,
  statements: statementRows,
  "status lists": statusList,
};
