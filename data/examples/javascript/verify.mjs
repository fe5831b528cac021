// Verifies one envelope offline. Node 20 or later, and jose: npm install jose (tested with Node 20.20, jose 6.2).
//   node verify.mjs envelope.json jwks.json key-history.jose ISSUER YOUR_PARTNER_ID [offline-pack.json]
// Prints "valid" and exits 0, or prints the reason: 1 is refused, 2 cannot be decided with these files.
// Of a batch response, each member of "results" is an envelope. Fetch the key files from the service yourself.
// A sixth word, the service's offline pack or a status list, tells whether the answer was withdrawn since.
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { inflateSync } from "node:zlib";
import { compactVerify, importJWK } from "jose";

const undecidable = [
  "NOT_AN_ENVELOPE",
  "TEXT_DAMAGED",
  "KID_UNKNOWN",
  "KEY_SET_UNREADABLE",
  "KEY_HISTORY_UNREADABLE",
  "STATUS_LIST_UNUSABLE",
  "STATUS_LIST_STALE",
];
const maxListAge = 7 * 86400;
const statuses = ["VALID", "EXPIRED", "NOT_FOUND", "REVOKED"];
const utcTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

function require(condition, reason) {
  if (!condition) throw new Error(reason);
}

const isText = (value) => typeof value === "string" && value !== "";
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function countMembers(value) {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum, inner) => sum + countMembers(inner), own);
}

/** JSON.parse keeps the last of two members with one name: then more names are written than were read. */
function readObject(bytes, reason) {
  let text, value;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new Error(reason);
  }
  const names = [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter(([, colon]) => colon);
  require(names.length === countMembers(value), "JSON_DUPLICATE_MEMBER");
  require(isObject(value), reason);
  return value;
}

/** One text for each signature: decoders also accept padding, white space and spare bits. */
function decode(part) {
  const bytes = Buffer.from(isText(part) ? part : "", "base64url");
  require(bytes.toString("base64url") === part, "BASE64URL_NOT_CANONICAL");
  return bytes;
}

/** The header, which must not steer the library: RS256 alone, no extensions, no key of its own. */
function openJws(jws) {
  const parts = jws.split(".");
  require(parts.length === 3, "JWS_MALFORMED");
  const [head, payload] = parts.map(decode);
  const header = readObject(head, "JWS_MALFORMED");
  require(header.alg === "RS256", "HEADER_ALG");
  require(!("crit" in header) && !("b64" in header), "HEADER_CRIT");
  require(!["jwk", "jku", "x5u", "x5c"].some((name) => name in header), "HEADER_KEY");
  require(!("typ" in header) || isText(header.typ), "HEADER_TYP");
  require(isText(header.kid), "HEADER_KID");
  return { jws, header, payload };
}

async function verifySignature({ jws }, jwk, reason) {
  const key = await importJWK({ kty: "RSA", n: jwk.n, e: jwk.e }, "RS256");
  await compactVerify(jws, key, { algorithms: ["RS256"] }).catch(() => require(false, reason));
}

/** One secret or weak key in a set, and nothing in the set can be trusted. */
function vetKey(jwk) {
  require(isObject(jwk) && isText(jwk.kty), "KEY_SET_KEY_MALFORMED");
  const secrets = ["k", "d", "p", "q", "dp", "dq", "qi", "oth"];
  require(!secrets.some((name) => name in jwk), "KEY_SET_PRIVATE_KEY");
  if (jwk.kty !== "RSA") return false;
  require(isText(jwk.kid), "KEY_SET_KID_MISSING");
  require((jwk.use ?? "sig") === "sig" && (jwk.alg ?? "RS256") === "RS256", "KEY_SET_KEY_MALFORMED");
  const [n, e] = [decode(jwk.n), decode(jwk.e)];
  const bits = n.length * 8 - Math.clz32(n[0]) + 24;
  require(n[0] !== 0 && n.at(-1) % 2 === 1, "KEY_SET_KEY_MALFORMED");
  require(bits >= 2048 && bits <= 8192, "KEY_SET_MODULUS_SIZE");
  require(e.length <= 4 && e[0] !== 0 && e.at(-1) % 2 === 1 && jwk.e !== "AQ", "KEY_SET_EXPONENT");
  return true;
}

function readKeySet(bytes) {
  const { keys } = readObject(bytes, "KEY_SET_UNREADABLE");
  require(Array.isArray(keys), "KEY_SET_UNREADABLE");
  const usable = keys.filter(vetKey);
  require(new Set(keys.map(({ kid }) => kid)).size === keys.length, "KEY_SET_DUPLICATE_KID");
  return new Map(usable.map((jwk) => [jwk.kid, { jwk }]));
}

