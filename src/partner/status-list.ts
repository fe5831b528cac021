/**
 * Reads signed status lists (IETF Token Status List, draft-ietf-oauth-status-list-21; decision D15.5), which say whether an
 * answer was withdrawn. A list has a million entries, so fetching a list does not reveal the teacher. A list that is
 * too old or has no valid signature is refused.
 */

import { decodeBase64url } from "./base64.ts";
import { readBoundedStream } from "./bytes.ts";
import { formatUnixSeconds } from "./date-time.ts";
import { decodeBytesOrText, removeByteOrderMark } from "./file-text.ts";
import { type JwsHeader, readJwsHeader, readJwsPart, splitCompactJws } from "./jws.ts";
import { checkKeyWindow } from "./key-history.ts";
import type { KeyInSet, KeySet } from "./key-set.ts";
import { Refusal, refuse } from "./reasons.ts";
import { verifyRsaSignature } from "./rsa-key.ts";
import { isJsonObject, type JsonObject, type JsonValue, readStrictJson } from "./strict-json.ts";
import type { StatusClaim } from "./verification.ts";

/** A status list with a valid signature. The list's age is checked later, for each envelope. */
export type StatusList = {
  readonly uri: string;
  readonly issuedAtSeconds: number;
  /** The claim `exp`; null if absent, because the draft does not require it. */
  readonly expiresSeconds: number | null;
  /** Bits of each entry: 1, 2, 4 or 8. */
  readonly bits: number;
  readonly bytes: Uint8Array;
};

/** Everything that is needed to verify one service's envelopes without a network. */
export type OfflinePack = {
  readonly issuer: string;
  readonly madeAt: string;
  /** The key set, as `jwks.json` has it. */
  readonly jwks: object;
  readonly keyHistory: string;
  readonly statusLists: readonly string[];
};

/** The envelope's issuer, time and answer, and the limits of a list's age. Times are Unix seconds. */
type StatusQuery = {
  readonly issuer: string;
  readonly signedSeconds: number;
  /** Whether the envelope says eligible, or that the licence is VALID. */
  readonly isYes: boolean;
  readonly nowSeconds: number;
  readonly toleranceSeconds: number;
  readonly maxAgeSeconds: number;
};

/** The `typ` of a status list, by which no verifier accepts a list as another token (RFC 8725 section 3.11). */
export const statusListJwsType = "statuslist+jwt";
export const defaultMaxListAgeSeconds = 7 * 86_400;
/** The most entries in a list of the service. Unpacking a longer list stops here, and the list is refused. */
const maxEntries = 2 ** 20;
/** A longer list is refused. A list needs at most `maxEntries` incompressible bytes in base64url, and a signature. */
const maxTokenCharacters = 2 * 1024 * 1024;
const packedPieceBytes = 1024;

function unusable(detail: string): Refusal {
  return refuse("STATUS_LIST_UNUSABLE", detail);
}

/** Streams small pieces: some runtimes unpack a whole piece, to a thousand times its size, before a limit stops them. */
function streamPieces(packed: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= packed.length) return controller.close();
      controller.enqueue(packed.slice(at, at + packedPieceBytes));
      at += packedPieceBytes;
    },
  });
}

/** Unpacks ZLIB (RFC 1950); null if the input is malformed or unpacks to more than `maxBytes`. */
async function unpack(packed: Uint8Array<ArrayBuffer>, maxBytes: number): Promise<Uint8Array | null> {
  const unpacked = streamPieces(packed).pipeThrough(new DecompressionStream("deflate"));
  return readBoundedStream(unpacked, maxBytes).catch(() => null);
}

