/**
 * Every reason for which an envelope, a key set or an input is not accepted.
 *
 * The names are stable: partners branch on them, so a name is never reused for another meaning.
 * `refused` means that the thing is wrong; `undecidable` means that this input cannot tell (contract
 * C18; the exit codes 1 and 2 of `tvs verify` follow from it).
 */

/** What a verification ends with: accepted, wrong, or not possible to say. */
export type Verdict = "valid" | "refused" | "undecidable";

type ReasonEntry = {
  readonly verdict: "refused" | "undecidable";
  /** One sentence for a human reader. */
  readonly explanation: string;
};

function refused(explanation: string): ReasonEntry {
  return { verdict: "refused", explanation };
}

function undecidable(explanation: string): ReasonEntry {
  return { verdict: "undecidable", explanation };
}

/** The one table of reasons, in the order in which the checks run. */
export const refusalReasons = {
  FILE_UNREADABLE: undecidable("The file or folder could not be read."),
  FOLDER_NESTED: undecidable("A folder inside the folder is not searched: name it to have it verified."),
  INPUT_TOO_LARGE: undecidable("The input is larger than what is read at once: split it into lines."),
  NO_ENVELOPE: undecidable("The input holds no envelope at all."),
  NOT_AN_ENVELOPE: undecidable("This is no envelope, so it says nothing about one."),

  INPUT_NOT_UTF8: refused("The bytes are not valid UTF-8."),
  BATCH_MALFORMED: refused("The batch response has no list of results."),
  BATCH_COUNT_MISMATCH: refused("The batch response announces another number of results than it holds."),
  JSON_MALFORMED: refused("The text is not exactly one JSON value."),
  JSON_DUPLICATE_MEMBER: refused("A JSON object names the same member twice."),
  JSON_TOO_DEEP: refused("The JSON is nested more deeply than any envelope is."),
  JSON_LONE_SURROGATE: refused("A JSON string holds half of a character (a lone surrogate)."),
  JSON_NUMBER_RANGE: refused("A JSON number is too large to be held exactly."),
  ENVELOPE_MALFORMED: refused("A member that every envelope has is missing or has the wrong type."),
  IS_A_STATEMENT: refused(
    "This is a statement over a list: it is verified as a statement, and as nothing else.",
  ),
  IS_AN_ENVELOPE: refused("This is an envelope: it is verified as an envelope, and as nothing else."),
  IS_AN_EVENT: refused("This is a signed event: it says what changed, and is verified by verifyEvent alone."),
  STATEMENT_MALFORMED: refused("A part that every statement has, or one row of it, is missing or malformed."),
  JWS_MALFORMED: refused("The signature is not a compact JWS whose header and payload are JSON objects."),
  BASE64URL_NOT_CANONICAL: refused(
    "A part of the signature has padding, white space, foreign characters or spare bits.",
  ),

  HEADER_ALG: refused("The signature header names another algorithm than RS256."),
  HEADER_CRIT: refused("The signature header asks for extensions (crit)."),
  HEADER_B64: refused("The signature header changes how the payload is encoded (b64)."),
  HEADER_KEY: refused("The signature header brings or points to a key of its own (jwk, jku, x5u or x5c)."),
  HEADER_TYP: refused("The signature header marks another kind of token (typ)."),
  HEADER_KID: refused("The signature header names no key (kid)."),

  KEY_SET_UNREADABLE: undecidable("The key set is not a JWKS document."),
  KEY_SET_DUPLICATE_MEMBER: refused("The key set names the same JSON member twice."),
  KEY_SET_SYMMETRIC_KEY: refused("The key set holds a symmetric key."),
  KEY_SET_PRIVATE_KEY: refused("The key set holds a private key."),
  KEY_SET_KEY_MALFORMED: refused("The key set holds an RSA key that is not well formed or not for RS256."),
  KEY_SET_KID_MISSING: refused("The key set holds an RSA key without a key id."),
  KEY_SET_DUPLICATE_KID: refused("The key set holds two keys with the same key id."),
  KEY_SET_MODULUS_SIZE: refused("The key set holds an RSA key under 2048 (or over 8192) bits."),
  KEY_SET_EXPONENT: refused("The key set holds an RSA key whose public exponent is even, 1 or oversized."),
  KEY_SET_ROCA: refused("The key set holds an RSA key made by a generator known to be broken (ROCA)."),
  KEY_HISTORY_UNREADABLE: undecidable("The key history is not a compact JWS."),
  KEY_HISTORY_MALFORMED: refused("The key history's header or content is not what the service publishes."),
  KEY_HISTORY_KID_UNKNOWN: refused("The key history is signed by a key that it does not list."),
  KEY_HISTORY_SIGNATURE_INVALID: refused("The key history's own signature is not good."),
  KEY_HISTORY_KEY_COMPROMISED: refused(
    "The key history is signed by a key that was already compromised at that time.",
  ),
  KEY_HISTORY_ISSUER_MISMATCH: refused("The key history is that of another issuer."),
  KEY_SET_CONFLICT: refused("The JWKS and the key history give different keys under one key id."),
  KEY_HISTORY_NOT_ANCHORED: refused(
    "The key that signed the key history is not one that you trust: fetch the key set and the key history again, from the service itself.",
  ),

  KID_UNKNOWN: undecidable("No key with this key id is known: fetch the current JWKS or key history."),
  VERIFIER_FAILED: undecidable("The cryptography of this machine failed to check the signature."),
  SIGNATURE_INVALID: refused("The signature was not made by this key over this content."),

  LOG_KEY_UNREADABLE: undecidable("This is not a list of the keys of logs, one a line."),
  LOG_STATE_UNREADABLE: undecidable("This is not a file of remembered checkpoints."),
  PROOF_UNREADABLE: undecidable("This is no proof of the log, so it says nothing about the envelope."),
  PROOF_MALFORMED: refused("The proof or its checkpoint is not exactly in the form that the log writes."),
  PROOF_OF_ANOTHER_LOG: refused("The proof is of another log than those whose keys were given."),
  LOG_EPOCH_UNKNOWN: undecidable(
    "The proof is of another epoch of the log, whose key was not given: fetch the log's keys from the service.",
  ),
  CHECKPOINT_SIGNATURE_INVALID: refused("The checkpoint was not signed by the log's key in both ways."),
  CHECKPOINT_IN_FUTURE: refused(
    "The time of the checkpoint lies in the future: is this machine's clock right?",
  ),
  LOG_FORKED: refused("The log has shown two trees that contradict each other."),
  PROOF_OF_ANOTHER_ENVELOPE: refused(
    "The proof does not lead from this envelope to the checkpoint: it belongs to another one, or was changed.",
  ),

  KEY_COMPROMISED: refused("The signing key was compromised when this was signed."),
  KEY_OUTSIDE_WINDOW: refused("The signing key was not in use at the time of signing."),
  CLAIM_MISSING: refused("A claim that every envelope has is missing from what is signed."),
  CLAIM_TYPE: refused("A signed claim has the wrong type."),
  AUDIENCE_NOT_SINGLE: refused("What is signed is addressed to a list of audiences."),
  RESULT_MALFORMED: refused("The signed result is not a well-formed eligibility result."),
  ISSUER_MISMATCH: refused("It was signed for another issuer than the one expected."),
  AUDIENCE_MISMATCH: refused("It was signed for another partner than the one expected."),
  ISSUED_IN_FUTURE: refused("The time of signing lies in the future: is this machine's clock right?"),
  TOKEN_EXPIRED: refused("What is signed says that it has expired (exp)."),
  TOKEN_NOT_YET_VALID: refused("What is signed says that it is not valid yet (nbf)."),
  OUTER_RESULT_DIFFERS: refused("The unsigned result differs from the signed one."),
  OUTER_ISSUER_DIFFERS: refused("The unsigned issuer differs from the signed one."),
  OUTER_AUDIENCE_DIFFERS: refused("The unsigned audience differs from the signed one."),
  OUTER_KID_DIFFERS: refused("The unsigned signatureKid differs from the key that signed."),
  OUTER_VERIFICATION_ID_DIFFERS: refused("The unsigned verificationId differs from the signed one."),
  OUTER_VERIFIED_AT_DIFFERS: refused("The unsigned verifiedAt is not the time of signing."),
  OUTER_STATEMENT_DIFFERS: refused(
    "What stands beside the signature of the statement differs from what is signed.",
  ),
  ROWS_DIFFER: refused(
    "The rows are not those that were signed: one was changed, added, taken out or moved.",
  ),

  STATUS_LIST_UNUSABLE: undecidable(
    "No status list was given that can tell whether this was withdrawn since: fetch the list, or the offline pack, from the service.",
  ),
  STATUS_LIST_STALE: undecidable(
    "The status list is too old to tell whether this was withdrawn since: fetch a newer one.",
  ),
  WITHDRAWN_SINCE: refused("The service's status list says that this is withdrawn."),
} as const satisfies Record<string, ReasonEntry>;

/** What a reader should know of an envelope although it is accepted. The names are as stable as the reasons. */
export const warnings = {
  COULD_BE_BACKDATED:
    "The key was compromised later, and whoever has it can write any time of signing. A proof of the log with a checkpoint from before the compromise would rule that out.",
} as const;

/** A stable warning code, a member of `warnings`. */
export type Warning = keyof typeof warnings;

/** A stable reason code, a member of `refusalReasons`. */
export type RefusalReason = keyof typeof refusalReasons;

/**
 * Why something is not accepted. A class, so that no JSON of an attacker can pass for one.
 * The detail never repeats unsigned content.
 */
export class Refusal {
  readonly reason: RefusalReason;
  readonly detail: string;

  constructor(reason: RefusalReason, detail: string) {
    this.reason = reason;
    this.detail = detail;
  }
}

/**
 * Makes a refusal.
 *
 * @param reason the stable code
 * @param detail what exactly is wrong; the reason's own sentence when left out
 */
export function refuse(reason: RefusalReason, detail: string = refusalReasons[reason].explanation): Refusal {
  return new Refusal(reason, detail);
}
