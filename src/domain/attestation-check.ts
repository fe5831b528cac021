import { Buffer } from "node:buffer";
import { findEnvelopeDifference, readEnvelopeClaims, readUnsignedMembers } from "../partner/claims.ts";
import { findTextDamage } from "../partner/file-text.ts";
import type { EnvelopeItem } from "../partner/input.ts";
import { refuseNonEnvelope } from "../partner/input.ts";
import { isStatement, readJwsPart, splitCompactJws } from "../partner/jws.ts";
import { Refusal, type RefusalReason, refusalReasons } from "../partner/reasons.ts";
import { isJsonObject, type JsonValue } from "../partner/strict-json.ts";
import { compareWithSignedClaims } from "../partner/verify-statement.ts";
import type { AttestationStore } from "../store/evidence/attestations.ts";
import type { Attestation } from "./attestations.ts";
import { TvsError } from "./errors.ts";

export type AttestationCheckResult = {
  /**
   * `altered`: the input differs from the stored attestation with the same id. `unknown`: the log never had the id.
   * `undecided`: the input is damaged, or retention may have deleted the attestation. `malformed`: not an envelope.
   */
  readonly verdict: "attested" | "altered" | "unknown" | "malformed" | "undecided";
  /** The reason for the verdict, as the stable code that `tvs verify` prints; null if the verdict is `attested`. */
  readonly reason: "NOT_KNOWN" | "NO_LONGER_KEPT" | "SIGNATURE_DIFFERS" | RefusalReason | null;
  /** The reason why the input cannot be read; null if the input was read. */
  readonly problem: string | null;
  readonly verificationId: string | null;
  readonly record: Attestation | null;
};

const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Compares an envelope, statement or bare signature with the stored attestation. The signature must be equal byte for
 * byte, and each unsigned member must equal the signed value. No key is used, so the verdict also holds if the signing
 * key was stolen.
 * @param mayBeDeleted returns true if retention may have deleted the attestation with this id
 */
export async function checkAttestation(
  item: EnvelopeItem,
  find: AttestationStore["find"],
  mayBeDeleted: (verificationId: string) => boolean = () => false,
): Promise<AttestationCheckResult> {
  if ("refusal" in item) return unread(item.refusal);
  const presented = readPresented(item.value);
  if (presented instanceof Refusal) return unread(presented);
  for (const id of presented.ids) {
    const record = await find(id);
    if (record !== null) return compare(presented.jws, record, item.value);
  }
  const verificationId = presented.ids[0] ?? null;
  const found = { verificationId, record: null, problem: null };
  if (presented.ids.some(mayBeDeleted)) return { verdict: "undecided", reason: "NO_LONGER_KEPT", ...found };
  return { verdict: "unknown", reason: "NOT_KNOWN", ...found };
}

function unread({ reason, detail }: Refusal): AttestationCheckResult {
  const verdict = refusalReasons[reason].verdict === "refused" ? "malformed" : "undecided";
  return { verdict, reason, problem: detail, verificationId: null, record: null };
}

/** Reads the signature and the ids to look up. The signed id comes first, because anybody can edit the unsigned ids. */
function readPresented(value: JsonValue): { readonly jws: string; readonly ids: string[] } | Refusal {
  const notOne = refuseNonEnvelope(value);
  if (notOne !== null) return notOne;
  if (typeof value === "string")
    return findTextDamage(value) ?? { jws: value, ids: idsOf([signedId(value)]) };
  if (!isJsonObject(value)) return new Refusal("ENVELOPE_MALFORMED", "neither an envelope nor a signature");
  const jws = typeof value.signature === "string" ? value.signature : "";
  const damage = findTextDamage(jws);
  if (damage !== null) return damage;
  const ids = idsOf([signedId(jws), value.verificationId, value.statementId]);
  const outer = isStatement(value) ? null : readUnsignedMembers(value);
  return outer instanceof Refusal && ids.length === 0 ? outer : { jws, ids };
}

function idsOf(values: readonly (JsonValue | undefined)[]): string[] {
  return values.filter((value) => typeof value === "string").filter((id) => idPattern.test(id));
}

function signedId(jws: string): JsonValue | undefined {
  const parts = splitCompactJws(jws);
  const payload = parts instanceof Refusal ? parts : readJwsPart(parts.payload, "payload");
  return payload instanceof Refusal ? undefined : (payload.sub ?? payload.jti);
}

async function compare(jws: string, record: Attestation, value: JsonValue): Promise<AttestationCheckResult> {
  const found = { verificationId: record.verificationId, record, problem: null };
  if (record.jws !== jws) return { verdict: "altered", reason: "SIGNATURE_DIFFERS", ...found };
  const difference = await unsignedDifference(record, value);
  if (difference === null) return { verdict: "attested", reason: null, ...found };
  return { verdict: "altered", reason: difference.reason, ...found };
}

/** Finds an unsigned member or row that differs from the signed claims. @returns null if none differs */
async function unsignedDifference(record: Attestation, value: JsonValue): Promise<Refusal | null> {
  if (!isJsonObject(value)) return null;
  const { claims } = decodeAttestation(record);
  if (isStatement(value)) return compareWithSignedClaims(value, claims, record.kid);
  const outer = readUnsignedMembers(value);
  if (outer instanceof Refusal) return outer;
  const read = readEnvelopeClaims(claims, record.issuedAt);
  return read instanceof Refusal ? read : findEnvelopeDifference(outer, read, record.kid);
}

/** Decodes the header and claims of a stored signature. @throws TvsError STORE_CORRUPT if it cannot be decoded */
export function decodeAttestation({ jws, verificationId }: Attestation) {
  const [header = "", payload = ""] = jws.split(".");
  const parts = [header, payload].map((part) => readJwsPart(Buffer.from(part, "base64url"), "payload"));
  const [first, second] = parts;
  const unreadable = `the stored signature of ${verificationId} cannot be read; restore a backup`;
  if (first === undefined || second === undefined || first instanceof Refusal || second instanceof Refusal)
    throw new TvsError("STORE_CORRUPT", unreadable);
  return { header: first, claims: second };
}