/** Reads the member `status_list` of a token (section 4.2 of the draft). */
export async function readStatusEntries(
  list: JsonValue | undefined,
): Promise<Pick<StatusList, "bits" | "bytes"> | Refusal> {
  const { bits, lst } = isJsonObject(list) ? list : {};
  const isPacked = typeof bits === "number" && [1, 2, 4, 8].includes(bits) && typeof lst === "string";
  const packed = isPacked ? decodeBase64url(lst) : null;
  const bytes = isPacked && packed !== null ? await unpack(packed, (maxEntries * bits) / 8) : null;
  return isPacked && bytes !== null
    ? { bits, bytes }
    : unusable("The status list is not packed as it must be, or unpacks to more than a list has places.");
}

/** Reads the status at index `idx`, least significant bit first (section 4.1 of the draft); null beyond the list's end. */
export function statusAt({ bits, bytes }: Pick<StatusList, "bits" | "bytes">, idx: number): number | null {
  const byte = bytes[Math.floor((idx * bits) / 8)];
  return byte === undefined ? null : (byte >> ((idx * bits) % 8)) & (2 ** bits - 1);
}

/** Finds a list's key. A compromised key is always refused, because its thief can sign a list with any time. */
function findKey({ kid, typ }: JwsHeader, { keys }: KeySet): KeyInSet | Refusal {
  if (typ !== statusListJwsType) return unusable(`The status list's typ is not ${statusListJwsType}.`);
  const key = keys.get(kid);
  if (key === undefined) return unusable("The status list is signed by a key that is not known.");
  return (key.window?.compromisedSinceMs ?? null) === null
    ? key
    : unusable("The status list is signed by a key that was compromised.");
}

function isSeconds(value: JsonValue | undefined): value is number {
  return Number.isSafeInteger(value) && formatUnixSeconds(Number(value)) !== null;
}

async function readClaims(payload: JsonObject, key: KeyInSet): Promise<StatusList | Refusal> {
  const { sub, iat, exp, ttl, status_list: list } = payload;
  const hasEnd = exp === undefined || isSeconds(exp);
  const isWhole = hasEnd && (ttl === undefined || (typeof ttl === "number" && ttl > 0));
  if (typeof sub !== "string" || !isSeconds(iat) || !isWhole)
    return unusable("The status list lacks its address or the time of its signing, or has other times.");
  const inWindow = checkKeyWindow(key.window, iat);
  if (inWindow instanceof Refusal)
    return unusable("The status list's key was not in use when it was signed.");
  const places = await readStatusEntries(list);
  return places instanceof Refusal
    ? places
    : { uri: sub, issuedAtSeconds: iat, expiresSeconds: exp ?? null, ...places };
}

const noToken = "The status list is no signed token.";

async function verifyStatusList(text: string, keys: KeySet): Promise<StatusList | Refusal> {
  const jws = text.length > maxTokenCharacters ? null : splitCompactJws(removeByteOrderMark(text).trim());
  if (jws === null || jws instanceof Refusal) return unusable(noToken);
  const header = readJwsHeader(jws.protectedHeader);
  if (header instanceof Refusal) return unusable(noToken);
  const key = findKey(header, keys);
  if (key instanceof Refusal) return key;
  if (!(await verifyRsaSignature(key, jws))) return unusable("The status list's signature is not good.");
  const payload = readJwsPart(jws.payload, "payload");
  return payload instanceof Refusal ? unusable(noToken) : readClaims(payload, key);
}

/** Verified lists by key set and text, so that each list is verified only once, also for a million envelopes. */
const verifiedLists = new WeakMap<KeySet, Map<string, Promise<StatusList | Refusal>>>();
const maxVerifiedLists = 64;

/**
 * Verifies status lists (`application/statuslist+jwt`), each once for each key set.
 * @throws DOMException when this machine has no WebCrypto
 */
export function verifyStatusLists(texts: readonly string[], keys: KeySet) {
  const kept = verifiedLists.get(keys) ?? new Map<string, Promise<StatusList | Refusal>>();
  verifiedLists.set(keys, kept);
  if (kept.size > maxVerifiedLists) kept.clear();
  return Promise.all(
    texts.map((text) => {
      const list = kept.get(text) ?? verifyStatusList(text, keys);
      kept.set(text, list);
      // A failure of this machine's cryptography may be temporary, so a failed result is not cached.
      list.catch(() => kept.delete(text));
      return list;
    }),
  );
}