/** Adds to each key when it was in use, as the history says that a key of the set has signed. */
async function addHistory(keys, bytes, issuer) {
  const text = bytes.toString("latin1").trim();
  require(/^[\w-]+\.[\w-]+\.[\w-]*$/.test(text), "KEY_HISTORY_UNREADABLE");
  const history = openJws(text);
  const { kid, typ } = history.header;
  require(typ === "key-history+jwt", "KEY_HISTORY_MALFORMED");
  require(keys.has(kid), "KEY_HISTORY_NOT_ANCHORED");
  await verifySignature(history, keys.get(kid).jwk, "KEY_HISTORY_SIGNATURE_INVALID");
  const { iss, iat, keys: entries } = readObject(history.payload, "KEY_HISTORY_MALFORMED");
  require(Number.isSafeInteger(iat) && Array.isArray(entries), "KEY_HISTORY_MALFORMED");
  require(iss === issuer, "KEY_HISTORY_ISSUER_MISMATCH");
  const historic = new Map(entries.map((entry) => [entry?.kid, entry]));
  require(historic.size === entries.length, "KEY_SET_DUPLICATE_KID");
  for (const entry of entries) {
    require(isObject(entry) && vetKey(entry.jwk), "KEY_HISTORY_MALFORMED");
    const { state, jwk, activatedAt, retiredAt, compromisedSince } = entry;
    const own = { pending: null, active: activatedAt, retired: retiredAt, compromised: compromisedSince };
    const times = [activatedAt, retiredAt, compromisedSince].every((t) => t === null || utcTime.test(t));
    const isSound = times && state in own && (state === "pending" || own[state] !== null);
    require(isSound && jwk.kid === entry.kid, "KEY_HISTORY_MALFORMED");
    const other = keys.get(entry.kid)?.jwk ?? jwk;
    require(other.n === jwk.n && other.e === jwk.e, "KEY_SET_CONFLICT");
    // A key that the set no longer has was taken out for a reason; it comes back only to be refused.
    if (keys.has(entry.kid) || compromisedSince !== null) keys.set(entry.kid, entry);
  }
  require(historic.has(kid), "KEY_HISTORY_KID_UNKNOWN");
  require(!isCompromised(historic.get(kid), timeOf(iat)), "KEY_HISTORY_KEY_COMPROMISED");
}

/** UTC to the second, for example 2026-03-01T09:30:00: such texts sort as the times do. */
const timeOf = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19);
const isCompromised = (key, time) => key.compromisedSince && time >= key.compromisedSince.slice(0, 19);

/** Who has a compromised key can sign anything, and no key signs before or after its time. */
function checkKeyAt({ state, ...key }, time) {
  if (state === undefined) return; // newer than the history
  require(!isCompromised(key, time), "KEY_COMPROMISED");
  require(key.activatedAt && time >= key.activatedAt.slice(0, 19), "KEY_OUTSIDE_WINDOW");
  require(!key.retiredAt || time <= key.retiredAt.slice(0, 19), "KEY_OUTSIDE_WINDOW");
}

function checkClaims(claims, issuer, audience) {
  const { iss, aud, sub, exp = Number.MAX_VALUE, nbf = 0, iat } = claims;
  require(!Array.isArray(aud), "AUDIENCE_NOT_SINGLE");
  require([iss, aud, sub].every(isText), "CLAIM_TYPE");
  require(typeof exp === "number" && typeof nbf === "number", "CLAIM_TYPE");
  require(iss === issuer, "ISSUER_MISMATCH");
  require(aud === audience, "AUDIENCE_MISMATCH");
  const now = Date.now() / 1000;
  require(iat <= now + 60, "ISSUED_IN_FUTURE");
  require(exp > now - 60, "TOKEN_EXPIRED");
  require(nbf <= now + 60, "TOKEN_NOT_YET_VALID");
}

/** The answer's place in a status list; null for an answer that names none. */
function placeOf({ status }) {
  if (status === undefined) return null;
  const { idx, uri } = status?.status_list ?? {};
  require(Number.isSafeInteger(idx) && idx >= 0 && isText(uri), "CLAIM_TYPE");
  return { idx, uri };
}

