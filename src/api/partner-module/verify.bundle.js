// tvs-partner 0.1.0, MIT licence: verifies the answers and webhooks of a Teacher Verification Service
if (typeof globalThis.crypto === "undefined") {
  throw new Error("tvs-partner needs Node 20 or later, Bun, Deno or a browser; this is " + (typeof process === "object" ? "Node " + process.versions.node : "none of them"));
}
// src/partner/date-time.ts
var pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;
function group(match, index) {
  return Number(match[index]);
}
function offsetMinutes(text) {
  if (text === "Z")
    return 0;
  const hours = Number(text.slice(1, 3));
  const minutes = Number(text.slice(4, 6));
  if (hours > 23 || minutes > 59)
    return null;
  return (text[0] === "-" ? -1 : 1) * (hours * 60 + minutes);
}
function parseDateTime(text) {
  const match = pattern.exec(text);
  if (match === null)
    return null;
  const [year, month, day] = [group(match, 1), group(match, 2), group(match, 3)];
  const [hour, minute, second] = [group(match, 4), group(match, 5), group(match, 6)];
  const offset = offsetMinutes(match[8] ?? "");
  if (offset === null || year < 1970 || hour > 23 || minute > 59 || second > 59)
    return null;
  const date = new Date(Date.UTC(year, month - 1, day));
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day)
    return null;
  const ms = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  return date.getTime() + ((hour * 60 + minute - offset) * 60 + second) * 1000 + ms;
}
var secondsPerDay = 86400;
var lastShortYearSeconds = 253402300799;
var twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"));
var lastDay = -1;
var lastDate = "";
function dateOf(day) {
  if (day !== lastDay) {
    lastDate = new Date(day * secondsPerDay * 1000).toISOString().slice(0, 10);
    lastDay = day;
  }
  return lastDate;
}
function formatSeconds(seconds) {
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > lastShortYearSeconds)
    return formatOther(seconds);
  const day = Math.floor(seconds / secondsPerDay);
  const inDay = seconds - day * secondsPerDay;
  const hour = twoDigits[Math.floor(inDay / 3600)];
  return `${dateOf(day)}T${hour}:${twoDigits[Math.floor(inDay / 60) % 60]}:${twoDigits[inDay % 60]}Z`;
}
var formats = new Map;
function dayInWords(date, locale = "en-GB") {
  const dayMs = parseDateTime(`${date.slice(0, 10)}T00:00:00Z`);
  if (dayMs === null)
    return date;
  let format = formats.get(locale);
  if (format === undefined) {
    const options = { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" };
    format = new Intl.DateTimeFormat(locale, options);
    formats.set(locale, format);
  }
  return format.format(dayMs);
}
function formatOther(seconds) {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? null : `${date.toISOString().slice(0, -5)}Z`;
}

// src/partner/base64url.ts
var base64url = { alphabet: "base64url" };
var characters64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
var sixBitTable = makeTable();
function makeTable() {
  const table = new Int8Array(128).fill(-1);
  for (let value = 0;value < characters64.length; value++)
    table[characters64.charCodeAt(value)] = value;
  return table;
}
function sixBits(text, index) {
  return sixBitTable[text.charCodeAt(index)] ?? -1;
}
function hasSpareBits(text) {
  const rest = text.length % 4;
  if (rest === 0)
    return false;
  return (sixBits(text, text.length - 1) & (rest === 2 ? 15 : 3)) !== 0;
}
function decodeBase64urlPortably(text) {
  if (text.length % 4 === 1 || hasSpareBits(text))
    return null;
  const bytes = new Uint8Array(Math.floor(text.length * 3 / 4));
  let bits = 0;
  let written = 0;
  for (let index = 0;index < text.length; index++) {
    const six = sixBits(text, index);
    if (six < 0)
      return null;
    bits = (bits << 6 | six) & 16777215;
    if (index % 4 !== 0)
      bytes[written++] = bits >> 6 - 2 * (index % 4);
  }
  return bytes;
}
function nativeDecoder() {
  const candidate = Uint8Array;
  return typeof candidate.fromBase64 === "function" ? candidate : null;
}
var native = nativeDecoder();
function decodeBase64url(text) {
  if (native === null)
    return decodeBase64urlPortably(text);
  if (text.length % 4 === 1 || hasSpareBits(text))
    return null;
  try {
    const bytes = native.fromBase64(text, base64url);
    return bytes.length === Math.floor(text.length * 3 / 4) ? bytes : null;
  } catch {
    return null;
  }
}
function encodeBase64url(bytes) {
  let text = "";
  for (let index = 0;index < bytes.length; index += 3) {
    const group = (bytes[index] ?? 0) << 16 | (bytes[index + 1] ?? 0) << 8 | (bytes[index + 2] ?? 0);
    const characters = Math.min(bytes.length - index, 3) + 1;
    for (let place = 0;place < characters; place++)
      text += characters64[group >> 18 - 6 * place & 63];
  }
  return text;
}

// src/partner/reasons.ts
function refused(explanation) {
  return { verdict: "refused", explanation };
}
function undecidable(explanation) {
  return { verdict: "undecidable", explanation };
}
var refusalReasons = {
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
  JWS_MALFORMED: refused("The signature is not a compact JWS whose header and payload are JSON objects."),
  BASE64URL_NOT_CANONICAL: refused("A part of the signature has padding, white space, foreign characters or spare bits."),
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
  KEY_HISTORY_KEY_COMPROMISED: refused("The key history is signed by a key that was already compromised at that time."),
  KEY_HISTORY_ISSUER_MISMATCH: refused("The key history is that of another issuer."),
  KEY_SET_CONFLICT: refused("The JWKS and the key history give different keys under one key id."),
  KEY_HISTORY_NOT_ANCHORED: refused("The key that signed the key history is not one that you trust: fetch the key set and the key history again, from the service itself."),
  KID_UNKNOWN: undecidable("No key with this key id is known: fetch the current JWKS or key history."),
  VERIFIER_FAILED: undecidable("The cryptography of this machine failed to check the signature."),
  SIGNATURE_INVALID: refused("The signature was not made by this key over this content."),
  LOG_KEY_UNREADABLE: undecidable("This is not a list of the keys of logs, one a line."),
  LOG_STATE_UNREADABLE: undecidable("This is not a file of remembered checkpoints."),
  PROOF_UNREADABLE: undecidable("This is no proof of the log, so it says nothing about the envelope."),
  PROOF_MALFORMED: refused("The proof or its checkpoint is not exactly in the form that the log writes."),
  PROOF_OF_ANOTHER_LOG: refused("The proof is of another log than those whose keys were given."),
  LOG_EPOCH_UNKNOWN: undecidable("The proof is of another epoch of the log, whose key was not given: fetch the log's keys from the service."),
  CHECKPOINT_SIGNATURE_INVALID: refused("The checkpoint was not signed by the log's key in both ways."),
  CHECKPOINT_IN_FUTURE: refused("The time of the checkpoint lies in the future: is this machine's clock right?"),
  LOG_FORKED: refused("The log has shown two trees that contradict each other."),
  PROOF_OF_ANOTHER_ENVELOPE: refused("The proof does not lead from this envelope to the checkpoint: it belongs to another one, or was changed."),
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
  OUTER_VERIFIED_AT_DIFFERS: refused("The unsigned verifiedAt is not the time of signing.")
};
var warnings = {
  COULD_BE_BACKDATED: "The key was compromised later, and whoever has it can write any time of signing. A proof of the log with a checkpoint from before the compromise would rule that out."
};

class Refusal {
  reason;
  detail;
  constructor(reason, detail) {
    this.reason = reason;
    this.detail = detail;
  }
}
function refuse(reason, detail = refusalReasons[reason].explanation) {
  return new Refusal(reason, detail);
}

// src/partner/strict-json.ts
var maxJsonDepth = 32;
var maxJsonValues = 2000000;
var harmlessLength = 1024 * 1024;
var utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
var surrogateEscape = /\\u[dD][89a-fA-F]/;
function isJsonObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function decodeUtf8(bytes) {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
function isEscaped(text, index) {
  let before = index - 1;
  while (text.charCodeAt(before) === 92)
    before--;
  return (index - before) % 2 === 0;
}
function endOfString(text, from) {
  let end = text.indexOf('"', from);
  while (text.charCodeAt(end - 1) === 92 && isEscaped(text, end))
    end = text.indexOf('"', end + 1);
  return end;
}
function outlineJson(text) {
  let [members, values, depth] = [0, 0, 0];
  for (let at = 0;at < text.length; ) {
    const code = text.charCodeAt(at++);
    if (code === 34) {
      at = endOfString(text, at) + 1;
      if (at === 0)
        return refuse("JSON_MALFORMED");
      while (text.charCodeAt(at) <= 32)
        at++;
      if (text.charCodeAt(at) === 58)
        members++;
    } else if (code === 44) {
      if (++values > maxJsonValues)
        return refuse("INPUT_TOO_LARGE");
    } else if (code === 91 || code === 123) {
      if (++depth > maxJsonDepth)
        return refuse("JSON_TOO_DEEP");
      if (++values > maxJsonValues)
        return refuse("INPUT_TOO_LARGE");
    } else if (code === 93 || code === 125) {
      depth--;
    }
  }
  return members;
}
function surveyString(text, census) {
  if (census.checkStrings && !text.isWellFormed())
    census.problem ??= "JSON_LONE_SURROGATE";
}
function surveyNumber(value, census) {
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER)
    census.problem ??= "JSON_NUMBER_RANGE";
}
function surveyNested(value, depth, census) {
  if (depth >= maxJsonDepth) {
    census.problem = "JSON_TOO_DEEP";
  } else if (Array.isArray(value)) {
    for (const item of value)
      survey(item, depth + 1, census);
  } else {
    for (const member of Object.keys(value)) {
      census.members++;
      surveyString(member, census);
      survey(value[member], depth + 1, census);
    }
  }
}
function survey(value, depth, census) {
  if (typeof value === "string")
    surveyString(value, census);
  else if (typeof value === "number")
    surveyNumber(value, census);
  else if (typeof value === "object" && value !== null)
    surveyNested(value, depth, census);
}
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return refuse("JSON_MALFORMED");
  }
}
function readStrictJson(input) {
  const text = typeof input === "string" ? input : decodeUtf8(input);
  if (text === null)
    return refuse("INPUT_NOT_UTF8");
  const membersWritten = outlineJson(text);
  if (membersWritten instanceof Refusal && text.length > harmlessLength)
    return membersWritten;
  const value = parse(text);
  if (value instanceof Refusal)
    return value;
  const checkStrings = surrogateEscape.test(text) || !text.isWellFormed();
  const census = { members: 0, checkStrings, problem: null };
  survey(value, 0, census);
  const { members, problem } = census;
  if (problem === "JSON_TOO_DEEP")
    return refuse(problem);
  if (members !== membersWritten)
    return refuse("JSON_DUPLICATE_MEMBER");
  return problem === null ? value : refuse(problem);
}
function isParsed(text, { reason }) {
  if (reason === "JSON_TOO_DEEP")
    return text.length <= harmlessLength;
  return reason !== "JSON_MALFORMED" && reason !== "INPUT_NOT_UTF8" && reason !== "INPUT_TOO_LARGE";
}
function afterString(text, quote) {
  let index = quote + 1;
  while (text[index] !== '"')
    index += text[index] === "\\" ? 2 : 1;
  return index + 1;
}
function sliceJson(text) {
  const parts = [];
  let depth = 0;
  let start = 0;
  let index = 0;
  while (index < text.length) {
    const character = text[index];
    if (character === '"') {
      index = afterString(text, index);
      continue;
    }
    if (character === "[" || character === "{") {
      depth++;
      if (depth === 1)
        start = index + 1;
    }
    const isEnd = (character === "]" || character === "}") && depth-- === 1;
    if (isEnd || character === "," && depth === 1) {
      parts.push(text.slice(start, index).trim());
      start = index + 1;
    }
    index++;
  }
  return parts.filter((part) => part !== "");
}
function sliceMembers(text) {
  return sliceJson(text).map((part) => {
    const end = afterString(part, 0);
    return {
      name: JSON.parse(part.slice(0, end)),
      value: part.slice(part.indexOf(":", end) + 1).trim()
    };
  });
}

