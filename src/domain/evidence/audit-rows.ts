/** The checks of one attestation's row in an audit: the columns against the signed JWS, and the JWS against its signature. */

import { Buffer } from "node:buffer";
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { AuditedRow } from "../../store/evidence/log.ts";
import { statementStatus } from "../attestations.ts";
import type { SigningKey } from "../keys.ts";

/** The members of a row that its JWS states too. */
type Signed = Omit<AuditedRow, "id" | "jws">;

const columns: readonly (readonly [name: string, member: keyof Signed])[] = [
  ["verification_id", "verificationId"],
  ["partner_id", "partnerId"],
  ["issued_at", "issuedAt"],
  ["kid", "kid"],
  ["status", "status"],
  ["eligible", "eligible"],
];

/** The last parsed header. All attestations of one signing key have the same header, so an audit parses few headers. */
let lastHeader = { text: "", kid: undefined as unknown };

function kidIn(jws: string): unknown {
  const text = jws.slice(0, Math.max(jws.indexOf("."), 0));
  if (text !== lastHeader.text) lastHeader = { text, kid: parse(text)?.kid };
  return lastHeader.kid;
}

/** Finds the columns that contradict the JWS. @returns `jws` for an unreadable JWS; an empty array for a good row */
export function contradictionsIn(row: AuditedRow): string[] {
  const [kid, claims] = [kidIn(row.jws), readSigned(row.jws)];
  if (typeof kid !== "string" || claims === null) return ["jws"];
  const signed: Signed = { kid, ...claims };
  return columns.filter(([, member]) => signed[member] !== row[member]).map(([name]) => name);
}

/** Reads the claims of a JWS that are columns too, without verifying the signature. @returns null if a claim is missing */
export function readSigned(jws: string): Omit<Signed, "kid"> | null {
  const from = jws.indexOf(".") + 1;
  const payload = jws.slice(from, jws.indexOf(".", from));
  const { aud, sub, jti, iat, result, summary } = parse(payload) ?? {};
  const { status, eligible } = ofStatement(summary) ?? ((result ?? {}) as Record<string, unknown>);
  const verificationId = sub ?? jti;
  if (typeof aud !== "string" || typeof verificationId !== "string" || typeof iat !== "number") return null;
  if (typeof status !== "string" || typeof eligible !== "boolean") return null;
  return { partnerId: aud, verificationId, issuedAt: iat, status, eligible };
}

/** The status and verdict of a statement, which is about a list of teachers. @returns null for other attestations */
function ofStatement(summary: unknown) {
  if (typeof summary !== "object" || summary === null) return null;
  const { distinct, eligible } = summary as Record<string, unknown>;
  return { status: statementStatus, eligible: eligible === distinct };
}

function parse(part: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

type OpenedKeys = ReadonlyMap<string, KeyObject>;

/** Opens public keys for {@link findForgery}, by their kid. @param keys all keys that the service ever signed with */
export function openKeys(keys: readonly Pick<SigningKey, "kid" | "jwk">[]): OpenedKeys {
  return new Map(keys.map(({ kid, jwk }) => [kid, createPublicKey({ key: { ...jwk }, format: "jwk" })]));
}

/** Says what is wrong with the signature of an attestation. @returns null for a good signature */
export function findForgery({ jws, kid }: AuditedRow, keys: OpenedKeys): string | null {
  const key = keys.get(kid);
  if (key === undefined) return "no key of this service signed it";
  const end = jws.lastIndexOf(".");
  const [input, signature] = [jws.slice(0, Math.max(end, 0)), jws.slice(end + 1)];
  const isGood = verify("RSA-SHA256", Buffer.from(input), key, Buffer.from(signature, "base64url"));
  return isGood ? null : "its signature is not valid";
}