/** A list with a good signature of a key that was never compromised, unpacked to its bits and no further. */
async function openList(jws, keys) {
  const token = openJws(jws.trim());
  const key = keys.get(token.header.kid);
  require(token.header.typ === "statuslist+jwt" && key && !key.compromisedSince, "STATUS_LIST_UNUSABLE");
  await verifySignature(token, key.jwk, "STATUS_LIST_UNUSABLE");
  const { sub, iat, exp = Number.MAX_VALUE, status_list: list } = readObject(token.payload, "JWS_MALFORMED");
  checkKeyAt(key, timeOf(iat));
  const isWhole = [1, 2, 4, 8].includes(list.bits) && Number.isSafeInteger(iat) && typeof exp === "number";
  require(isWhole, "STATUS_LIST_UNUSABLE");
  const bytes = inflateSync(decode(list.lst), { maxOutputLength: (2 ** 20 * list.bits) / 8 });
  return { sub, iat, exp, bits: list.bits, bytes };
}

/** The value at a place; -1 where the list has no such place. */
function valueAt({ bits, bytes }, idx) {
  const byte = bytes[Math.floor((idx * bits) / 8)];
  return byte === undefined ? -1 : (byte >> ((idx * bits) % 8)) & (2 ** bits - 1);
}

/** What a list cannot tell is not known: that it was not withdrawn, only a list says that counts. */
async function checkStatus(claims, lists, { keys, issuer }) {
  const { idx, uri } = placeOf(claims);
  const opened = await Promise.all(lists.map((jws) => openList(jws, keys).catch(() => null)));
  // Of two lists of one second the one that tells of more counts, whichever was given first.
  const isLater = (one, other) => other.iat - one.iat || valueAt(other, idx) - valueAt(one, idx);
  const [list] = opened.filter((one) => one?.sub === uri).sort(isLater);
  const now = Date.now() / 1000;
  const isOurs = list !== undefined && uri.startsWith(`${issuer}/v1/inter-agency/status/`);
  require(isOurs && list.iat <= now + 60, "STATUS_LIST_UNUSABLE");
  require(now - list.iat <= maxListAge && now < list.exp, "STATUS_LIST_STALE");
  const value = valueAt(list, idx);
  require(value >= 0, "STATUS_LIST_UNUSABLE");
  // Only a yes can be withdrawn: eligible, or a licence that was VALID.
  const { eligible, license } = claims.result;
  if (value === 0 || (!eligible && license?.status !== "VALID")) return;
  // What was withdrawn before the answer had been lifted when it was signed.
  require(list.iat >= claims.iat - 60, "STATUS_LIST_STALE");
  require(false, "WITHDRAWN_SINCE");
}

/** The lists of an offline pack, or the one that the file is. */
function readLists(bytes) {
  const text = bytes.toString("latin1");
  if (!/^\s*\{/.test(text)) return [text];
  const { statusLists } = readObject(bytes, "STATUS_LIST_UNUSABLE");
  require(Array.isArray(statusLists) && statusLists.every(isText), "STATUS_LIST_UNUSABLE");
  return statusLists;
}

/** The answer must not contradict itself, or who reads one member of it is misled. */
function checkResult({ found, status, eligible, reasons, teacher, license, certificate }) {
  const isFlags = typeof found === "boolean" && typeof eligible === "boolean";
  const isReasons = Array.isArray(reasons) && reasons.every((reason) => typeof reason === "string");
  require(isFlags && isReasons && statuses.includes(status), "RESULT_MALFORMED");
  require(!eligible || (found && status === "VALID"), "RESULT_MALFORMED");
  const isNobody = status === "NOT_FOUND" && !teacher && !license && !certificate;
  require(found || isNobody, "RESULT_MALFORMED");
}

/** Date.parse also reads 30 February, as 2 March; 24:00; and other ways to write a time. */
function secondsOf(text) {
  const clock = "(?:[01]\\d|2[0-3]):[0-5]\\d";
  const form = new RegExp(`^(\\d{4}-\\d\\d-\\d\\dT${clock}:[0-5]\\d)(\\.\\d{1,9})?(Z|[+-]${clock})$`);
  const [, time, , zone] = form.exec(text) ?? [];
  const isReal = time !== undefined && timeOf(Date.parse(`${time}Z`) / 1000 || 0) === time;
  return isReal ? Date.parse(time + zone) / 1000 : null;
}

/** Everything outside the signature is a copy that anybody can change. */
function checkCopy(envelope, claims, kid) {
  require(isDeepStrictEqual(envelope.result, claims.result), "OUTER_RESULT_DIFFERS");
  require(envelope.issuer === claims.iss, "OUTER_ISSUER_DIFFERS");
  require(envelope.audience === claims.aud, "OUTER_AUDIENCE_DIFFERS");
  require(envelope.signatureKid === kid, "OUTER_KID_DIFFERS");
  require(envelope.verificationId === claims.sub, "OUTER_VERIFICATION_ID_DIFFERS");
  require(secondsOf(envelope.verifiedAt) === claims.iat, "OUTER_VERIFIED_AT_DIFFERS");
}

/** Whether mail has folded, quoted or framed a signature: that forges nothing, and proves nothing. */
function isFolded(text) {
  return (
    /[\s\x80-\uffff<>"'(),:;[\]{}]/.test(text) && /\.eyJ[\w-]*\.[\w-]{100}/.test(text.replace(/[^\w.-]/g, ""))
  );
}

/** The same of JSON: cut off, folded, quoted-printable, in HTML, or with curly quotation marks and hard spaces. */
function isDamaged(bytes) {
  const text = bytes.toString("latin1");
  const marks = /[^}\]\s]\s*$|eyJ[\w.-]*\s|=3D|=\r?\n|&quot;|\xe2\x80|\xc2\xa0/;
  return isFolded(text) && (marks.test(text) || !isUtf8(bytes));
}