// src/partner/envelope-codes.ts
function addressOfIssuer(issuer) {
  const url = URL.canParse(issuer) ? new URL(issuer) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    return null;
  return url.username + url.password + url.search + url.hash === "" ? url : null;
}

// src/partner/answer-age.ts
var oldAfterDays = 30;
var dayMs = 86400000;
var lastZoneMs = dayMs / 2;
var lastOver = { day: Number.NaN, date: "" };
function overEverywhere(nowMs) {
  const day = Math.floor((nowMs - lastZoneMs) / dayMs) - 1;
  if (day !== lastOver.day)
    lastOver = { day, date: new Date(day * dayMs).toISOString().slice(0, 10) };
  return lastOver.date;
}
function endedOn({ license }, nowMs) {
  if (license?.status !== "VALID" || license.expiryDate === null)
    return null;
  const { expiryDate } = license;
  const isOver = expiryDate <= overEverywhere(nowMs);
  return isOver && parseDateTime(`${expiryDate}T00:00:00Z`) !== null ? expiryDate : null;
}
function ageOf({ issuedAtSeconds, result }, nowMs) {
  const ageMs = Math.max(0, nowMs - issuedAtSeconds * 1000);
  return {
    days: Math.floor(ageMs / dayMs),
    isOld: ageMs > oldAfterDays * dayMs,
    licenseEndedOn: endedOn(result, nowMs)
  };
}
function describeAnswer({ result, verifiedAt }) {
  if (result === null || verifiedAt === null)
    return null;
  const { status, eligible, reasons } = result;
  const verdict = [status, eligible ? "eligible" : "not eligible", ...reasons].join(", ");
  return `Answer on ${dayInWords(verifiedAt)}: ${verdict}`;
}
function describeAge(verification) {
  const { age } = verification;
  if (age === null || age.licenseEndedOn === null && !age.isOld)
    return null;
  const ended = age.licenseEndedOn;
  const what = ended === null ? `The answer is ${age.days} days old` : `The licence it speaks of ended on ${dayInWords(ended)}`;
  const address = lookupAddress(verification);
  return address === null ? `${what}. Ask the issuer again.` : `${what}. Today's answer: ${address}`;
}
var isPersonal = /\d{10}|[^\x21-\x7e]/;
function lookupAddress({ valid, issuer, result }, ownOrigin = null) {
  const url = valid && issuer !== null ? addressOfIssuer(issuer) : null;
  if (url === null || url.protocol !== "https:" && url.origin !== ownOrigin)
    return null;
  const numbers = { tId: result?.teacher?.tId?.toString(), regNo: result?.certificate?.regNo };
  const about = Object.entries(numbers).find(([, number]) => typeof number === "string" && number !== "" && !isPersonal.test(number));
  const query = about === undefined ? "" : `?${about[0]}=${encodeURIComponent(about[1] ?? "")}`;
  return `${url.href.replace(/\/+$/, "")}/${query}`;
}
// src/partner/client-error.ts
var clientErrorCodes = {
  REQUEST_INVALID: "The service refused the call as malformed (400, 413): mend it before it is sent again.",
  UNAUTHORIZED: "The service knows no such credential, or it has ended (401).",
  FORBIDDEN: "The scope for this call or the purpose is not among those that were agreed (403).",
  NOT_FOUND: "There is nothing at this address (404, 405): is baseUrl right?",
  KEY_IN_USE: "The same call is still being answered under this idempotency key (409).",
  KEY_REUSED: "The idempotency key was used with another body (422).",
  QUOTA_EXCEEDED: "The quota of this minute or this day is spent (429).",
  UNAVAILABLE: "The service could not answer (5xx), each time it was asked.",
  TIMED_OUT: "No answer came in time, each time it was asked.",
  UNREACHABLE: "The service could not be reached, each time it was tried.",
  ANSWER_UNEXPECTED: "What answered is not the service, or not the service that this client knows.",
  ENVELOPE_REFUSED: "The answer did not verify: it must not be relied on.",
  ANSWER_MISMATCH: "The answer is not one to what was asked: it must not be relied on."
};

class ClientError extends Error {
  name = "ClientError";
  code;
  status;
  requestId;
  retryAfterSeconds;
  verifications;
  idempotencyKey = null;
  attempts = 1;
  constructor(code, message, details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.status = details.status ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
    this.verifications = details.verifications ?? [];
  }
}
var codesByStatus = {
  400: "REQUEST_INVALID",
  401: "UNAUTHORIZED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  405: "NOT_FOUND",
  409: "KEY_IN_USE",
  413: "REQUEST_INVALID",
  422: "KEY_REUSED",
  429: "QUOTA_EXCEEDED"
};
function codeOf(status) {
  return codesByStatus[status] ?? (status >= 500 ? "UNAVAILABLE" : "ANSWER_UNEXPECTED");
}
var maxMessageLength = 500;
function messageOf(text) {
  const body = readStrictJson(text);
  if (body instanceof Refusal || !isJsonObject(body) || typeof body.message !== "string")
    return null;
  return body.message.length > maxMessageLength ? null : body.message;
}
function waitOf(headers) {
  const text = headers.get("retry-after") ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}
function failureOf({ status, headers }, text) {
  const code = codeOf(status);
  const isRedirect = status === 0 || status >= 300 && status < 400;
  const said = messageOf(text);
  const message = isRedirect ? "the address leads elsewhere, and a credential is not carried along: give the last address as baseUrl" : `${status}: ${said ?? clientErrorCodes[code]}`;
  return new ClientError(code, message, {
    status: status === 0 ? null : status,
    requestId: headers.get("x-request-id"),
    retryAfterSeconds: waitOf(headers)
  });
}

// src/partner/client-calls.ts
var worthAnother = new Set([
  "KEY_IN_USE",
  "QUOTA_EXCEEDED",
  "UNAVAILABLE",
  "TIMED_OUT",
  "UNREACHABLE"
]);
var firstBackOffMs = 1000;
var jitter = 0.2;
function waitBefore({ code, retryAfterSeconds }, attempts, connection) {
  const { maxRetries, maxWaitSeconds } = connection;
  if (!worthAnother.has(code) || attempts > maxRetries)
    return null;
  const asked = retryAfterSeconds ?? 0;
  if (asked > maxWaitSeconds)
    return null;
  const backOffMs = firstBackOffMs * 2 ** (attempts - 1) * (1 + Math.random() * jitter);
  return code === "QUOTA_EXCEEDED" && asked > 0 ? asked * 1000 : Math.max(asked * 1000, backOffMs);
}
function headersOf({ apiKey }, { isPublic = false, body, idempotencyKey }) {
  return {
    Accept: "application/json",
    ...apiKey === undefined || isPublic ? {} : { Authorization: `Bearer ${apiKey}` },
    ...body === undefined ? {} : { "Content-Type": "application/json" },
    ...idempotencyKey == null ? {} : { "Idempotency-Key": idempotencyKey }
  };
}
function quotaOf(headers) {
  const numbers = ["limit", "remaining", "reset"].map((name) => headers.get(`x-ratelimit-${name}`));
  if (!numbers.every((text) => text !== null && /^\d{1,12}$/.test(text)))
    return null;
  const [limit = 0, remaining = 0, reset = 0] = numbers.map(Number);
  return { limit, remaining, resetsAt: new Date(reset * 1000) };
}
function deadline(timeoutMs, signal) {
  const controller = new AbortController;
  const state = { isOver: false };
  const abort = () => controller.abort(signal?.reason);
  const timer = setTimeout(() => {
    state.isOver = true;
    controller.abort();
  }, timeoutMs);
  signal?.addEventListener("abort", abort);
  const end = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  };
  return { signal: controller.signal, state, end };
}
var maxAnswerBytes = 16 * 1024 * 1024;
async function readBounded(response) {
  const parts = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let next = await reader?.read();next?.value !== undefined; next = await reader?.read()) {
    size += next.value.length;
    parts.push(next.value);
    if (size <= maxAnswerBytes)
      continue;
    await reader?.cancel();
    return null;
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
async function attempt(connection, call) {
  const { method, path, body, signal } = call;
  signal?.throwIfAborted();
  const limit = deadline(connection.timeoutMs, signal);
  try {
    const response = await connection.fetch(`${connection.baseUrl}${path}`, {
      method,
      headers: headersOf(connection, call),
      body: body === undefined ? null : JSON.stringify(body),
      redirect: "manual",
      signal: limit.signal
    });
    const bytes = await readBounded(response);
    if (bytes === null)
      return new ClientError("ANSWER_UNEXPECTED", "the answer is longer than any of the service", {
        status: response.status
      });
    const text = decodeUtf8(bytes);
    if (response.status !== 200)
      return failureOf(response, text ?? "");
    if (text !== null)
      return { response, text };
    return new ClientError("ANSWER_UNEXPECTED", "the answer is no text in UTF-8", { status: 200 });
  } catch (cause) {
    signal?.throwIfAborted();
    if (limit.state.isOver)
      return new ClientError("TIMED_OUT", `no answer within ${connection.timeoutMs} ms`, { cause });
    return new ClientError("UNREACHABLE", "the service cannot be reached: see the cause", { cause });
  } finally {
    limit.end();
  }
}
async function send(connection, call) {
  const { idempotencyKey = null, isKeyGiven = false, signal } = call;
  const begunAtMs = Date.now();
  for (let attempts = 1;; attempts++) {
    const outcome = await attempt(connection, call);
    if (!(outcome instanceof ClientError)) {
      const { headers } = outcome.response;
      const isReplay = headers.get("idempotent-replayed") === "true";
      const requestId = headers.get("x-request-id");
      const info = { requestId, attempts, isReplay, idempotencyKey, quota: quotaOf(headers) };
      const verificationId = headers.get("x-verification-id");
      return { text: outcome.text, info, verificationId, isKeyGiven, begunAtMs, endedAtMs: Date.now() };
    }
    const milliseconds = waitBefore(outcome, attempts, connection);
    if (milliseconds === null)
      throw Object.assign(outcome, { attempts, idempotencyKey });
    await connection.wait(milliseconds, signal);
  }
}

// src/partner/jws.ts
var keyMembers = ["jwk", "jku", "x5u", "x5c"];
var ascii = new TextEncoder;
function splitCompactJws(text) {
  const first = text.indexOf(".");
  const second = text.indexOf(".", first + 1);
  if (first < 1 || second === -1 || text.indexOf(".", second + 1) !== -1)
    return refuse("JWS_MALFORMED");
  const payload = decodeBase64url(text.slice(first + 1, second));
  const signature = decodeBase64url(text.slice(second + 1));
  if (payload === null || signature === null)
    return refuse("BASE64URL_NOT_CANONICAL");
  const signingInput = ascii.encode(text.slice(0, second));
  return { protectedHeader: text.slice(0, first), payload, signingInput, signature };
}
function readJwsObject(bytes, part) {
  const reading = readStrictJson(bytes);
  if (!(reading instanceof Refusal)) {
    return isJsonObject(reading) ? reading : refuse("JWS_MALFORMED", `The ${part} is no JSON object.`);
  }
  const isForm = reading.reason === "JSON_MALFORMED" || reading.reason === "INPUT_NOT_UTF8";
  if (isForm)
    return refuse("JWS_MALFORMED", `The ${part} is not JSON in UTF-8.`);
  return refuse(reading.reason, `The ${part} is not strict JSON.`);
}
function vetHeader(header) {
  if (header.alg !== "RS256")
    return refuse("HEADER_ALG");
  if (Object.hasOwn(header, "crit"))
    return refuse("HEADER_CRIT");
  if (Object.hasOwn(header, "b64"))
    return refuse("HEADER_B64");
  if (keyMembers.some((member) => Object.hasOwn(header, member)))
    return refuse("HEADER_KEY");
  const { typ = null, kid } = header;
  if (Object.hasOwn(header, "typ") && typeof typ !== "string")
    return refuse("HEADER_TYP");
  if (typeof kid !== "string" || kid === "")
    return refuse("HEADER_KID");
  return { kid, typ };
}
function readJwsHeader(protectedHeader) {
  const bytes = decodeBase64url(protectedHeader);
  if (bytes === null)
    return refuse("BASE64URL_NOT_CANONICAL");
  const header = readJwsObject(bytes, "header");
  return header instanceof Refusal ? header : vetHeader(header);
}

// src/partner/rsa-key.ts
var minModulusBits = 2048;
var maxModulusBits = 8192;
var maxExponentBytes = 4;
var privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth"];
function toBigInt(bytes) {
  let hex = "0x0";
  for (const byte of bytes)
    hex += byte.toString(16).padStart(2, "0");
  return BigInt(hex);
}
function readUnsigned(value) {
  if (typeof value !== "string" || value === "")
    return null;
  const bytes = decodeBase64url(value);
  return bytes === null || bytes[0] === 0 ? null : bytes;
}
function vetExponent(bytes, kid) {
  const last = bytes[bytes.length - 1] ?? 0;
  const isOne = bytes.length === 1 && last === 1;
  if (bytes.length <= maxExponentBytes && last % 2 === 1 && !isOne)
    return null;
  return refuse("KEY_SET_EXPONENT", `The public exponent of key ${kid} is even, 1 or oversized.`);
}
function vetModulus(bytes, kid) {
  const modulus = toBigInt(bytes);
  const bits = bytes.length * 8 - (Math.clz32(bytes[0] ?? 0) - 24);
  if (bits < minModulusBits || bits > maxModulusBits) {
    return refuse("KEY_SET_MODULUS_SIZE", `Key ${kid} has ${bits} bits, not 2048 to 8192.`);
  }
  if (modulus % 2n === 0n)
    return refuse("KEY_SET_KEY_MALFORMED", `The modulus of key ${kid} is even.`);
  if (!hasRocaFingerprint(modulus))
    return null;
  return refuse("KEY_SET_ROCA", `Key ${kid} was made by a generator known to be broken: it can be factored.`);
}
function findSecret(jwk) {
  if (jwk.kty === "oct" || Object.hasOwn(jwk, "k"))
    return refuse("KEY_SET_SYMMETRIC_KEY");
  if (privateMembers.some((member) => Object.hasOwn(jwk, member)))
    return refuse("KEY_SET_PRIVATE_KEY");
  return null;
}
function isForSignatures(jwk) {
  if (Object.hasOwn(jwk, "use") && jwk.use !== "sig")
    return false;
  if (Object.hasOwn(jwk, "alg") && jwk.alg !== "RS256")
    return false;
  if (!Object.hasOwn(jwk, "key_ops"))
    return true;
  return Array.isArray(jwk.key_ops) && jwk.key_ops.length === 1 && jwk.key_ops[0] === "verify";
}
function vetRsaKey(jwk) {
  const secret = findSecret(jwk);
  if (secret !== null)
    return secret;
  if (typeof jwk.kty !== "string")
    return refuse("KEY_SET_KEY_MALFORMED", "A key of the set has no type (kty).");
  if (jwk.kty !== "RSA")
    return null;
  const kid = jwk.kid;
  if (typeof kid !== "string" || kid === "")
    return refuse("KEY_SET_KID_MISSING");
  const [n, e] = [readUnsigned(jwk.n), readUnsigned(jwk.e)];
  if (n === null || e === null || !isForSignatures(jwk)) {
    return refuse("KEY_SET_KEY_MALFORMED", `Key ${kid} is not a well-formed RSA key for RS256 signatures.`);
  }
  const problem = vetModulus(n, kid) ?? vetExponent(e, kid);
  if (problem !== null)
    return problem;
  const publicJwk = {
    kty: "RSA",
    use: "sig",
    alg: "RS256",
    kid,
    n: String(jwk.n),
    e: String(jwk.e)
  };
  return { jwk: publicJwk, modulusBytes: n.length };
}
function isThumbprint(text) {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}
async function thumbprintOf({ e, n }) {
  const members = new TextEncoder().encode(JSON.stringify({ e, kty: "RSA", n }));
  return encodeBase64url(new Uint8Array(await crypto.subtle.digest("SHA-256", members)));
}
var generator = 65537;
var discriminators = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157];
function powersModulo(prime) {
  const powers = new Set;
  let power = 1;
  while (!powers.has(power)) {
    powers.add(power);
    power = power * generator % prime;
  }
  return powers;
}
var subgroups = discriminators.map((prime) => ({ prime: BigInt(prime), powers: powersModulo(prime) }));
function hasRocaFingerprint(modulus) {
  return subgroups.every(({ prime, powers }) => powers.has(Number(modulus % prime)));
}
var algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
var imported = new WeakMap;
function importOnce(jwk) {
  const known = imported.get(jwk);
  if (known !== undefined)
    return known;
  const key = crypto.subtle.importKey("jwk", { kty: "RSA", n: jwk.n, e: jwk.e }, algorithm, false, [
    "verify"
  ]);
  imported.set(jwk, key);
  return key;
}
async function verifyWithWebCrypto(_kid, jwk, signingInput, signature) {
  return crypto.subtle.verify(algorithm.name, await importOnce(jwk), signature, signingInput);
}
function hasSignatureLength(key, signature) {
  return signature.length === key.modulusBytes;
}