/** Finds the newest list with a URI. Of two lists of the same second, the list that says withdrawn counts as newer. */
function newestOf(lists: readonly (StatusList | Refusal)[], { uri, idx }: StatusClaim) {
  const valueIn = (list: StatusList) => statusAt(list, idx) ?? -1;
  return lists
    .filter((list): list is StatusList => !(list instanceof Refusal) && list.uri === uri)
    .sort((a, b) => b.issuedAtSeconds - a.issuedAtSeconds || valueIn(b) - valueIn(a))[0];
}

function findTimeProblem(list: StatusList, query: StatusQuery): Refusal | null {
  const { nowSeconds, toleranceSeconds, maxAgeSeconds } = query;
  const { issuedAtSeconds, expiresSeconds } = list;
  if (issuedAtSeconds > nowSeconds + toleranceSeconds)
    return unusable("The status list was signed in the future: is this machine's clock right?");
  const isOld = nowSeconds - issuedAtSeconds > maxAgeSeconds || nowSeconds >= (expiresSeconds ?? Infinity);
  if (!isOld) return null;
  return refuse("STATUS_LIST_STALE", `The status list of ${formatUnixSeconds(issuedAtSeconds)} is too old.`);
}

/**
 * Looks up an envelope's index in the newest list with the URI that the envelope names.
 * @returns the status, or the refusal `STATUS_LIST_UNUSABLE` or `STATUS_LIST_STALE`
 */
export function findStatus(claim: StatusClaim, lists: readonly (StatusList | Refusal)[], query: StatusQuery) {
  const list = newestOf(lists, claim);
  if (!claim.uri.startsWith(`${query.issuer.replace(/\/+$/, "")}/v1/inter-agency/status/`))
    return unusable("The envelope's status list is not one of its issuer's.");
  if (list === undefined) {
    const bad = lists.find((one) => one instanceof Refusal);
    return bad ?? unusable("The status list that the envelope names is not among those that were given.");
  }
  const problem = findTimeProblem(list, query);
  if (problem !== null) return problem;
  const value = statusAt(list, claim.idx);
  if (value === null) return unusable("The status list does not have the envelope's place.");
  const signedAt = formatUnixSeconds(list.issuedAtSeconds);
  // The service signs a yes only while it is not withdrawn, so an older list's withdrawal had ended before the signing.
  const isBefore = list.issuedAtSeconds < query.signedSeconds - query.toleranceSeconds;
  if (value !== 0 && isBefore && query.isYes)
    return refuse("STATUS_LIST_STALE", `The status list of ${signedAt} is older than the envelope.`);
  return { ...claim, signedAt, withdrawn: value !== 0 };
}

/**
 * Reads an offline pack of `/v1/inter-agency/offline-pack`. Reading verifies nothing: pin the signer of its key history
 * with `anchor` of `createKeySet`.
 * @returns the pack; null if the input is not a pack
 * @example
 * ```ts
 * const { issuer, keyHistory, statusLists } = readOfflinePack(text) ?? fail();
 * const keys = await createKeySet({ keyHistory, issuer, anchor });
 * const verdict = await verifyEnvelope(envelope, { keys, issuer, audience, statusLists });
 * ```
 */
export function readOfflinePack(source: string | Uint8Array): OfflinePack | null {
  const pack = readStrictJson(decodeBytesOrText(source) ?? "");
  if (pack instanceof Refusal || !isJsonObject(pack)) return null;
  const { issuer, madeAt, jwks, keyHistory, statusLists } = pack;
  const isText = (value: JsonValue | undefined) => typeof value === "string";
  const isPack = [issuer, madeAt, keyHistory].every(isText) && isJsonObject(jwks);
  if (!isPack || !Array.isArray(statusLists) || !statusLists.every(isText)) return null;
  return pack as unknown as OfflinePack;
}
