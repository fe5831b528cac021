/**
 * Why the service refused or failed, in words that a program can read: the header `X-Error-Code` of its answer, its
 * access log, the API reference and the partners' package all use these. A code is never renamed nor given another
 * meaning; a caller that does not know one goes by the status.
 */

/** What is told of a code: the status that its answers have, what it means, and what the caller does about it. */
export type ErrorCodeEntry = {
  readonly status: number;
  readonly title: string;
  readonly meaning: string;
  readonly remedy: string;
};

const tryAgain = "Try again with the same Idempotency-Key: after 1, 2 and 4 seconds, or as Retry-After says.";

/** @see ErrorCodeEntry */
function entry(status: number, title: string, meaning: string, remedy: string): ErrorCodeEntry {
  return { status, title, meaning, remedy };
}

export const errorCodes = {
  CREDENTIAL_REQUIRED: entry(
    401,
    "No credential",
    "No credential came with the call, or the Authorization header is not the word Bearer and one API key.",
    "Send Authorization: Bearer API_KEY, or x-agency-api-key: API_KEY, or call with your client certificate.",
  ),
  CREDENTIAL_MISTYPED: entry(
    401,
    "Mistyped API key",
    "What came as an API key is none: it is mistyped or cut off, because its check sum is wrong.",
    "Copy the whole key again, without spaces or quotation marks.",
  ),
  CREDENTIAL_WRONG_SERVICE: entry(
    401,
    "Key of another service",
    "A sandbox's key (tvs_test_) came to the live service, or a live key (tvs_live_) to a sandbox.",
    "Use the key and the address that belong together. Never send a live key to a sandbox.",
  ),
  CREDENTIAL_INVALID: entry(
    401,
    "Credential not valid",
    "The credential is not valid here: unknown, revoked, expired, or its partner is disabled. Which, is not told.",
    "Look up the key in use with whoever keeps it, then ask the operator.",
  ),
  SCOPE_MISSING: entry(
    403,
    "Scope missing",
    "This kind of call is not among the scopes that were agreed with you.",
    "GET /v1/inter-agency/me lists your scopes; ask the operator for the one that the message names.",
  ),
  PURPOSE_NOT_ALLOWED: entry(
    403,
    "Purpose not allowed",
    "The purpose is a known one, and not among those that were agreed with you. Nothing of the call was run.",
    "GET /v1/inter-agency/me lists your purposes; ask the operator for the one that is missing.",
  ),
  PURPOSE_UNKNOWN: entry(
    400,
    "Purpose unknown",
    "The purpose is none of those that the service knows.",
    "Send one of the purposes of the API reference, in capitals, as it is written there.",
  ),
  SELF_SERVICE_OFF: entry(
    403,
    "Self-service is off",
    "Keys, webhook and what you are told of are changed by the operator, as agreed with you.",
    "Ask the operator for the change, or for self-service.",
  ),
  BODY_NOT_JSON: entry(
    400,
    "Body is not JSON",
    "The body is not one JSON value in UTF-8, is nested too deeply, or has a member twice.",
    "Let a JSON library write the body, in UTF-8.",
  ),
  BODY_TOO_LARGE: entry(413, "Body too large", "The body is larger than 256 KiB.", "Ask in several calls."),
  REQUEST_INVALID: entry(
    400,
    "Request invalid",
    "A member of the body, a part of the address or a parameter is missing or wrong. The message names it.",
    "Mend what the message names; the same call will be refused again.",
  ),
  BATCH_SIZE: entry(
    400,
    "Too few or too many items",
    "The list in the body is empty, or longer than this call takes. Nothing of it was run.",
    "Send 1 to 100 items in a batch, 1 to 2,000 teachers in a roster, and up to 2,000 numbers to watch; split what is longer.",
  ),
  ITERATOR_INVALID: entry(
    400,
    "Iterator invalid",
    "The iterator is not one that this list gave you.",
    "Send the iterator of the page before as it came, or none to begin at the first entry.",
  ),
  IDEMPOTENCY_KEY_INVALID: entry(
    400,
    "Idempotency-Key invalid",
    "The Idempotency-Key is not 1 to 255 characters, or begins with a quotation mark and is no quoted string.",
    "Send a UUID, bare or in quotation marks.",
  ),
  IDEMPOTENCY_KEY_IN_USE: entry(
    409,
    "The same call is still running",
    "An earlier call with this Idempotency-Key is still being answered.",
    "Send the same call again after a second; its answer is then replayed.",
  ),
  IDEMPOTENCY_KEY_REUSED: entry(
    422,
    "Idempotency-Key used before",
    "An earlier call used this Idempotency-Key with another body.",
    "Make a new key for each question, and keep it for the retries of that one only.",
  ),
  MINUTE_QUOTA: entry(
    429,
    "Minute's quota spent",
    "Your quota of this minute is spent.",
    "Wait for retryAfterSeconds. RateLimit tells what is left before it is spent.",
  ),
  DAY_QUOTA: entry(
    429,
    "Day's quota spent",
    "Your quota of this day (UTC) is spent, or the call costs more of it than is left.",
    "Wait for retryAfterSeconds, or ask the operator for a larger quota.",
  ),
  CHANGE_QUOTA: entry(
    429,
    "Too many changes",
    "You have changed keys, webhook or what you are told of twenty times within a minute.",
    "Wait for retryAfterSeconds. Change only what is to be different.",
  ),
  ADDRESS_QUOTA: entry(
    429,
    "Too many look-ups from this address",
    "The public look-up's limit for this IP address is spent for this minute.",
    "Wait for retryAfterSeconds, and keep answers for a day; who asks much, asks as a partner.",
  ),
  DELIVERY_UNKNOWN: entry(
    404,
    "No such delivery",
    "You have no delivery with this id, or it is no longer kept.",
    "GET /v1/inter-agency/me/deliveries lists those that are kept.",
  ),
  DELIVERY_UNDER_WAY: entry(
    409,
    "Delivery under way",
    "An attempt of this delivery is in progress.",
    "Look at it again in a minute: it may have arrived.",
  ),
  NO_WEBHOOK: entry(
    404,
    "No webhook",
    "You have no webhook address.",
    "Set one with PUT /v1/inter-agency/me/webhook, or fetch events instead.",
  ),
  WEBHOOK_ADDRESS_REFUSED: entry(
    400,
    "Webhook address refused",
    "The service does not send to this address: it must be https and lead to public addresses. Which, is not told.",
    "Give a public https address that resolves now, without user or password.",
  ),
  WEBHOOK_DISABLED: entry(
    409,
    "Webhook disabled",
    "Sending to your webhook has been stopped: by the operator, by an answer 410, or after five days of failures.",
    "Set it again with PUT /v1/inter-agency/me/webhook; where that is refused too, ask the operator. Fetch events meanwhile.",
  ),
  KEY_UNKNOWN: entry(
    404,
    "No such key",
    "You have no API key with this id that lives.",
    "GET /v1/inter-agency/me lists your keys by their ids.",
  ),
  KEY_LIMIT: entry(
    409,
    "Two keys live already",
    "You have two API keys that live, which is as many as there may be.",
    "Delete the one that is no longer used, then make the new one.",
  ),
  KEY_ASKING: entry(
    409,
    "The key that asks",
    "A key cannot delete itself, so that nobody is locked out by a slip.",
    "Ask with the other key, or make one first.",
  ),
  KEY_REPLACED: entry(
    409,
    "The key that asks was replaced",
    "A key that has an end deletes only keys that were made with it: it may have been replaced because it was stolen.",
    "Ask with the newer key, or ask the operator.",
  ),
  EVENTS_GONE: entry(
    410,
    "Events no longer kept",
    "The iterator is from before what is kept (30 days), or from before the service was restored.",
    "Go on from the member oldest of the body, and check again whom you have not asked about since.",
  ),
  WATCH_LIMIT: entry(
    409,
    "Watch list full",
    "The watch list would be longer than was agreed. Nothing was added.",
    "Remove who is no longer watched, or ask the operator for more.",
  ),
  PATH_UNKNOWN: entry(
    404,
    "No such address",
    "There is nothing at this address.",
    "Check the path, and encode the slashes of a registration number (%2F).",
  ),
  NOT_KNOWN: entry(
    404,
    "Nothing known by this name",
    "The address is right, and nothing is known by what it names: no such status list, leaf or checkpoint.",
    "Take the number or hash from the document that it stands in.",
  ),
  METHOD_NOT_ALLOWED: entry(
    405,
    "Method not allowed",
    "The address exists, but not for this method.",
    "Use one of the methods that the header Allow lists.",
  ),
  REQUEST_MALFORMED: entry(
    400,
    "Not valid HTTP",
    "What came is not a valid HTTP request, and was not looked at.",
    "Look for a proxy or a client that mends requests by itself; send one Host header.",
  ),
  REQUEST_TIMEOUT: entry(
    408,
    "Request came too slowly",
    "The request did not arrive in time.",
    "Send it again, whole.",
  ),
  EXPECTATION_FAILED: entry(
    417,
    "Expectation not served",
    "The only expectation served is 100-continue.",
    "Send no other Expect header.",
  ),
  HEADERS_TOO_LARGE: entry(
    431,
    "Headers too large",
    "The request's headers are larger than the service reads.",
    "Send fewer or shorter headers.",
  ),
  INTERNAL: entry(
    500,
    "Internal error",
    "The service failed in a way that nobody expected. It is in its log under the X-Request-Id.",
    `${tryAgain} If it stays, give the operator the X-Request-Id.`,
  ),
  SERVICE_UNAVAILABLE: entry(
    503,
    "Service unavailable",
    "The service cannot answer at the moment. Nothing was decided about what was asked.",
    tryAgain,
  ),
  OVERLOADED: entry(503, "Overloaded", "More calls wait than can be answered in time.", tryAgain),
} as const satisfies Readonly<Record<string, ErrorCodeEntry>>;

/** A code of an answer's header `X-Error-Code`. */
export type ApiErrorCode = keyof typeof errorCodes;