// src/partner/verification.ts
var checkNames = [
  "form",
  "header",
  "keySet",
  "key",
  "signature",
  "log",
  "compromise",
  "window",
  "claims",
  "issuer",
  "audience",
  "time",
  "outer"
];
var notReached = "Not reached.";
var noWarnings = Object.freeze([]);
function passed(detail) {
  return { ok: true, detail };
}
function skipped(detail) {
  return { ok: null, detail };
}
function beginVerification() {
  const nothing = { kid: null, claims: null, age: null, claimedIssuer: null, trust: null, log: null };
  return { outcomes: [], ...nothing, warnings: noWarnings };
}
function note(draft, outcome) {
  draft.outcomes.push(outcome);
}
function describe(outcomes) {
  return outcomes.map(({ ok, detail }, index) => ({ name: checkNames[index], ok, detail }));
}
function conclude(draft, reason, checks) {
  const { claims, kid } = draft;
  return {
    valid: reason === null,
    reason,
    verdict: reason === null ? "valid" : refusalReasons[reason].verdict,
    verificationId: claims?.verificationId ?? null,
    kid,
    issuer: claims?.issuer ?? null,
    audience: claims?.audience ?? null,
    verifiedAt: claims === null ? null : formatSeconds(claims.issuedAtSeconds),
    result: claims?.result ?? null,
    age: draft.age,
    claimedIssuer: draft.claimedIssuer,
    trust: draft.trust,
    log: draft.log,
    warnings: reason === null ? draft.warnings : noWarnings,
    checks
  };
}
function accept(draft) {
  return conclude(draft, null, describe(draft.outcomes));
}
function fail(draft, name, refusal) {
  const checks = describe(draft.outcomes);
  for (const other of checkNames.slice(checks.length)) {
    const isFailed = other === name;
    checks.push({ name: other, ok: isFailed ? false : null, detail: isFailed ? refusal.detail : notReached });
  }
  return conclude(draft, refusal.reason, checks);
}

// src/partner/key-history.ts
var keyStates = ["pending", "active", "retired", "compromised"];
var keyHistoryType = "key-history+jwt";
function malformed(detail) {
  return refuse("KEY_HISTORY_MALFORMED", detail);
}
function readTime(value) {
  if (value === null)
    return null;
  return typeof value === "string" ? parseDateTime(value) ?? undefined : undefined;
}
function isComplete(window) {
  if (window.state === "active")
    return window.activatedAtMs !== null;
  if (window.state === "retired")
    return window.retiredAtMs !== null;
  return window.state === "pending" || window.compromisedSinceMs !== null;
}
function readWindow(entry) {
  const state = keyStates.find((known) => known === entry.state);
  const activatedAtMs = readTime(entry.activatedAt);
  const retiredAtMs = readTime(entry.retiredAt);
  const compromisedSinceMs = readTime(entry.compromisedSince);
  if (state === undefined || readTime(entry.publishedAt) === undefined)
    return null;
  if (activatedAtMs === undefined || retiredAtMs === undefined || compromisedSinceMs === undefined)
    return null;
  const window = { state, activatedAtMs, retiredAtMs, compromisedSinceMs };
  return isComplete(window) ? window : null;
}
function readEntry(entry) {
  if (!isJsonObject(entry) || !isJsonObject(entry.jwk))
    return malformed("An entry of the key history has no key.");
  const key = vetRsaKey(entry.jwk);
  if (key === null)
    return malformed("The key history lists a key that is not an RSA key.");
  if (key instanceof Refusal)
    return key;
  if (entry.kid !== key.jwk.kid)
    return malformed("An entry of the key history and its key have different ids.");
  const window = readWindow(entry);
  if (window === null)
    return malformed(`The key history gives key ${key.jwk.kid} no well-formed state and times.`);
  return { ...key, window };
}
function readEntries(entries) {
  const keys = new Map;
  for (const entry of entries) {
    const key = readEntry(entry);
    if (key instanceof Refusal)
      return key;
    if (keys.has(key.jwk.kid))
      return refuse("KEY_SET_DUPLICATE_KID");
    keys.set(key.jwk.kid, key);
  }
  return keys;
}
function readPayload(payload) {
  const { iss, iat, keys } = payload;
  if (typeof iss !== "string" || typeof iat !== "number" || !Number.isSafeInteger(iat) || !Array.isArray(keys)) {
    return malformed("The key history lacks its issuer, its time or its list of keys.");
  }
  const entries = readEntries(keys);
  return entries instanceof Refusal ? entries : { issuer: iss, issuedAtSeconds: iat, keys: entries };
}
function unwrap(text) {
  const trimmed = text.trim();
  if (!trimmed.startsWith("{"))
    return trimmed;
  const reading = readStrictJson(trimmed);
  const wrapper = !(reading instanceof Refusal) && isJsonObject(reading) ? reading : {};
  return typeof wrapper.keyHistory === "string" ? wrapper.keyHistory : "";
}
async function findSigner(history, header, jws) {
  const signer = history.keys.get(header.kid);
  if (signer === undefined)
    return refuse("KEY_HISTORY_KID_UNKNOWN");
  if (!hasSignatureLength(signer, jws.signature))
    return refuse("KEY_HISTORY_SIGNATURE_INVALID");
  const isGood = await verifyWithWebCrypto(header.kid, signer.jwk, jws.signingInput, jws.signature);
  return isGood ? signer : refuse("KEY_HISTORY_SIGNATURE_INVALID");
}
async function readKeyHistory(text, issuer) {
  const jws = splitCompactJws(unwrap(text));
  if (jws instanceof Refusal)
    return refuse("KEY_HISTORY_UNREADABLE");
  const header = readJwsHeader(jws.protectedHeader);
  if (header instanceof Refusal)
    return malformed(header.detail);
  if (header.typ !== keyHistoryType)
    return malformed(`The key history's typ is not ${keyHistoryType}.`);
  const payload = readJwsObject(jws.payload, "payload");
  if (payload instanceof Refusal)
    return malformed(payload.detail);
  const history = readPayload(payload);
  if (history instanceof Refusal)
    return history;
  const signer = await findSigner(history, header, jws);
  if (signer instanceof Refusal)
    return signer;
  if (isCompromisedAt(signer.window, history.issuedAtSeconds))
    return refuse("KEY_HISTORY_KEY_COMPROMISED");
  if (issuer !== null && history.issuer !== issuer)
    return refuse("KEY_HISTORY_ISSUER_MISMATCH");
  return { ...history, signer };
}
function isCompromisedAt(window, seconds) {
  return window.compromisedSinceMs !== null && seconds >= Math.floor(window.compromisedSinceMs / 1000);
}
function finding(outcome, ...warnings) {
  return { outcome, warnings: Object.freeze(warnings), precedesCompromise: false };
}
var unknown = skipped("No key history tells when this key was in use.");
var unknownCompromise = finding(unknown);
var neverCompromised = finding(passed("The key history flags no compromise of this key."));
var beforeCompromise = finding(passed("The key was compromised later than this says it was signed; its thief could have written that time."), "COULD_BE_BACKDATED");
var inUse = passed("The key was in use at the time of signing.");
function loggedBefore(compromisedSinceMs, loggedSeconds) {
  const since = formatSeconds(Math.floor(compromisedSinceMs / 1000));
  const detail = `The key was compromised on ${since}; this still counts because the log had it on ${formatSeconds(loggedSeconds)}, before that.`;
  return { outcome: passed(detail), warnings: [], precedesCompromise: true };
}
function checkCompromise(window, seconds, loggedSeconds) {
  if (window === null)
    return unknownCompromise;
  const { compromisedSinceMs } = window;
  if (compromisedSinceMs === null)
    return neverCompromised;
  if (loggedSeconds !== null && !isCompromisedAt(window, loggedSeconds))
    return loggedBefore(compromisedSinceMs, loggedSeconds);
  if (!isCompromisedAt(window, seconds))
    return beforeCompromise;
  return loggedSeconds === null ? refuse("KEY_COMPROMISED") : refuse("KEY_COMPROMISED", "The key was compromised when this was signed, and when the log had it.");
}
function checkWindow(window, seconds) {
  if (window === null)
    return unknown;
  const { activatedAtMs, retiredAtMs } = window;
  if (activatedAtMs === null || seconds < Math.floor(activatedAtMs / 1000))
    return refuse("KEY_OUTSIDE_WINDOW");
  const isRetired = retiredAtMs !== null && seconds > Math.floor(retiredAtMs / 1000);
  return isRetired ? refuse("KEY_OUTSIDE_WINDOW") : inUse;
}