function readEnvelope(bytes) {
  // A web page or an error answer is not a forgery: a text without any part of an envelope is undecided.
  const text = bytes.toString("latin1");
  const marks = /eyJ[\w-]{8}|"(signature|signatureKid|result|verificationId)"\s*:|\\u00[4-7]/i;
  require(marks.test(text.replaceAll("\0", "")), "NOT_AN_ENVELOPE");
  if (!/^\s*[[{"]/.test(text)) {
    const jws = text.replace(/[\r\n]+$/, "");
    require(!isFolded(jws), "TEXT_DAMAGED");
    return { envelope: null, jws };
  }
  const envelope = readObject(bytes, isDamaged(bytes) ? "TEXT_DAMAGED" : "JSON_MALFORMED");
  const texts = ["verificationId", "verifiedAt", "issuer", "audience", "signature", "signatureKid"];
  const isWhole = texts.every((name) => typeof envelope[name] === "string") && isObject(envelope.result);
  require(isWhole, "ENVELOPE_MALFORMED");
  require(!isFolded(envelope.signature), "TEXT_DAMAGED");
  return { envelope, jws: envelope.signature };
}

/** The signed claims, to decide by; throws an Error whose message is the reason. */
async function verifyEnvelope({ bytes, jwks, keyHistory, list, issuer, audience }) {
  const { envelope, jws } = readEnvelope(bytes);
  const token = openJws(jws);
  const { kid, typ } = token.header;
  // Statements, key histories and status lists are signed with the same keys, and have types of their own.
  require(typ === undefined || typ === "JWT", "HEADER_TYP");
  const keys = readKeySet(jwks);
  await addHistory(keys, keyHistory, issuer);
  require(keys.has(kid), "KID_UNKNOWN");
  await verifySignature(token, keys.get(kid).jwk, "SIGNATURE_INVALID");
  const claims = readObject(token.payload, "JWS_MALFORMED");
  require(Number.isSafeInteger(claims.iat) && claims.iat >= 0 && claims.iat < 253402300800, "CLAIM_TYPE");
  checkKeyAt(keys.get(kid), timeOf(claims.iat));
  require(isObject(claims.result), "CLAIM_MISSING");
  checkClaims(claims, issuer, audience);
  checkResult(claims.result);
  const place = placeOf(claims);
  if (envelope !== null) checkCopy(envelope, claims, kid);
  if (list !== undefined && place !== null) await checkStatus(claims, readLists(list), { keys, issuer });
  return claims;
}

/** Editors and shells save UTF-16, or put a mark before UTF-8. */
function readFile(name) {
  const bytes = readFileSync(name);
  const [a, b, c, d] = bytes;
  const isLittle = (a === 0xff && b === 0xfe) || (a && b === 0 && c && d === 0);
  const isBig = (a === 0xfe && b === 0xff) || (a === 0 && b && c === 0 && d);
  const encoding = isLittle ? "utf-16le" : isBig ? "utf-16be" : null;
  if (encoding !== null) return Buffer.from(new TextDecoder(encoding).decode(bytes));
  return a === 0xef && b === 0xbb && c === 0xbf ? bytes.subarray(3) : bytes;
}

const [file, jwksFile, historyFile, issuer, audience, listFile] = process.argv.slice(2);
try {
  const files = [file, jwksFile, historyFile, listFile].filter((name) => name !== undefined);
  const [bytes, jwks, keyHistory, list] = files.map(readFile);
  await verifyEnvelope({ bytes, jwks, keyHistory, list, issuer, audience });
  console.log("valid");
} catch ({ message, code }) {
  console.log(code ? "FILE_UNREADABLE" : message);
  process.exitCode = code || undecidable.includes(message) ? 2 : 1;
}
