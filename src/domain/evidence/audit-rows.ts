/** An attestation's row by itself: whether it says what its signed JWS says, and whether that is really signed. */

import { Buffer } from "node:buffer";
import { createPublicKey, type KeyObject, verify } from "node:crypto";
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

/**
 * The claims as this service writes them (`envelopes.ts`). Reading them so takes half as long as parsing all of the
 * payload, which is done where the texts need it.
 */
const written =
  /^\{"iss":"[^"\\]*","aud":"([^"\\]*)","sub":"([^"\\]*)","iat":(\d{1,15}),"result":\{"found":(?:true|false),"source":(?:null|"[^"\\]*"),"status":"([^"\\]*)","eligible":(true|false)[,}]/;
/** A part of the payload that the claims above fit into: a multiple of four, so that it can be decoded by itself. */
const beginning = 480;

/** Reads the rows of one log, of which many have the same header. */
export function createRowReader(): {
  /** @returns the columns that contradict the JWS, or `jws` when that cannot be read; none when the row is good */
  contradictions(row: AuditedRow): string[];
} {
  const kids = new Map<string, string | null>();
  const maxKids = 1_000;

  function kidOf(header: string): string | null {
    const known = kids.get(header);
    if (known !== undefined) return known;
    if (kids.size >= maxKids) kids.clear();
    const { kid } = parse(header) ?? {};
    const found = typeof kid === "string" ? kid : null;
    kids.set(header, found);
    return found;
  }

  function signedIn(jws: string): Signed | null {
    const end = jws.indexOf(".");
    const kid = kidOf(jws.slice(0, Math.max(end, 0)));
    const claims = readSigned(jws);
    return kid === null || claims === null ? null : { kid, ...claims };
  }

  return {
    contradictions(row) {
      const signed = signedIn(row.jws);
      if (signed === null) return ["jws"];
      // Column by column only where something is wrong: most rows are right, and there are millions.
      const isSame =
        signed.verificationId === row.verificationId &&
        signed.partnerId === row.partnerId &&
        signed.issuedAt === row.issuedAt &&
        signed.kid === row.kid &&
        signed.status === row.status &&
        signed.eligible === row.eligible;
      if (isSame) return [];
      return columns.filter(([, member]) => signed[member] !== row[member]).map(([name]) => name);
    },
  };
}

/** What a JWS says of the columns beside it, but for its header; null when it cannot be read. Nothing is verified. */
export function readSigned(jws: string): Omit<Signed, "kid"> | null {
  const from = jws.indexOf(".") + 1;
  const payload = jws.slice(from, jws.indexOf(".", from));
  return readWritten(payload) ?? readClaims(payload);
}

function readWritten(payload: string): Omit<Signed, "kid"> | null {
  const text = Buffer.from(payload.slice(0, beginning), "base64url").toString("latin1");
  const found = written.exec(text);
  if (found === null) return null;
  const [, partnerId = "", verificationId = "", iat, status = "", eligible] = found;
  return { partnerId, verificationId, issuedAt: Number(iat), status, eligible: eligible === "true" };
}

function readClaims(payload: string): Omit<Signed, "kid"> | null {
  const { aud, sub, iat, result } = parse(payload) ?? {};
  const { status, eligible } = (result ?? {}) as Record<string, unknown>;
  if (typeof aud !== "string" || typeof sub !== "string" || typeof iat !== "number") return null;
  if (typeof status !== "string" || typeof eligible !== "boolean") return null;
  return { partnerId: aud, verificationId: sub, issuedAt: iat, status, eligible };
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
export type SignatureChecks = {
  /** Whether every one is to be looked at: some twenty times the work. */
  readonly all: boolean;
  /** What is wrong with an attestation's own signature; null when nothing is. */
  findForgery(row: AuditedRow): string | null;
};

/** @param keys all that the service ever signed with. @param all whether to look at every signature */
export function createSignatureChecks(
  keys: readonly SigningKey[],
  { all }: { all: boolean },
): SignatureChecks {
  const known = new Map(keys.map(({ kid, jwk }) => [kid, jwk]));
  const opened = new Map<string, KeyObject>();

  function keyOf(kid: string): KeyObject | undefined {
    const jwk = known.get(kid);
    const found = opened.get(kid) ?? (jwk && createPublicKey({ key: { ...jwk }, format: "jwk" }));
    if (found !== undefined) opened.set(kid, found);
    return found;
  }

  return {
    all,
    findForgery({ jws, kid }) {
      const key = keyOf(kid);
      if (key === undefined) return "no key of this service signed it";
      const end = jws.lastIndexOf(".");
      const [input, signature] = [jws.slice(0, Math.max(end, 0)), jws.slice(end + 1)];
      const isGood = verify("RSA-SHA256", Buffer.from(input), key, Buffer.from(signature, "base64url"));
      return isGood ? null : "its signature is not valid";
    },
  };
}