// src/partner/key-set.ts
function withoutMark(text) {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}
function readJwksText(text) {
  const reading = readStrictJson(withoutMark(text));
  if (!(reading instanceof Refusal))
    return reading;
  const isDuplicate = reading.reason === "JSON_DUPLICATE_MEMBER";
  return refuse(isDuplicate ? "KEY_SET_DUPLICATE_MEMBER" : "KEY_SET_UNREADABLE");
}
function readJwksDocument(jwks) {
  if (jwks instanceof Uint8Array)
    return readJwksText(decodeUtf8(jwks) ?? "");
  return typeof jwks === "string" ? readJwksText(jwks) : jwks;
}
function vetKeys(entries) {
  const keys = new Map;
  const kids = new Set;
  for (const entry of entries) {
    if (!isJsonObject(entry))
      return refuse("KEY_SET_KEY_MALFORMED", "The key set holds something that is no key.");
    const key = vetRsaKey(entry);
    if (key instanceof Refusal)
      return key;
    const { kid = null } = entry;
    if (kid !== null && kids.has(kid))
      return refuse("KEY_SET_DUPLICATE_KID");
    kids.add(kid);
    if (key !== null)
      keys.set(key.jwk.kid, { ...key, window: null });
  }
  return keys;
}
function readJwks(jwks) {
  const document = readJwksDocument(jwks);
  if (document instanceof Refusal)
    return document;
  if (!isJsonObject(document) || !Array.isArray(document.keys))
    return refuse("KEY_SET_UNREADABLE");
  return vetKeys(document.keys);
}
function isSameKey(one, other) {
  return one.jwk.n === other.jwk.n && one.jwk.e === other.jwk.e;
}
function merge(published, historic, isPinned) {
  const keys = new Map(isPinned ? [] : published);
  for (const [kid, key] of historic) {
    const other = published.get(kid);
    if (other !== undefined && !isSameKey(other, key)) {
      return refuse("KEY_SET_CONFLICT", `The JWKS and the key history give different keys under ${kid}.`);
    }
    if (other !== undefined || key.window.compromisedSinceMs !== null)
      keys.set(kid, key);
  }
  return keys;
}
async function anchorHistory(history, published, anchor) {
  const { signer } = history;
  const keys = published === null ? history.keys : merge(published, history.keys, anchor !== undefined);
  if (keys instanceof Refusal)
    return keys;
  const historySigner = await thumbprintOf(signer.jwk);
  const isPublished = published === null || [...published.values()].some((key) => isSameKey(key, signer));
  if (!isPublished || anchor !== undefined && anchor !== historySigner) {
    const place = isPublished ? `not ${anchor}, the one that you pinned` : "not in the JWKS";
    const detail = `The key that signed the key history, ${historySigner}, is ${place}.`;
    return refuse("KEY_HISTORY_NOT_ANCHORED", detail);
  }
  const basis = anchor !== undefined ? "anchor" : published !== null ? "jwks" : "key-history";
  return { keys, trust: { basis, historySigner, historySignedAt: formatSeconds(history.issuedAtSeconds) } };
}
async function readSources(sources) {
  const { jwks, keyHistory, issuer = null, anchor } = sources;
  const published = jwks === undefined ? null : readJwks(jwks);
  if (published instanceof Refusal)
    return published;
  if (keyHistory === undefined) {
    const trust = { basis: "jwks", historySigner: null, historySignedAt: null };
    return { keys: published ?? new Map, trust };
  }
  const text = typeof keyHistory === "string" ? keyHistory : decodeUtf8(keyHistory) ?? "";
  const history = await readKeyHistory(withoutMark(text), issuer);
  return history instanceof Refusal ? history : anchorHistory(history, published, anchor);
}
var noForbiddenKey = "No key of the set is forbidden.";
var checkedWithJwks = passed(noForbiddenKey);
function checkedBy({ basis, historySigner, historySignedAt }) {
  if (basis === "jwks")
    return checkedWithJwks;
  const signed = `which key ${historySigner} signed on ${historySignedAt}`;
  return basis === "anchor" ? passed(`${noForbiddenKey} Trust rests on the key history, ${signed}, and you pinned that key.`) : passed(`${noForbiddenKey} Trust rests on the key history alone, ${signed}. If it came with the envelope, it proves nothing.`);
}
async function createKeySet(sources) {
  const { jwks, keyHistory, anchor } = sources;
  if (jwks === undefined && keyHistory === undefined) {
    throw new TypeError("createKeySet needs a JWKS, a key history or both");
  }
  if (anchor !== undefined && (keyHistory === undefined || !isThumbprint(anchor))) {
    throw new TypeError("the anchor is the 43-character id of the key that signed the key history");
  }
  const outcome = await readSources(sources).catch(() => refuse("VERIFIER_FAILED"));
  return outcome instanceof Refusal ? { keys: new Map, refusal: outcome, trust: null, checked: checkedWithJwks } : { ...outcome, refusal: null, checked: checkedBy(outcome.trust) };
}

// src/partner/contract.ts
var licenseStatuses = ["VALID", "EXPIRED", "NOT_FOUND", "REVOKED"];
var certificateStatuses = ["VERIFIED", "NOT_FOUND", "CLAIMED", "LEGACY_RECORD"];
var sources = ["new_system", "legacy"];

// src/partner/claims.ts
var requiredClaims = ["iss", "aud", "sub", "iat", "result"];
function readIssuedAt(payload) {
  const { iat } = payload;
  if (iat === undefined)
    return refuse("CLAIM_MISSING", "The claim iat is missing.");
  const isTime = typeof iat === "number" && Number.isSafeInteger(iat) && iat >= 0 && formatSeconds(iat) !== null;
  return isTime ? iat : refuse("CLAIM_TYPE", "The claim iat is not a time in whole seconds.");
}
function readClaimedIssuer(payload) {
  if (payload instanceof Refusal || typeof payload.iss !== "string")
    return null;
  const { iss } = payload;
  const isPlain = /^[\x21-\x7e]{1,200}$/.test(iss);
  return isPlain && addressOfIssuer(iss) !== null ? iss : null;
}
function findTypeProblem(payload) {
  const missing = requiredClaims.find((claim) => !Object.hasOwn(payload, claim));
  if (missing !== undefined)
    return refuse("CLAIM_MISSING", `The claim ${missing} is missing.`);
  if (Array.isArray(payload.aud))
    return refuse("AUDIENCE_NOT_SINGLE");
  const wrong = ["iss", "aud", "sub"].find((claim) => typeof payload[claim] !== "string" || payload[claim] === "");
  if (wrong !== undefined)
    return refuse("CLAIM_TYPE", `The claim ${wrong} is not a text.`);
  const problem = findResultProblem(payload.result);
  return problem === null ? null : refuse("RESULT_MALFORMED", problem);
}
function readLimit(value) {
  if (value === undefined)
    return null;
  return typeof value === "number" ? value : undefined;
}
function readClaims(payload, issuedAtSeconds) {
  const problem = findTypeProblem(payload);
  if (problem !== null)
    return problem;
  const [expiresSeconds, notBeforeSeconds] = [readLimit(payload.exp), readLimit(payload.nbf)];
  if (expiresSeconds === undefined || notBeforeSeconds === undefined) {
    return refuse("CLAIM_TYPE", "The claim exp or nbf is not a number.");
  }
  return {
    issuer: String(payload.iss),
    audience: String(payload.aud),
    verificationId: String(payload.sub),
    issuedAtSeconds,
    result: asEligibilityResult(payload.result),
    expiresSeconds,
    notBeforeSeconds
  };
}
function isText(value) {
  return typeof value === "string";
}
function isFlag(value) {
  return typeof value === "boolean";
}
function isWhole(value) {
  return Number.isSafeInteger(value);
}
function isTextList(value) {
  return Array.isArray(value) && value.every(isText);
}
function listRules(rules) {
  return { members: Object.keys(rules), checks: Object.values(rules) };
}
function findBroken({ members, checks }, value) {
  for (let index = 0;index < members.length; index++) {
    const member = members[index];
    if (checks[index]?.(value[member]) !== true)
      return member;
  }
  return;
}
function oneOf(words) {
  return (value) => typeof value === "string" && words.includes(value);
}
function orNull(rule) {
  return (value) => value === null || value === undefined || rule(value);
}
function shape(rules) {
  const listed = listRules(rules);
  return (value) => isJsonObject(value) && findBroken(listed, value) === undefined;
}
var rules = {
  found: isFlag,
  source: orNull(oneOf(sources)),
  status: oneOf(licenseStatuses),
  eligible: isFlag,
  reasons: isTextList,
  teacher: orNull(shape({ name: isText, tId: orNull(isWhole), state: orNull(isText), category: orNull(isText) })),
  license: orNull(shape({
    status: oneOf(licenseStatuses),
    issueDate: orNull(isText),
    expiryDate: orNull(isText),
    daysRemaining: orNull(isWhole)
  })),
  certificate: orNull(shape({ status: oneOf(certificateStatuses), regNo: orNull(isText), issueDate: orNull(isText) })),
  profile: orNull(isJsonObject)
};
var resultRules = listRules(rules);
var nullWhenNotFound = ["source", "teacher", "license", "certificate", "profile"];
function findContradiction(result) {
  if (result.found === false) {
    const isEmpty = nullWhenNotFound.every((member) => (result[member] ?? null) === null);
    if (!isEmpty)
      return "Nobody was found, yet the signed result describes somebody.";
    if (result.status !== "NOT_FOUND")
      return "Nobody was found, yet the signed status is not NOT_FOUND.";
  }
  const isEntitled = result.found === true && result.status === "VALID";
  return result.eligible === true && !isEntitled ? "The signed result is eligible without a VALID licence." : null;
}
function findResultProblem(value) {
  if (!isJsonObject(value))
    return "The signed result is not an object.";
  const broken = findBroken(resultRules, value);
  if (broken !== undefined)
    return `The signed result's member ${broken} is missing or malformed.`;
  return findContradiction(value);
}
function asEligibilityResult(value) {
  return value;
}

