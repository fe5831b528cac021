/** What an audit reads: of an attestation's row, whether it says what its signed JWS says, and whether that is really signed. */

import { Buffer } from "node:buffer";
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { statementStatus } from "../attestations.ts";
import type { SigningKey } from "../keys.ts";

/** An attestation as an audit reads it. */
export type AuditedRow = {
  readonly id: number;
  readonly verificationId: string;
  readonly partnerId: string;
  /** Seconds since the epoch. */
  readonly issuedAt: number;
  readonly kid: string;
  readonly status: string;
  readonly eligible: boolean;
  readonly jws: string;
};

/** What a JWS says of the columns beside it. */
type Signed = Omit<AuditedRow, "id" | "jws">;

/** The columns, as the database names them. */
const columns: readonly (readonly [name: string, member: keyof Signed])[] = [
  ["verification_id", "verificationId"],
  ["partner_id", "partnerId"],
  ["issued_at", "issuedAt"],
  ["kid", "kid"],
  ["status", "status"],
  ["eligible", "eligible"],
];

/** @returns the columns that contradict the JWS beside them, or `jws` when that cannot be read; none when the row is good */
export function contradictionsIn(row: AuditedRow): string[] {
  const { kid } = parse(row.jws.slice(0, Math.max(row.jws.indexOf("."), 0))) ?? {};
  const claims = readSigned(row.jws);
  if (typeof kid !== "string" || claims === null) return ["jws"];
  const signed: Signed = { kid, ...claims };
  return columns.filter(([, member]) => signed[member] !== row[member]).map(([name]) => name);
}

/** What a JWS says of the columns beside it, but for its header; null when it cannot be read. Nothing is verified. */
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

/** What the row of a statement over a list has in the place of one teacher's status. */
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

/** The signatures of attestations, of which only those need be looked at that nothing else vouches for. */
export type SignatureChecks = ReturnType<typeof createSignatureChecks>;

/** @param keys all that the service ever signed with. @param all whether to look at every signature */
export function createSignatureChecks(keys: readonly SigningKey[], { all }: { all: boolean }) {
  const known = new Map(keys.map(({ kid, jwk }) => [kid, jwk]));
  const opened = new Map<string, KeyObject>();

  function keyOf(kid: string): KeyObject | undefined {
    const jwk = known.get(kid);
    const found = opened.get(kid) ?? (jwk && createPublicKey({ key: { ...jwk }, format: "jwk" }));
    if (found !== undefined) opened.set(kid, found);
    return found;
  }

  return {
    /** Whether every one is to be looked at: some twenty times the work. */
    all,
    /** What is wrong with an attestation's own signature; null when nothing is. */
    findForgery({ jws, kid }: AuditedRow): string | null {
      const key = keyOf(kid);
      if (key === undefined) return "no key of this service signed it";
      const end = jws.lastIndexOf(".");
      const [input, signature] = [jws.slice(0, Math.max(end, 0)), jws.slice(end + 1)];
      const isGood = verify("RSA-SHA256", Buffer.from(input), key, Buffer.from(signature, "base64url"));
      return isGood ? null : "its signature is not valid";
    },
  };
}
