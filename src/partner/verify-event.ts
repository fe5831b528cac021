/** Verifies one signed event (RFC 8417) that a partner has fetched (decision D17.6). */

import { isText, isWhole, oneOf, orNull, readLimit, shape } from "./claims.ts";
import {
  certificateStatuses,
  eventTokenType,
  eventUrn,
  licenseStatuses,
  type WebhookEvent,
} from "./contract.ts";
import { type CompactJws, splitCompactJws } from "./jws.ts";
import { checkUndatedCompromise, checkUndatedWindow } from "./key-history.ts";
import { findNoEnvelope } from "./not-envelope.ts";
import { Refusal, refuse } from "./reasons.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./strict-json.ts";
import { accept, fail, note, passed, skipped, type Verification } from "./verification.ts";
import {
  answer,
  assertOptions,
  judge,
  judgeExpected,
  type Kind,
  open,
  readHeaderOf,
  type VerifyOptions,
} from "./verify-envelope.ts";

/** What is signed of an event. It is about the teacher `data.regNo`, and `toldAt` is when the service committed it. */
export type SignedEvent = Pick<WebhookEvent, "eventId" | "data"> & {
  /** One of `EventType`; a word that this release does not know is no reason to refuse. */
  readonly eventType: string;
};

/** As for an envelope, but that an event has no result; `verificationId` is its `eventId`, `verifiedAt` its commit's time. */
export type EventVerification = Verification & {
  /** Null unless it is valid. */
  readonly event: SignedEvent | null;
};

/** No list has an event's place, and no proof says when it was signed. */
export type EventOptions = Omit<VerifyOptions, "proof" | "statusLists" | "maxListAgeSeconds">;

type Token = { readonly jws: CompactJws };

const outcomes = {
  form: passed("A well-formed compact JWS, canonical base64url."),
  noOuter: skipped("An event's token has no unsigned members to compare."),
  noPlace: skipped("An event names no place in status lists."),
};

const isData = shape({
  tId: orNull(isWhole),
  regNo: isText,
  licenseStatus: oneOf(licenseStatuses),
  certificateStatus: oneOf(certificateStatuses),
  previousStatus: oneOf([...licenseStatuses, ...certificateStatuses]),
});
const required = ["iss", "aud", "iat", "jti", "sub_id", "events"];

/** One event, of one teacher: what RFC 8417 allows beside it is not what this service signs. */
function readSignedEvent({ jti, sub_id, events }: JsonObject): SignedEvent | Refusal {
  const [[name = "", data] = [], ...more] = Object.entries(isJsonObject(events) ? events : {});
  const eventType = name.slice(eventUrn.length);
  if (!name.startsWith(eventUrn) || !/^[a-z_]+\.[a-z_]+$/.test(eventType) || more.length > 0 || !isData(data))
    return refuse("CLAIM_TYPE", "The claim events is not one event of this service.");
  const { regNo } = data as WebhookEvent["data"];
  const isOfTeacher = isJsonObject(sub_id) && sub_id.format === "opaque" && sub_id.id === regNo;
  if (!isOfTeacher) return refuse("CLAIM_TYPE", "The claim sub_id does not name the teacher of the event.");
  return { eventId: String(jti), eventType, data: data as WebhookEvent["data"] };
}

/** @param told is given the event of a token that is valid */
function events(options: EventOptions, told: (event: SignedEvent) => void): Kind<Token> {
  return {
    readHeader: (text) => readHeaderOf(eventTokenType, text),
    formOf: () => outcomes.form,
    checkCompromise: checkUndatedCompromise,
    checkWindow: checkUndatedWindow,
    judgePayload({ opened: { draft } }, payload, issuedAtSeconds) {
      const missing = required.find((claim) => !Object.hasOwn(payload, claim));
      if (missing !== undefined)
        return fail(draft, "claims", refuse("CLAIM_MISSING", `The claim ${missing} is missing.`));
      if (Array.isArray(payload.aud)) return fail(draft, "claims", refuse("AUDIENCE_NOT_SINGLE"));
      const [expiresSeconds, notBeforeSeconds] = [readLimit(payload.exp), readLimit(payload.nbf)];
      const { iss, aud, jti } = payload;
      if (![iss, aud, jti].every(isText) || expiresSeconds === undefined || notBeforeSeconds === undefined)
        return fail(draft, "claims", refuse("CLAIM_TYPE"));
      const event = readSignedEvent(payload);
      if (event instanceof Refusal) return fail(draft, "claims", event);
      const signed = {
        issuer: String(iss),
        audience: String(aud),
        verificationId: String(jti),
        result: null,
      };
      const claims = { ...signed, issuedAtSeconds, expiresSeconds, notBeforeSeconds };
      const unexpected = judgeExpected(draft, claims, options, options.now?.getTime() ?? Date.now());
      if (unexpected !== null) return unexpected;
      note(draft, outcomes.noOuter);
      note(draft, outcomes.noPlace);
      told(event);
      return accept(draft);
    },
  };
}

/**
 * Verifies one signed event (RFC 8417; RFC 7515, RS256 alone): the member `set` of what `events` gave. It never takes an
 * envelope or a statement, nor `verifyEnvelope` and `verifyStatement` an event.
 *
 * An event says when it was committed, and not when it was signed, which is whenever it is fetched. So its time may lie
 * before its key was activated, and a key that was ever compromised is refused, whenever that was: fetch the event again.
 *
 * @param token the compact JWS
 * @param options as for `verifyEnvelope`
 * @returns the verdict, with every check that was made and what is signed; a bad token never throws
 * @throws TypeError as `verifyEnvelope` does
 *
 * @example
 * ```ts
 * const { valid, event } = await verifyEvent(entry.set, { keys, issuer, audience: "exam-board" });
 * if (valid) console.log(event?.eventType, event?.data.regNo);
 * ```
 */
export async function verifyEvent(token: JsonValue, options: EventOptions): Promise<EventVerification> {
  const { keys, issuer, audience, now, clockToleranceSeconds, verifySignature } = options;
  const used: EventOptions = {
    ...{ keys, issuer, audience },
    ...(now && { now }),
    ...(clockToleranceSeconds !== undefined && { clockToleranceSeconds }),
    ...(verifySignature && { verifySignature }),
  };
  assertOptions(used);
  let event: SignedEvent | null = null;
  const kind = events(used, (one) => {
    event = one;
  });
  const jws = splitCompactJws(typeof token === "string" ? token : "");
  const form = jws instanceof Refusal ? (findNoEnvelope(token) ?? jws) : { jws };
  const opened = open(form, used, kind);
  const verification =
    "verdict" in opened ? opened : judge({ opened, ...(await answer(opened, used)) }, kind);
  return { ...verification, event };
}