// src/partner/not-envelope.ts
var ownMembers = ["signature", "signatureKid", "result", "verificationId"];
var signatureStart = /^\s*eyJ/;
var signaturePart = /eyJ[\w+/=-]{8}/;
var dottedParts = /^\s*[\w-]+(?:\.[\w-]*){2,}\s*$/;
var memberMark = new RegExp(`"(?:${ownMembers.join("|")})"\\s*:|\\\\u00[4-7]`, "i");
function claimsAsText(given) {
  const text = given.includes("\x00") ? given.replaceAll("\x00", "") : given;
  if (signatureStart.test(text) || dottedParts.test(text) || memberMark.test(text))
    return true;
  return text.includes(".") && signaturePart.test(text);
}
function claims(value, depth = 0) {
  if (typeof value === "string")
    return claimsAsText(value);
  if (typeof value !== "object" || value === null)
    return false;
  const isOwn = isJsonObject(value) && ownMembers.some((member) => Object.hasOwn(value, member));
  if (isOwn || depth > maxJsonDepth)
    return true;
  return Object.values(value).some((inner) => claims(inner, depth + 1));
}
function no(what) {
  return refuse("NOT_AN_ENVELOPE", `This is ${what}, not an envelope.`);
}
var statusMeanings = {
  400: "the request was malformed",
  401: "there was no valid credential",
  403: "the credential did not allow it",
  404: "there is nothing at that address",
  409: "the request conflicts with an earlier one",
  413: "the request was too large",
  429: "too many requests"
};
function errorAnswer({ statusCode, message }) {
  if (typeof statusCode !== "number" || typeof message !== "string")
    return null;
  if (!Number.isInteger(statusCode) || statusCode < 400 || statusCode > 599)
    return null;
  const meaning = statusMeanings[statusCode] ?? (statusCode < 500 ? "it was refused" : "the service failed");
  return `an error answer (${statusCode}: ${meaning})`;
}
var documents = [
  ["a key set (JWKS)", ["keys"]],
  ["the health document", ["service", "activeKid"]],
  ["a webhook delivery", ["eventId", "eventType"]],
  ["an answer of the public lookup, which is not signed", ["found", "verifiedAt"]]
];
function describeObject(value) {
  const has = (members) => members.every((member) => Object.hasOwn(value, member));
  return errorAnswer(value) ?? documents.find(([, members]) => has(members))?.[0] ?? "some other JSON";
}
function describeText(text) {
  if (!/\S/.test(text))
    return "an empty text";
  return /^\s*</.test(text) ? "a web page" : "a text that is neither JSON nor a signature";
}
function findNoEnvelope(value) {
  if (claims(value))
    return null;
  if (typeof value === "string")
    return no(describeText(value));
  return no(isJsonObject(value) ? describeObject(value) : "some other JSON");
}
var pictureStart = /^.{0,1024}%PDF-|^[\x89\u2030]PNG|^\xff\xd8\xff/s;
function findNoEnvelopeInBytes(bytes) {
  const text = new TextDecoder("latin1").decode(bytes).replaceAll("\x00", "");
  if (/^\s*[[{"]/.test(text) || claims(text))
    return null;
  return no(pictureStart.test(text) ? "a picture or a PDF" : "a binary file");
}

// src/partner/outer-members.ts
var textMembers = ["verificationId", "verifiedAt", "issuer", "audience", "signature", "signatureKid"];
function readOuterMembers(envelope) {
  const bad = textMembers.find((member) => typeof envelope[member] !== "string");
  if (bad !== undefined)
    return refuse("ENVELOPE_MALFORMED", `The member ${bad} is missing or not a text.`);
  if (!isJsonObject(envelope.result)) {
    return refuse("ENVELOPE_MALFORMED", "The member result is missing or not an object.");
  }
  return envelope;
}
function differenceInList(signed, outer, path) {
  if (!Array.isArray(outer) || outer.length !== signed.length)
    return path;
  for (const [index, item] of signed.entries()) {
    const difference = firstDifference(item, outer[index], `${path}[${index}]`);
    if (difference !== null)
      return difference;
  }
  return null;
}
function differenceInObject(signed, outer, path) {
  if (!isJsonObject(outer))
    return path;
  const members = Object.keys(signed);
  for (const member of members) {
    if (!Object.hasOwn(outer, member))
      return `${path}.${member}`;
    const difference = firstDifference(signed[member], outer[member], `${path}.${member}`);
    if (difference !== null)
      return difference;
  }
  return Object.keys(outer).length === members.length ? null : path;
}
function firstDifference(signed, outer, path) {
  if (signed === outer)
    return null;
  if (Array.isArray(signed))
    return differenceInList(signed, outer, path);
  return isJsonObject(signed) ? differenceInObject(signed, outer, path) : path;
}
function isSameSecond(verifiedAt, seconds) {
  const text = formatSeconds(seconds);
  const isShortYear = text?.length === 20;
  if (isShortYear && (verifiedAt === text || verifiedAt === `${text.slice(0, -1)}.000Z`))
    return true;
  const time = parseDateTime(verifiedAt);
  return time !== null && Math.floor(time / 1000) === seconds;
}
function findOuterDifference(outer, claims, kid) {
  const place = firstDifference(claims.result, outer.result, "result");
  if (place !== null)
    return refuse("OUTER_RESULT_DIFFERS", `The unsigned ${place} differs from the signed one.`);
  if (outer.issuer !== claims.issuer)
    return refuse("OUTER_ISSUER_DIFFERS");
  if (outer.audience !== claims.audience)
    return refuse("OUTER_AUDIENCE_DIFFERS");
  if (outer.signatureKid !== kid)
    return refuse("OUTER_KID_DIFFERS");
  if (outer.verificationId !== claims.verificationId)
    return refuse("OUTER_VERIFICATION_ID_DIFFERS");
  return isSameSecond(outer.verifiedAt, claims.issuedAtSeconds) ? null : refuse("OUTER_VERIFIED_AT_DIFFERS");
}

// src/partner/envelope-form.ts
function isJsonText(text) {
  return /^[\t\n\r ]*\{/.test(text);
}
function readEnvelopeValue(value) {
  const outer = isJsonObject(value) ? readOuterMembers(value) : refuse("ENVELOPE_MALFORMED", "This is neither an envelope nor a signature.");
  if (outer instanceof Refusal)
    return findNoEnvelope(value) ?? outer;
  const jws = splitCompactJws(outer.signature);
  return jws instanceof Refusal ? jws : { jws, outer };
}
function readForm(input) {
  if (typeof input !== "string")
    return readEnvelopeValue(input);
  if (isJsonText(input)) {
    const reading = readStrictJson(input);
    return reading instanceof Refusal ? reading : readEnvelopeValue(reading);
  }
  const jws = splitCompactJws(input);
  return jws instanceof Refusal ? findNoEnvelope(input) ?? jws : { jws, outer: null };
}

// src/partner/base64.ts
var urlCharacters = { "+": "-", "/": "_" };
function decodeBase64(text) {
  const unpadded = text.replace(/={1,2}$/, "");
  if (text.length % 4 !== 0 || text.length - unpadded.length !== (4 - unpadded.length % 4) % 4)
    return null;
  if (/[-_]/.test(unpadded))
    return null;
  return decodeBase64url(unpadded.replace(/[+/]/g, (character) => urlCharacters[character] ?? ""));
}
function decodeHash(text) {
  return text.length === 44 && text.endsWith("=") && !text.endsWith("==") ? decodeBase64(text) : null;
}

// src/partner/signed-note.ts
var signatureTypes = { plain: 1, timestamped: 4 };
var publicKeyBytes = 32;
var keyIdBytes = 4;
var maxSignatures = 64;
var maxNoteLength = 64 * 1024;
var signatureLine = /^— (\S+) (\S+)$/u;
var verifierKeyForm = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/u;
var notInName = /[\p{White_Space}\p{Cc}+]/u;
var forbiddenInNote = /[\u0000-\u0009\u000b-\u001f]/;
function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
function isKeyName(text) {
  return text !== "" && !notInName.test(text);
}
async function keyIdOf(name, type, publicKey) {
  const bytes = Uint8Array.from([...new TextEncoder().encode(`${name}
`), type, ...publicKey]);
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).subarray(0, keyIdBytes));
}
function timestampedMessage(text, seconds) {
  return new TextEncoder().encode(`cosignature/v1
time ${seconds}
${text}`);
}
function malformed2(detail) {
  return refuse("PROOF_MALFORMED", detail);
}
function readSignature(line) {
  const [, name = "", encoded = ""] = signatureLine.exec(line) ?? [];
  const bytes = decodeBase64(encoded);
  if (!isKeyName(name) || bytes === null || bytes.length <= keyIdBytes)
    return null;
  return { name, keyId: toHex(bytes.subarray(0, keyIdBytes)), signature: bytes.slice(keyIdBytes) };
}
function readSignatures(text) {
  if (text === "")
    return malformed2("The checkpoint has no signatures, or a surplus blank line at its end.");
  const lines = text.split(`
`);
  if (lines.pop() !== "") {
    return malformed2("The checkpoint ends in the midst of its signatures.");
  }
  if (lines.length > maxSignatures)
    return malformed2(`The checkpoint has over ${maxSignatures} signatures.`);
  const signatures = [];
  for (const line of lines) {
    const signature = readSignature(line);
    if (signature === null)
      return malformed2("A line after the checkpoint's text is no signature.");
    signatures.push(signature);
  }
  const keys = new Set(signatures.map(({ name, keyId }) => `${name} ${keyId}`));
  return keys.size === signatures.length ? signatures : malformed2("Two signatures are of the same key.");
}
function readNote(input) {
  const note = typeof input === "string" ? input : decodeUtf8(input);
  if (note === null)
    return malformed2("The checkpoint is not valid UTF-8.");
  if (note.length > maxNoteLength)
    return malformed2("The checkpoint is longer than any log writes.");
  if (forbiddenInNote.test(note) || !note.isWellFormed())
    return malformed2("The checkpoint holds control characters.");
  const blank = note.lastIndexOf(`

`);
  if (blank < 1)
    return malformed2("The checkpoint has no signatures.");
  const signatures = readSignatures(note.slice(blank + 2));
  return "reason" in signatures ? signatures : { text: note.slice(0, blank + 1), signatures };
}
async function readVerifierKey(text) {
  const [, name = "", keyId = "", encoded = ""] = verifierKeyForm.exec(text) ?? [];
  const bytes = decodeBase64(encoded);
  if (!isKeyName(name) || !name.isWellFormed() || bytes === null)
    return null;
  if (bytes.length !== 1 + publicKeyBytes || bytes[0] !== signatureTypes.plain)
    return null;
  const publicKey = bytes.slice(1);
  return await keyIdOf(name, signatureTypes.plain, publicKey) === keyId ? { name, keyId, publicKey } : null;
}
var imported2 = new WeakMap;
function importKey(publicKey) {
  const known = imported2.get(publicKey);
  if (known !== undefined)
    return known;
  const key = crypto.subtle.importKey("raw", publicKey, "Ed25519", false, ["verify"]);
  imported2.set(publicKey, key);
  return key;
}
async function verifyEd25519(publicKey, message, signature) {
  if (signature.length !== 64)
    return false;
  return crypto.subtle.verify("Ed25519", await importKey(publicKey), signature, message);
}

// src/partner/log-checkpoint.ts
var timeBytes = 8;
var sizeForm = /^(?:0|[1-9][0-9]{0,15})$/;
function readCount(text) {
  const count = sizeForm.test(text) ? Number(text) : null;
  return Number.isSafeInteger(count) ? count : null;
}
function readTreeHead(text) {
  const lines = text.split(`
`);
  const [origin = "", sizeText = "", rootText = "", ...more] = lines;
  if (lines.pop() !== "" || lines.length < 3 || lines.includes("")) {
    return refuse("PROOF_MALFORMED", "The checkpoint's text is not an origin, a size and a root, a line each.");
  }
  const [size, root] = [readCount(sizeText), decodeHash(rootText)];
  if (size === null)
    return refuse("PROOF_MALFORMED", "The checkpoint's size is no decimal number.");
  if (root === null)
    return refuse("PROOF_MALFORMED", "The checkpoint's root is not a hash in base64.");
  const extensions = more.slice(0, -1);
  return { origin, size, root, ...extensions.length === 0 ? {} : { extensions } };
}
function readTime2(signature) {
  if (signature.length <= timeBytes)
    return null;
  const seconds = Number(new DataView(signature.buffer).getBigUint64(0));
  return Number.isSafeInteger(seconds) ? seconds : null;
}
async function timeSigned(note, key) {
  const timedId = await keyIdOf(key.name, signatureTypes.timestamped, key.publicKey);
  const of = (keyId) => note.signatures.find((line) => line.name === key.name && line.keyId === keyId)?.signature;
  const [plain, timed] = [of(key.keyId), of(timedId)];
  if (plain === undefined || timed === undefined)
    return null;
  const seconds = readTime2(timed);
  if (seconds === null)
    return null;
  const isSigned = await verifyEd25519(key.publicKey, new TextEncoder().encode(note.text), plain) && await verifyEd25519(key.publicKey, timestampedMessage(note.text, seconds), timed.slice(timeBytes));
  return isSigned ? seconds : null;
}
function readOrigin(origin) {
  const [, log = origin, epoch = "1"] = /^(.*\/log)\/([2-9]|[1-9][0-9]{1,8})$/.exec(origin) ?? [];
  return { log, epoch: Number(epoch) };
}
function refuseOrigin(origin, keys) {
  const { log } = readOrigin(origin);
  const isEpoch = keys.some(({ name }) => readOrigin(name).log === log);
  return refuse(isEpoch ? "LOG_EPOCH_UNKNOWN" : "PROOF_OF_ANOTHER_LOG");
}
async function openCheckpoint(note, keys) {
  const signed = readNote(note);
  if (signed instanceof Refusal)
    return signed;
  const head = readTreeHead(signed.text);
  if (head instanceof Refusal)
    return head;
  const ofOrigin = keys.filter((key) => key.name === head.origin);
  if (ofOrigin.length === 0)
    return refuseOrigin(head.origin, keys);
  for (const key of ofOrigin) {
    const seconds = await timeSigned(signed, key);
    if (seconds !== null)
      return { ...head, seconds };
  }
  return refuse("CHECKPOINT_SIGNATURE_INVALID");
}

// src/partner/merkle-proof.ts
async function sha256(...parts) {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}
var leafPrefix = Uint8Array.of(0);
var nodePrefix = Uint8Array.of(1);
var attestationPrefix = new TextEncoder().encode(`tvs/v1/attestation
`);
function nodeHash(left, right) {
  return sha256(nodePrefix, left, right);
}
async function attestationLeafHash(jws) {
  return sha256(leafPrefix, attestationPrefix, await sha256(new TextEncoder().encode(jws)));
}
function isSameHash(one, other) {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
function half(number) {
  return Math.floor(number / 2);
}
function isOdd(number) {
  return number % 2 === 1;
}
function skipUnpaired(climb) {
  while (!isOdd(climb.place) && climb.place !== 0) {
    climb.place = half(climb.place);
    climb.last = half(climb.last);
  }
}
function stepUp(climb) {
  const isLeft = isOdd(climb.place) || climb.place === climb.last;
  if (isLeft)
    skipUnpaired(climb);
  climb.place = half(climb.place);
  climb.last = half(climb.last);
  return isLeft;
}
async function rootOfInclusion({
  leafHash,
  index,
  size,
  hashes
}) {
  if (index < 0 || index >= size)
    return null;
  const climb = { place: index, last: size - 1 };
  let root = leafHash;
  for (const hash of hashes) {
    if (climb.last === 0)
      return null;
    root = await (stepUp(climb) ? nodeHash(hash, root) : nodeHash(root, hash));
  }
  return climb.last === 0 ? root : null;
}

// src/partner/log-state.ts
var format = "tvs/log-state/v1";
function unreadable(detail) {
  return refuse("LOG_STATE_UNREADABLE", detail);
}
function readCheckpoint(note) {
  const signed = typeof note === "string" ? readNote(note) : null;
  if (signed === null || signed instanceof Refusal)
    return null;
  const head = readTreeHead(signed.text);
  return head instanceof Refusal ? null : { ...head, note: String(note) };
}
function readLogState(source) {
  const reading = readStrictJson(source);
  const isState = !(reading instanceof Refusal) && isJsonObject(reading) && reading.format === format;
  const notes = isState ? reading.checkpoints : null;
  if (!Array.isArray(notes))
    return unreadable();
  const state = new Map;
  for (const note of notes) {
    const checkpoint = readCheckpoint(note);
    if (checkpoint === null)
      return unreadable("The state file holds something that is no checkpoint.");
    if (state.has(checkpoint.origin))
      return unreadable("The state file holds two checkpoints of one log.");
    state.set(checkpoint.origin, checkpoint);
  }
  return state;
}
function formatLogState(state) {
  const checkpoints = [...state.values()].map(({ note }) => note);
  return `${JSON.stringify({ format, checkpoints }, null, 2)}
`;
}
function findFork({ origin, size, root }, state) {
  const seen = state.get(origin);
  if (seen === undefined || seen.size !== size || isSameHash(seen.root, root))
    return null;
  return refuse("LOG_FORKED", `The log ${origin} has shown two different trees of ${size} entries.`);
}
function rememberCheckpoint(state, { origin, size, root }, note) {
  const seen = state.get(origin);
  if (seen !== undefined && seen.size >= size)
    return state;
  return new Map(state).set(origin, { origin, size, root, note });
}

// src/partner/log-proof.ts
var firstLine = `c2sp.org/tlog-proof@v1
`;
var resaved = /^\uFEFF?c2sp\.org\/tlog-proof@v1\r?\n/;
var whyResaved = "An editor has changed the proof's line ends, or put a mark before it: get the proof anew.";
var defaultToleranceSeconds = 60;
var maxHashes = 53;
function malformed3(detail) {
  return refuse("PROOF_MALFORMED", detail);
}
function withoutExtra(lines) {
  const [first = ""] = lines;
  if (!first.startsWith("extra "))
    return lines;
  const bytes = decodeBase64(first.slice("extra ".length));
  return bytes === null || bytes.length === 0 ? malformed3("The proof's extra data is not base64.") : lines.slice(1);
}
function readPath(lines) {
  const [indexLine = "", ...path] = lines;
  const index = indexLine.startsWith("index ") ? readCount(indexLine.slice("index ".length)) : null;
  if (index === null)
    return malformed3("The proof does not say which entry of the log it is of.");
  if (path.length > maxHashes)
    return malformed3("The proof has more hashes than any tree is high.");
  const hashes = [];
  for (const line of path) {
    const hash = decodeHash(line);
    if (hash === null)
      return malformed3("A line of the proof is not a hash in base64.");
    hashes.push(hash);
  }
  return { index, hashes };
}
function countEntries(size) {
  return size === 1 ? "1 entry" : `${size} entries`;
}
function readProof(source) {
  const text = typeof source === "string" ? source : decodeUtf8(source);
  if (text === null)
    return malformed3("The proof is not valid UTF-8.");
  if (!text.startsWith(firstLine))
    return refuse("PROOF_UNREADABLE", resaved.test(text) ? whyResaved : undefined);
  const blank = text.indexOf(`

`);
  if (blank === -1)
    return malformed3("The proof ends before its checkpoint.");
  const lines = withoutExtra(text.slice(firstLine.length, blank).split(`
`));
  if (lines instanceof Refusal)
    return lines;
  const path = readPath(lines);
  return path instanceof Refusal ? path : { ...path, note: text.slice(blank + 2) };
}
async function open(source, options) {
  const written = readProof(source);
  if (written instanceof Refusal)
    return { refusal: written };
  const checkpoint = await openCheckpoint(written.note, options.logKeys);
  if (checkpoint instanceof Refusal)
    return { refusal: checkpoint };
  const { now = new Date, clockToleranceSeconds = defaultToleranceSeconds, logState } = options;
  const isFuture = checkpoint.seconds > now.getTime() / 1000 + clockToleranceSeconds;
  const refusal = isFuture ? refuse("CHECKPOINT_IN_FUTURE") : findFork(checkpoint, logState ?? new Map);
  return refusal === null ? { ...written, checkpoint, refusal } : { refusal };
}
async function openLogProof(source, options) {
  const { now, clockToleranceSeconds = 0 } = options;
  if (now !== undefined && Number.isNaN(now.getTime()))
    throw new TypeError("now is not a valid date");
  if (!(clockToleranceSeconds >= 0))
    throw new TypeError("clockToleranceSeconds is not a duration");
  return open(source, options).catch(() => ({ refusal: refuse("VERIFIER_FAILED") }));
}
async function findInLog(proof, jws) {
  if (proof.refusal !== null)
    return proof.refusal;
  const { index, hashes, checkpoint } = proof;
  const { origin, size, seconds } = checkpoint;
  const text = `${new TextDecoder().decode(jws.signingInput)}.${encodeBase64url(jws.signature)}`;
  const root = await rootOfInclusion({ leafHash: await attestationLeafHash(text), index, size, hashes });
  if (root === null)
    return malformed3(`No entry ${index} of a log of ${size} has a proof of ${hashes.length} hashes.`);
  if (!isSameHash(root, checkpoint.root))
    return refuse("PROOF_OF_ANOTHER_ENVELOPE");
  const checkpointAt = formatSeconds(seconds);
  const detail = `Entry ${index} of the log ${origin}, which had ${countEntries(size)} on ${checkpointAt}.`;
  const evidence = { origin, index, size, checkpointAt, precedesCompromise: false };
  return { evidence, checkpoint, outcome: passed(detail) };
}
async function readLogKeys(source) {
  const text = typeof source === "string" ? source : decodeUtf8(source) ?? "";
  const keys = [];
  for (const [place, line] of text.split(/\r?\n/).entries()) {
    const key = line === "" ? null : await readVerifierKey(line);
    if (key !== null)
      keys.push(key);
    else if (line !== "")
      return refuse("LOG_KEY_UNREADABLE", `Line ${place + 1} is not the key of a log.`);
  }
  return keys.length === 0 ? refuse("LOG_KEY_UNREADABLE", "There is no key.") : keys;
}

// src/partner/verify-envelope.ts
var outcomes = {
  envelope: passed("A well-formed envelope, strict JSON, canonical base64url."),
  bare: passed("A well-formed compact JWS, canonical base64url."),
  header: passed("RS256, no extensions, no key of its own."),
  foreign: refuse("KID_UNKNOWN", "No such key is known, and another issuer is named than the one expected."),
  key: passed("The key that the header names is known."),
  signature: passed("The signature was made by this key over this content."),
  noProof: skipped("No proof of the evidence log was given."),
  claims: passed("All claims are there and well formed."),
  issuer: passed("Signed for the expected issuer."),
  audience: passed("Signed for the expected partner."),
  time: passed("Not signed in the future, and within the limits that it sets itself."),
  outer: passed("Every unsigned member is what is signed."),
  noOuter: skipped("A bare signature has no unsigned members to compare.")
};
var defaultToleranceSeconds2 = 60;
function readEnvelopeHeader(protectedHeader) {
  const header = readJwsHeader(protectedHeader);
  return header instanceof Refusal || header.typ !== keyHistoryType ? header : refuse("HEADER_TYP");
}
function failUnknownKey(draft, { payload }, { issuer }) {
  const claimed = readClaimedIssuer(readJwsObject(payload, "payload"));
  const isForeign = claimed !== null && claimed !== issuer;
  draft.claimedIssuer = isForeign ? claimed : null;
  return fail(draft, "key", isForeign ? outcomes.foreign : refuse("KID_UNKNOWN"));
}
function open2(form, options) {
  const draft = beginVerification();
  if (form instanceof Refusal)
    return fail(draft, "form", form);
  note(draft, form.outer === null ? outcomes.bare : outcomes.envelope);
  const header = readEnvelopeHeader(form.jws.protectedHeader);
  if (header instanceof Refusal)
    return fail(draft, "header", header);
  draft.kid = header.kid;
  note(draft, outcomes.header);
  if (options.keys.refusal !== null)
    return fail(draft, "keySet", options.keys.refusal);
  draft.trust = options.keys.trust;
  note(draft, options.keys.checked);
  const key = options.keys.keys.get(header.kid);
  if (key === undefined)
    return failUnknownKey(draft, form.jws, options);
  note(draft, outcomes.key);
  if (!hasSignatureLength(key, form.jws.signature))
    return fail(draft, "signature", refuse("SIGNATURE_INVALID"));
  return { ...form, draft, key };
}
function checkTime(claims, nowMs, options) {
  const nowSeconds = nowMs / 1000;
  const tolerance = options.clockToleranceSeconds ?? defaultToleranceSeconds2;
  if (claims.issuedAtSeconds > nowSeconds + tolerance)
    return refuse("ISSUED_IN_FUTURE");
  const { expiresSeconds, notBeforeSeconds } = claims;
  if (expiresSeconds !== null && expiresSeconds <= nowSeconds - tolerance)
    return refuse("TOKEN_EXPIRED");
  const isEarly = notBeforeSeconds !== null && notBeforeSeconds > nowSeconds + tolerance;
  return isEarly ? refuse("TOKEN_NOT_YET_VALID") : null;
}
function judgeClaims(opened, claims, options) {
  const { draft, outer } = opened;
  draft.claims = claims;
  note(draft, outcomes.claims);
  if (claims.issuer !== options.issuer)
    return fail(draft, "issuer", refuse("ISSUER_MISMATCH"));
  note(draft, outcomes.issuer);
  if (claims.audience !== options.audience)
    return fail(draft, "audience", refuse("AUDIENCE_MISMATCH"));
  note(draft, outcomes.audience);
  const nowMs = options.now?.getTime() ?? Date.now();
  const late = checkTime(claims, nowMs, options);
  if (late !== null)
    return fail(draft, "time", late);
  note(draft, outcomes.time);
  const difference = outer === null ? null : findOuterDifference(outer, claims, opened.key.jwk.kid);
  if (difference !== null)
    return fail(draft, "outer", difference);
  note(draft, outer === null ? outcomes.noOuter : outcomes.outer);
  draft.age = ageOf(claims, nowMs);
  return accept(draft);
}
function judgeKey(found, payload, options) {
  const { opened, logged } = found;
  const { draft, key } = opened;
  const issuedAt = readIssuedAt(payload);
  if (issuedAt instanceof Refusal)
    return fail(draft, "claims", issuedAt);
  const compromise = checkCompromise(key.window, issuedAt, logged?.checkpoint.seconds ?? null);
  if (compromise instanceof Refusal)
    return fail(draft, "compromise", compromise);
  const { outcome, warnings, precedesCompromise } = compromise;
  note(draft, outcome);
  draft.warnings = warnings;
  if (logged !== null)
    draft.log = { ...logged.evidence, precedesCompromise };
  const inWindow = checkWindow(key.window, issuedAt);
  if (inWindow instanceof Refusal)
    return fail(draft, "window", inWindow);
  note(draft, inWindow);
  const claims = readClaims(payload, issuedAt);
  return claims instanceof Refusal ? fail(draft, "claims", claims) : judgeClaims(opened, claims, options);
}
function judge({ opened, isGood, logged }, options) {
  const { draft } = opened;
  if (isGood === null)
    return fail(draft, "signature", refuse("VERIFIER_FAILED"));
  if (!isGood)
    return fail(draft, "signature", refuse("SIGNATURE_INVALID"));
  note(draft, outcomes.signature);
  if (logged instanceof Refusal)
    return fail(draft, "log", logged);
  draft.log = logged?.evidence ?? null;
  note(draft, logged?.outcome ?? outcomes.noProof);
  const payload = readJwsObject(opened.jws.payload, "payload");
  if (payload instanceof Refusal)
    return fail(draft, "claims", payload);
  return judgeKey({ opened, logged }, payload, options);
}
function assertOptions(options) {
  const { issuer, audience, now, clockToleranceSeconds = 0 } = options;
  if (typeof issuer !== "string" || issuer === "")
    throw new TypeError("verifyEnvelope needs the issuer");
  if (typeof audience !== "string" || audience === "")
    throw new TypeError("verifyEnvelope needs the audience");
  if (now !== undefined && Number.isNaN(now.getTime()))
    throw new TypeError("now is not a valid date");
  if (!(clockToleranceSeconds >= 0))
    throw new TypeError("clockToleranceSeconds is not a duration");
}
async function verifyEnvelope(input, options) {
  assertOptions(options);
  const opened = open2(readForm(input), options);
  if ("verdict" in opened)
    return opened;
  return judge({ opened, ...await answer(opened, options) }, options);
}
async function answer({ jws, key }, options) {
  const { verifySignature = verifyWithWebCrypto, proof } = options;
  try {
    const isGood = await verifySignature(key.jwk.kid, key.jwk, jws.signingInput, jws.signature);
    return { isGood: isGood === true, logged: proof === undefined ? null : await findInLog(proof, jws) };
  } catch {
    return { isGood: null, logged: null };
  }
}
function verifyEnvelopeSync(input, options) {
  assertOptions(options);
  if ("proof" in options)
    throw new TypeError("verifyEnvelopeSync takes no proof: use verifyEnvelope");
  const opened = open2(readForm(input), options);
  if ("verdict" in opened)
    return opened;
  return judge({ opened, isGood: verifyNow(opened, options), logged: null }, options);
}
function verifyNow(opened, options) {
  const { jws, key } = opened;
  try {
    return options.verifySignature(key.jwk.kid, key.jwk, jws.signingInput, jws.signature) === true;
  } catch {
    return null;
  }
}

// src/partner/client-keys.ts
var keepMs = 300000;
var leastAgeMs = 5000;
var wellKnown = "/v1/inter-agency/.well-known";
async function fetchKeys(connection, { issuer, anchor }, signal) {
  const fetchText = async (name) => {
    const call = { method: "GET", path: `${wellKnown}/${name}`, isPublic: true, signal };
    return (await send(connection, call)).text;
  };
  const keyHistory = await fetchText("key-history");
  const jwks = await fetchText("jwks.json");
  return createKeySet({ jwks, keyHistory, issuer, ...anchor === undefined ? {} : { anchor } });
}
function keepKeys(fetch2) {
  let kept = null;
  return async (isFor, signal) => {
    const ageMs = kept === null ? Number.POSITIVE_INFINITY : Math.abs(Date.now() - kept.atMs);
    if (kept !== null && ageMs < keepMs && (ageMs < leastAgeMs || isFor(kept.keys)))
      return kept.keys;
    kept = { keys: await fetch2(signal), atMs: Date.now() };
    return kept.keys;
  };
}
var usableKeys = ({ refusal }) => refusal === null;
function unverified(value) {
  const envelope = value;
  return { result: envelope.result, envelope, verification: null };
}
function answerOf(value, verification) {
  const { valid, result } = verification;
  return valid && result !== null ? [{ result, envelope: value, verification }] : [];
}
function createJudge(connection, options) {
  if (options === undefined)
    return async (envelopes) => envelopes.map(unverified);
  const { issuer, audience, keys: given } = options;
  const keysFor = keepKeys((signal) => fetchKeys(connection, options, signal));
  const verify = (envelopes, keys) => Promise.all(envelopes.map((one) => verifyEnvelope(one, { keys, issuer, audience })));
  return async (envelopes, signal) => {
    let verifications = await verify(envelopes, given ?? await keysFor(usableKeys, signal));
    const unknown = verifications.find(({ reason }) => reason === "KID_UNKNOWN")?.kid;
    if (given === undefined && unknown != null)
      verifications = await verify(envelopes, await keysFor(({ keys }) => keys.has(unknown), signal));
    const answers = verifications.flatMap((one, index) => answerOf(envelopes[index] ?? null, one));
    if (answers.length === envelopes.length)
      return answers;
    const reasons = [...new Set(verifications.flatMap(({ reason }) => reason ?? []))].join(", ");
    const message = `the answer did not verify (${reasons}): do not rely on it, and keep it for the operator`;
    throw new ClientError("ENVELOPE_REFUSED", message, { status: 200, verifications });
  };
}

// src/partner/reg-no.ts
function foldRegNo(text) {
  return text.normalize("NFKC").replace(/\s+/g, "").toUpperCase().normalize("NFKC");
}

// src/partner/client-match.ts
var clockSlackMs = 60000;
var keepReplayMs = 72 * 3600000;
function isAbout({ result }, asked) {
  if (!result.found)
    return true;
  if (asked.tId !== undefined)
    return result.teacher?.tId === Number(asked.tId);
  return asked.regNo === undefined || result.certificate?.regNo === foldRegNo(asked.regNo);
}
function isOfThisCall({ envelope }, { info, isKeyGiven, begunAtMs, endedAtMs }) {
  const at = Date.parse(envelope.verifiedAt);
  const earliest = info.isReplay && isKeyGiven ? endedAtMs - keepReplayMs : begunAtMs;
  return at >= earliest - clockSlackMs && at <= endedAtMs + clockSlackMs;
}
function findMismatch(answers, asked, received) {
  const ids = answers.map(({ envelope }) => envelope.verificationId);
  if (new Set(ids).size < ids.length)
    return "it has one envelope twice";
  const other = answers.findIndex((answer, place) => !isAbout(answer, asked[place]));
  if (other >= 0)
    return `it is about another teacher${answers.length > 1 ? ` (item ${other})` : ""}`;
  if (answers.every((answer) => isOfThisCall(answer, received)))
    return null;
  return "it was signed at another time than that of the call: is this machine's clock right?";
}

// src/partner/client.ts
var api = "/v1/inter-agency";
var defaults = { timeoutMs: 15000, maxRetries: 3, maxWaitSeconds: 60 };
function waitFor(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted)
      abort();
  });
}
var thisMachine = new Set(["localhost", "127.0.0.1", "[::1]"]);
function readBaseUrl(text) {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isSafe = url?.protocol === "https:" || url?.protocol === "http:" && thisMachine.has(url.hostname);
  if (url === null || !isSafe || url.username || url.password || url.search || url.hash)
    throw new TypeError("baseUrl must be an https address, or http on this machine, and nothing more");
  return url.href.replace(/\/+$/, "");
}
function connectionOf(options) {
  const { baseUrl, apiKey, fetch: ownFetch, wait = waitFor } = options;
  const { timeoutMs, maxRetries, maxWaitSeconds } = { ...defaults, ...options };
  if (apiKey !== undefined && !/^[!-~]+$/.test(apiKey))
    throw new TypeError("apiKey is empty, or has white space in it: give the key alone");
  if (!(timeoutMs > 0))
    throw new TypeError("timeoutMs must be above 0");
  if (!(maxRetries >= 0 && maxRetries <= 3))
    throw new TypeError("maxRetries must be from 0 to 3");
  if (!(maxWaitSeconds >= 0))
    throw new TypeError("maxWaitSeconds must not be below 0");
  const ask = ownFetch ?? ((url, init) => fetch(url, init));
  return { baseUrl: readBaseUrl(baseUrl), apiKey, timeoutMs, maxRetries, maxWaitSeconds, fetch: ask, wait };
}
function newIdempotencyKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
function unusable(code, message, { info }) {
  const error = new ClientError(code, message, { status: 200, requestId: info.requestId });
  return Object.assign(error, { attempts: info.attempts, idempotencyKey: info.idempotencyKey });
}
function unexpected(message, received) {
  return unusable("ANSWER_UNEXPECTED", message, received);
}
function readObject(received) {
  const value = readStrictJson(received.text);
  if (!(value instanceof Refusal) && isJsonObject(value))
    return value;
  throw unexpected("the answer is no JSON object: is baseUrl the address of the service?", received);
}
function isEnvelope(value) {
  return isJsonObject(value) && typeof value.signature === "string" && isJsonObject(value.result);
}
function partnerCalls(connection, verify) {
  const judge = createJudge(connection, verify);
  const judged = async (envelopes, received, { call, asked }) => {
    const { requestId, attempts, idempotencyKey } = received.info;
    const answers = await judge(envelopes, call.signal).catch((error) => {
      throw error instanceof ClientError && error.code === "ENVELOPE_REFUSED" ? Object.assign(error, { requestId, attempts, idempotencyKey }) : error;
    });
    const mismatch = findMismatch(answers, asked, received);
    if (mismatch === null)
      return answers;
    const message = `the answer is not one to what was asked, do not rely on it: ${mismatch}`;
    throw unusable("ANSWER_MISMATCH", message, received);
  };
  async function one(call, asked) {
    const received = await send(connection, call);
    const envelope = readObject(received);
    if (!isEnvelope(envelope))
      throw unexpected("the answer is no envelope", received);
    const [answer] = await judged([envelope], received, { call, asked: [asked] });
    if (answer === undefined)
      throw unexpected("the answer has no envelope", received);
    if (received.verificationId !== answer.envelope.verificationId)
      throw unusable("ANSWER_MISMATCH", "the answer's X-Verification-Id is not that of its envelope", received);
    return { ...answer, text: received.text, call: received.info };
  }
  async function many(call, asked) {
    const received = await send(connection, call);
    const { results } = readObject(received);
    if (!Array.isArray(results) || results.length !== asked.length || !results.every(isEnvelope))
      throw unexpected(`the answer has not one envelope for each of ${asked.length} items`, received);
    const answers = await judged(results, received, { call, asked });
    return { answers, text: received.text, call: received.info };
  }
  return { one, many };
}
function createClient(options) {
  const connection = connectionOf(options);
  const { one, many } = partnerCalls(connection, options.verify);
  const ask = async (path, { signal }, maxRetries = connection.maxRetries) => {
    const call = { method: "GET", path, isPublic: true, signal };
    return readObject(await send({ ...connection, maxRetries }, call));
  };
  const get = (path, asked, { signal }) => one({ method: "GET", path: `${api}${path}`, signal }, asked);
  const post = (path, body, { signal, idempotencyKey }) => ({
    method: "POST",
    path: `${api}${path}`,
    body,
    idempotencyKey: idempotencyKey ?? newIdempotencyKey(),
    isKeyGiven: idempotencyKey !== undefined,
    signal
  });
  return {
    checkEligibility: (body, call = {}) => one(post("/eligibility-check", body, call), body.identifier),
    checkBatch: (items, call = {}) => many(post("/batch", { items }, call), items.map(({ identifier }) => identifier)),
    lookUpByRegNo: (regNo, call = {}) => get(`/lookup/by-reg-no/${encodeURIComponent(regNo)}`, { regNo }, call),
    lookUpByTId: (tId, call = {}) => get(`/lookup/by-tid/${encodeURIComponent(tId)}`, { tId }, call),
    lookUpByNin: (nin, { signal } = {}) => one({ method: "POST", path: `${api}/lookup/by-nin`, body: { nin }, signal }, { nin }),
    verifyLicense: async (term, call = {}) => await ask(`/teacher/verify-license?searchTerm=${encodeURIComponent(term)}`, call),
    getHealth: async (call = {}) => await ask(`${api}/health`, call, 0)
  };
}
// src/partner/input.ts
var nowhere = { line: null, index: null };
function isBlank(text) {
  return !/\S/.test(text);
}
function isBatch(value) {
  return isJsonObject(value) && Object.hasOwn(value, "results") && !Object.hasOwn(value, "signature");
}
function isJsonText2(text) {
  return /^[\t\n\r ]*[[{"]/.test(text);
}
function* expandList(values, line) {
  for (const [index, value] of values.entries())
    yield { place: { line, index }, value };
}
function* expandBatch(batch, place) {
  if (!Array.isArray(batch.results))
    return yield { place, refusal: refuse("BATCH_MALFORMED") };
  if (batch.count !== batch.results.length)
    yield { place, refusal: refuse("BATCH_COUNT_MISMATCH") };
  yield* expandList(batch.results, place.line);
}
function* expand(value, place) {
  if (Array.isArray(value))
    yield* expandList(value, place.line);
  else if (isBatch(value))
    yield* expandBatch(value, place);
  else
    yield { place, value };
}
function* readSlices(slices, line) {
  for (const [index, slice] of slices.entries()) {
    const reading = readStrictJson(slice);
    const place = { line, index };
    yield reading instanceof Refusal ? { place, refusal: reading } : { place, value: reading };
  }
}
function findSlices(text) {
  if (text.startsWith("["))
    return sliceJson(text);
  if (!text.startsWith("{"))
    return null;
  const members = sliceMembers(text);
  const results = members.find(({ name }) => name === "results");
  if (results === undefined || !results.value.startsWith("["))
    return null;
  const names = new Set(members.map(({ name }) => name));
  if (names.size < members.length || names.has("signature"))
    return null;
  const slices = sliceJson(results.value);
  const others = members.filter((member) => member !== results);
  const isSound = others.every(({ value }) => !(readStrictJson(value) instanceof Refusal));
  const count = others.find(({ name }) => name === "count")?.value;
  return isSound && Number(count) === slices.length ? slices : null;
}
function* readJson(text, place) {
  const reading = readStrictJson(text);
  if (!(reading instanceof Refusal))
    return yield* expand(reading, place);
  const slices = isParsed(text, reading) ? findSlices(text.trim()) : null;
  if (slices !== null)
    yield* readSlices(slices, place.line);
  else
    yield { place, refusal: reading };
}
function* readRecord(text, line) {
  if (isBlank(text))
    return;
  const place = line === null ? nowhere : { line, index: null };
  if (isJsonText2(text))
    yield* readJson(text, place);
  else
    yield { place, value: text.replace(/[\r\n]+$/, "") };
}
function* splitLines(text) {
  for (let start = 0;start < text.length; ) {
    const end = text.indexOf(`
`, start);
    yield text.slice(start, end === -1 ? text.length : end);
    start = end === -1 ? text.length : end + 1;
  }
}
function* readLines(text) {
  let line = 0;
  for (const record of splitLines(text))
    yield* readRecord(record, ++line);
}
function notUtf8(bytes) {
  return findNoEnvelopeInBytes(bytes) ?? refuse("INPUT_NOT_UTF8");
}
function* readLineBlock(bytes, counter) {
  for (let start = 0;start < bytes.length; ) {
    const end = bytes.indexOf(10, start);
    const record = decodeUtf8(bytes.subarray(start, end === -1 ? bytes.length : end));
    counter.line++;
    if (record === null)
      yield {
        place: { line: counter.line, index: null },
        refusal: notUtf8(bytes.subarray(start, end === -1 ? bytes.length : end))
      };
    else
      yield* readRecord(record, counter.line);
    start = end === -1 ? bytes.length : end + 1;
  }
}
function isRecord(line) {
  if (/^[A-Za-z0-9_-]+\.[^\s"]*$/.test(line.trimEnd()))
    return true;
  return /^\s*[[{]/.test(line) && !(readStrictJson(line) instanceof Refusal);
}
function firstLines(text) {
  const found = [];
  for (const line of splitLines(text)) {
    if (!isBlank(line))
      found.push(line);
    if (found.length === 2)
      break;
  }
  return found;
}
function hasRecordLine(text) {
  for (const line of splitLines(text))
    if (isRecord(line))
      return true;
  return false;
}
function isLines(text) {
  const [first = "", second] = firstLines(text);
  if (second === undefined)
    return false;
  if (!/^\s*[[{"]/.test(first) || isRecord(first))
    return true;
  const reading = readStrictJson(text);
  return reading instanceof Refusal && !isParsed(text, reading) && hasRecordLine(text);
}
function* readEnvelopes(input) {
  const decoded = typeof input === "string" ? input : decodeUtf8(input);
  if (decoded === null) {
    const refusal = findNoEnvelopeInBytes(input);
    if (refusal !== null)
      return yield { place: nowhere, refusal };
    return yield* readLineBlock(input, { line: 0 });
  }
  const text = decoded.startsWith("\uFEFF") ? decoded.slice(1) : decoded;
  const refusal = isJsonText2(text) || isBlank(text) ? null : findNoEnvelope(text);
  if (refusal !== null)
    return yield { place: nowhere, refusal };
  if (isLines(text))
    yield* readLines(text);
  else
    yield* readRecord(text, null);
}
// src/partner/verify-webhook.ts
var webhookRefusalReasons = {
  SIGNATURE_HEADER_MALFORMED: "The X-AGENCY-Signature header is not t=<unix_seconds>,v1=<hex>.",
  SIGNATURE_MISMATCH: "The signature was not made with this secret over this body.",
  OUTSIDE_REPLAY_WINDOW: "The delivery was signed too long ago, or in the future: it may be a replay."
};
var headerPattern = /^t=(0|[1-9]\d{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?$/;
var contractToleranceSeconds = 300;
var utf82 = new TextEncoder;
function hexToBytes(hex) {
  return Uint8Array.from({ length: hex.length / 2 }, (_, index) => Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16));
}
async function hmac(secret, message) {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", utf82.encode(secret), algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, message));
}
function signedMessage(timestamp, rawBody) {
  const head = utf82.encode(`${timestamp}.`);
  const body = typeof rawBody === "string" ? utf82.encode(rawBody) : rawBody;
  const message = new Uint8Array(head.length + body.length);
  message.set(head);
  message.set(body, head.length);
  return message;
}
function isEqualInConstantTime(left, right) {
  let difference = left.length ^ right.length;
  for (let index = 0;index < left.length; index++)
    difference |= (left[index] ?? 0) ^ (right[index] ?? 0);
  return difference === 0;
}
function readEvent(rawBody) {
  const reading = readStrictJson(rawBody);
  const event = !(reading instanceof Refusal) && isJsonObject(reading) ? reading : {};
  const texts = [event.eventId, event.eventType, event.occurredAt];
  const isEvent = texts.every((text) => typeof text === "string") && isJsonObject(event.data);
  return isEvent ? event : null;
}
function refused2(reason, timestamp) {
  return { valid: false, reason, timestamp, event: null };
}
async function verifyWebhook(input) {
  const { rawBody, signature, secret, now = new Date, toleranceSeconds = contractToleranceSeconds } = input;
  if (secret === "")
    throw new TypeError("verifyWebhook needs the webhook secret");
  if (Number.isNaN(now.getTime()))
    throw new TypeError("now is not a valid date");
  const match = headerPattern.exec(signature);
  if (match === null)
    return refused2("SIGNATURE_HEADER_MALFORMED", null);
  const [, time = "", first = "", second = first] = match;
  const expected = await hmac(secret, signedMessage(time, rawBody));
  const isFirst = isEqualInConstantTime(expected, hexToBytes(first));
  const isSecond = isEqualInConstantTime(expected, hexToBytes(second));
  if (!isFirst && !isSecond)
    return refused2("SIGNATURE_MISMATCH", null);
  const timestamp = Number(time);
  const isStale = Math.abs(now.getTime() / 1000 - timestamp) > toleranceSeconds;
  if (isStale)
    return refused2("OUTSIDE_REPLAY_WINDOW", timestamp);
  return { valid: true, reason: null, timestamp, event: readEvent(rawBody) };
}
export {
  ClientError,
  Refusal,
  clientErrorCodes,
  createClient,
  createKeySet,
  describeAge,
  describeAnswer,
  formatLogState,
  openLogProof,
  readEnvelopes,
  readLogKeys,
  readLogState,
  readStrictJson,
  refusalReasons,
  rememberCheckpoint,
  verifyEnvelope,
  verifyEnvelopeSync,
  verifyWebhook,
  warnings,
  webhookRefusalReasons
};
