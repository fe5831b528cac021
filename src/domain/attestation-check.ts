import { Buffer } from "node:buffer";
import { findOuterDifference, type OuterMembers, readClaims, readOuterMembers } from "../partner/claims.ts";
import { findDamage } from "../partner/file-text.ts";
import type { EnvelopeItem } from "../partner/input.ts";
import { findNoEnvelope } from "../partner/input.ts";
import { isStatement, readJwsObject, splitCompactJws } from "../partner/jws.ts";
import { Refusal, type RefusalReason, refusalReasons } from "../partner/reasons.ts";
import { isJsonObject, type JsonValue } from "../partner/strict-json.ts";
import { findStatementDifference } from "../partner/verify-statement.ts";
import type { AttestationStore } from "../store/evidence/attestations.ts";
import type { Attestation } from "./attestations.ts";
import { TvsError } from "./errors.ts";

/**
 * `altered`: the verification is in the evidence log, but this is not what left the service. `malformed`: no
 * envelope that could be looked up. `undecided`: the input could not be read so far, or the log is not kept so long.
 */
type CheckVerdict = "attested" | "altered" | "unknown" | "malformed" | "undecided";

export type AttestationCheck = {
  readonly verdict: CheckVerdict;
  /** Null when attested; stable words, those of `tvs verify` where they apply. */
  readonly reason: "NOT_KNOWN" | "NO_LONGER_KEPT" | "SIGNATURE_DIFFERS" | RefusalReason | null;
  /** What exactly could not be read; null where it could be. */
  readonly problem: string | null;
  readonly verificationId: string | null;
  readonly record: Attestation | null;
};

type PresentedEnvelope = {
  readonly jws: string;
  readonly outer: OuterMembers | Refusal | null;
  readonly ids: string[];
};

/** A verification's id is a UUID; anything else is not worth asking the log for. */
const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Answers "did we attest this?": the signature must be the stored one, byte for byte, and no unsigned member
 * may differ from what is signed. No key is needed, so it also holds for envelopes of a compromised one.
 * @param mayBePruned whether the log may once have held a verification id that it does not hold now
 */
export async function checkAttestation(
  item: EnvelopeItem,
  find: AttestationStore["find"],
  mayBePruned: (verificationId: string) => boolean = () => false,
): Promise<AttestationCheck> {
  if ("refusal" in item) return unread(item.refusal);
  const presented = readPresented(item.value);
  if (presented instanceof Refusal) return unread(presented);
  for (const id of presented.ids) {
    const record = await find(id);
    if (record !== null) return compare(presented, record, item.value);
  }
  const verificationId = presented.ids[0] ?? null;
  if (presented.ids.some(mayBePruned)) return judged("undecided", "NO_LONGER_KEPT", { verificationId });
  return judged("unknown", "NOT_KNOWN", { verificationId });
}

function judged(
  verdict: CheckVerdict,
  reason: AttestationCheck["reason"],
  known: Partial<AttestationCheck>,
): AttestationCheck {
  return { verdict, reason, problem: null, verificationId: null, record: null, ...known };
}

function unread({ reason, detail }: Refusal): AttestationCheck {
  const isWrong = refusalReasons[reason].verdict === "refused";
  return judged(isWrong ? "malformed" : "undecided", reason, { problem: detail });
}

/** The signed id counts before the outer one, which anybody can edit. */
function readPresented(value: JsonValue): PresentedEnvelope | Refusal {
  const notOne = findNoEnvelope(value);
  if (notOne !== null) return notOne;
  if (typeof value === "string")
    return findDamage(value) ?? { jws: value, outer: null, ids: idsOf([signedId(value)]) };
  if (!isJsonObject(value)) return new Refusal("ENVELOPE_MALFORMED", "neither an envelope nor a signature");
  const jws = typeof value.signature === "string" ? value.signature : "";
  // White space in a signature is not somebody's change of what was attested.
  const damage = findDamage(jws);
  if (damage !== null) return damage;
  const ids = idsOf([signedId(jws), value.verificationId, value.statementId]);
  if (isStatement(value)) return { jws, outer: null, ids };
  const outer = readOuterMembers(value);
  return outer instanceof Refusal && ids.length === 0 ? outer : { jws, outer, ids };
}

function idsOf(values: readonly (JsonValue | undefined)[]): string[] {
  return values.filter((value) => typeof value === "string").filter((id) => idPattern.test(id));
}

function signedId(jws: string): JsonValue | undefined {
  const parts = splitCompactJws(jws);
  const payload = parts instanceof Refusal ? parts : readJwsObject(parts.payload, "payload");
  return payload instanceof Refusal ? undefined : (payload.sub ?? payload.jti);
}

async function compare(
  { jws, outer }: PresentedEnvelope,
  record: Attestation,
  value: JsonValue,
): Promise<AttestationCheck> {
  const { verificationId } = record;
  if (record.jws !== jws) return judged("altered", "SIGNATURE_DIFFERS", { verificationId, record });
  const difference =
    outer === null
      ? await rowsDifference(value, record)
      : outer instanceof Refusal
        ? outer
        : outerDifference(outer, record);
  if (difference === null) return judged("attested", null, { verificationId, record });
  return judged("altered", difference.reason, { verificationId, record });
}

/** Of a statement its rows must be those that were signed, too; a signature alone has nothing to compare. */
async function rowsDifference(value: JsonValue, record: Attestation): Promise<Refusal | null> {
  if (typeof value === "string") return null;
  return findStatementDifference(value, decodeAttestation(record).claims, record.kid);
}

function outerDifference(outer: OuterMembers, record: Attestation): Refusal | null {
  const { claims } = decodeAttestation(record);
  const read = readClaims(claims, record.issuedAt);
  return read instanceof Refusal ? read : findOuterDifference(outer, read, record.kid);
}

/**
 * What a stored attestation says, read from its signature.
 * @throws TvsError STORE_CORRUPT when the log holds something that this program never wrote
 */
export function decodeAttestation({ jws, verificationId }: Attestation) {
  const [header = "", payload = ""] = jws.split(".");
  const parts = [header, payload].map((part) => readJwsObject(Buffer.from(part, "base64url"), "payload"));
  const [first, second] = parts;
  if (first === undefined || second === undefined || first instanceof Refusal || second instanceof Refusal) {
    throw new TvsError(
      "STORE_CORRUPT",
      `the stored signature of ${verificationId} cannot be read; restore a backup`,
    );
  }
  return { header: first, claims: second };
}
