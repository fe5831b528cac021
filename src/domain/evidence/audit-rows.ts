/** Checks one attestation in an audit: compares its columns with the JWS, and verifies the signature of the JWS. */

import { Buffer } from "node:buffer";
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { AttestationRow } from "../../store/evidence/log.ts";
import { statementStatus } from "../attestations.ts";
import type { SigningKey } from "../keys.ts";

type Signed = Omit<AttestationRow, "id" | "jws">;

const columns: readonly (readonly [name: string, member: keyof Signed])[] = [
  ["verification_id", "verificationId"],
  ["partner_id", "partnerId"],
  ["issued_at", "issuedAt"],
  ["kid", "kid"],
  ["status", "status"],
  ["eligible", "eligible"],
];

/** The JWS header that was parsed last. If the next JWS has the same header, the header is not parsed again. */
let parsed = { header: "", kid: undefined as unknown };

/** Names the columns that contradict the JWS. An unreadable JWS counts as one wrong column, `jws`. */
export function findContradictingColumns(row: AttestationRow): string[] {
  const header = row.jws.slice(0, Math.max(0, row.jws.indexOf(".")));
  if (header !== parsed.header) parsed = { header, kid: parse(header)?.kid };
  const { kid } = parsed;
  const claims = readSignedClaims(row.jws);
  if (typeof kid !== "string" || claims === null) return ["jws"];
  const signed: Signed = { kid, ...claims };
  return columns.filter(([, member]) => signed[member] !== row[member]).map(([name]) => name);
}

/** Reads from an unverified JWS the claims that its row also has as columns. @returns null if a claim is missing */
export function readSignedClaims(jws: string): Omit<Signed, "kid"> | null {
  const from = jws.indexOf(".") + 1;
  const payload = jws.slice(from, jws.indexOf(".", from));
  const { aud, sub, jti, iat, result, summary } = parse(payload) ?? {};
  const { status, eligible } = resultOfStatement(summary) ?? ((result ?? {}) as Record<string, unknown>);
  const verificationId = sub ?? jti;
  if (typeof aud !== "string" || typeof verificationId !== "string" || typeof iat !== "number") return null;
  if (typeof status !== "string" || typeof eligible !== "boolean") return null;
  return { partnerId: aud, verificationId, issuedAt: iat, status, eligible };
}

/** Computes a statement's `status` and `eligible`. @returns null if the attestation is not a statement */
function resultOfStatement(summary: unknown) {
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

/** Imports public keys into a map by kid. @param keys all keys that the service ever signed with */
export function importPublicKeys(keys: readonly Pick<SigningKey, "kid" | "jwk">[]): OpenedKeys {
  return new Map(keys.map(({ kid, jwk }) => [kid, createPublicKey({ key: { ...jwk }, format: "jwk" })]));
}

/** Verifies the signature of an attestation. @returns the fault in words; null for a valid signature */
export function findSignatureFault({ jws, kid }: AttestationRow, keys: OpenedKeys): string | null {
  const key = keys.get(kid);
  if (key === undefined) return "no key of this service signed it";
  const end = jws.lastIndexOf(".");
  const [input, signature] = [jws.slice(0, Math.max(end, 0)), jws.slice(end + 1)];
  const isGood = verify("RSA-SHA256", Buffer.from(input), key, Buffer.from(signature, "base64url"));
  return isGood ? null : "its signature is not valid";
}
