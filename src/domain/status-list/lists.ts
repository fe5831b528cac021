/**
 * Makes the signed status lists (decisions D15.3 and D15.7; IETF draft-ietf-oauth-status-list-21). A list has a bit for
 * each teacher: 1 if the licence or registration was withdrawn before its own end.
 *
 * Lists are not stored. A process computes them from the database on request, and again after a change. Therefore no
 * kill, other node or restore leaves an outdated list. All nodes compute the same bytes: the time in a list is the time
 * of its newest change, and RS256 is deterministic.
 */

import { Buffer } from "node:buffer";
import { createCipheriv } from "node:crypto";
import { promisify } from "node:util";
import { deflate } from "node:zlib";
import { statusListJwsType } from "../../partner/status-list.ts";
import type { StatusClaim } from "../../partner/verification.ts";
import type { StatusListStore } from "../../store/status-lists.ts";
import type { Clock } from "../clock.ts";
import type { Configuration, Snapshot } from "../configuration.ts";
import { createJwsSigner } from "../keys.ts";
import type { Secrets } from "../secrets.ts";
import type { Teacher } from "../teachers/teachers.ts";

/** The number of bits in a list. Each index names one bit. */
export const indexesPerList = 2 ** 20;

/** Number of values of half an index. An index has 20 bits, so each half has 10 bits. */
const half = 2 ** 10;
/** The rounds of the Feistel network, as many as NIST's FF1 has. Each round uses its own table of random numbers. */
const rounds = 10;

/**
 * Name of the setting with the teacher id above which new teachers get their ids (decision D15.4). After a restore,
 * lower ids may belong to teachers whom the register has lost.
 */
export const teacherIdsAfterSettingName = "teacher_ids_after";

/**
 * A function that computes a teacher's list, and the index in the list, from the teacher's id (decision D15.2). Without
 * the master key the index does not reveal the id.
 */
export type StatusIndexer = (teacherId: number) => { readonly list: number; readonly idx: number };

/** Makes the function that computes list and index. @param key 32 bytes, derived from the master key */
export function createStatusIndexer(key: Uint8Array): StatusIndexer {
  const permutations = new Map<number, (index: number) => number>();
  return (teacherId) => {
    const list = Math.floor((teacherId - 1) / indexesPerList);
    const permute = permutations.get(list) ?? permutation(key, list);
    permutations.set(list, permute);
    return { list, idx: permute((teacherId - 1) % indexesPerList) };
  };
}

/**
 * Makes the permutation of a list's indexes: a Feistel network over the two halves. Each round XORs in a number from
 * its table. The tables are the key stream of AES-256 in counter mode, whose counter starts with the list's number.
 */
function permutation(key: Uint8Array, list: number): (index: number) => number {
  const start = Buffer.alloc(16);
  start.writeUInt32BE(list);
  const stream = createCipheriv("aes-256-ctr", key, start).update(Buffer.alloc(rounds * half * 2));
  const tables = Uint16Array.from({ length: rounds * half }, (_, at) => stream.readUInt16LE(at * 2) % half);
  return (index) => {
    let left = Math.floor(index / half);
    let right = index % half;
    for (let table = 0; table < tables.length; table += half) {
      const mixed = left ^ (tables[table + right] as number);
      left = right;
      right = mixed;
    }
    return left * half + right;
  };
}

/** Path of the document that names all lists. A list's URI is issuer, path, slash and the list's number. */
export const statusListPath = "/v1/inter-agency/status";

/** A day in ms. Lists are computed again each day, even without a change, so that they do not expire. */
const dayMs = 24 * 3_600_000;
const expiresSeconds = 7 * 24 * 3600;
/** How many seconds a client may use a list before fetching the list again. */
export const statusListTtlSeconds = 900;

/** All lists, from one read of the database, so that the changes of one transaction appear together. */
export type StatusLists = {
  /** Each list as a compact JWS, by its URI. */
  readonly tokens: ReadonlyMap<string, string>;
};

export type StatusListSource = ReturnType<typeof createStatusListSource>;

type Dependencies = {
  readonly configuration: Configuration;
  readonly store: StatusListStore;
  readonly statusIndexes: StatusIndexer;
  readonly secrets: Secrets;
  readonly clock: Clock;
};

/** Creates the source of the lists, which computes the lists on request and keeps them until something changes. */
export function createStatusListSource(dependencies: Dependencies) {
  const { configuration, store, statusIndexes, clock } = dependencies;
  const lostBits = createLostBits(statusIndexes);
  let made: { readonly from: string; readonly lists: Promise<StatusLists> } | undefined;

  return {
    /** Gets the present lists, the same object until a change. @returns null if the register publishes no lists */
    async newest(): Promise<StatusLists | null> {
      // Reads the configuration again, because the key that is active in the database now must sign.
      const snapshot = await configuration.refresh();
      const { settings, teacherIdsAfter, keys } = snapshot;
      if (!settings.statusList) return null;
      const now = clock.now();
      const day = Math.floor(now / dayMs);
      const sources = [await store.change(), day, keys.active.kid, settings.issuer, teacherIdsAfter];
      const from = JSON.stringify(sources);
      if (made?.from === from) return made.lists;
      const begun = { from, lists: makeLists(snapshot, now, { ...dependencies, lostBits }) };
      made = begun;
      begun.lists.catch(() => {
        if (made === begun) made = undefined;
      });
      return begun.lists;
    },
  };
}

async function makeLists(
  snapshot: Snapshot,
  now: number,
  { store, statusIndexes, lostBits, secrets }: Dependencies & { lostBits: ReturnType<typeof createLostBits> },
): Promise<StatusLists> {
  const { keys, settings, teacherIdsAfter } = snapshot;
  const rows = await store.read();
  const bitsOf = (list: number, lastId: number) =>
    lastId < teacherIdsAfter ? lostBits(list, lastId) : noBits();
  const bits = new Map(rows.lists.map(([list, lastId]) => [list, bitsOf(list, lastId)]));
  for (const id of rows.withdrawn) {
    const { list, idx } = statusIndexes(id);
    setBit(bits.get(list), idx);
  }
  const sign = await createJwsSigner(statusListJwsType, keys, secrets);
  const iat = Math.floor(timeOf(rows.changedAt, snapshot, now) / 1000);
  const times = { iat, exp: iat + expiresSeconds, ttl: statusListTtlSeconds };
  const tokens = new Map<string, string>();
  for (const [list, bytes] of bits) {
    const sub = statusListUri(settings.issuer, list);
    tokens.set(sub, await sign({ sub, ...times, status_list: { bits: 1, lst: await encodeBits(bytes) } }));
  }
  return { tokens };
}

const noBits = () => new Uint8Array(indexesPerList / 8);

/** Creates the maker of lists from before a restore: ids above the last teacher get a 1, as teachers may be lost. */
function createLostBits(statusIndexes: StatusIndexer) {
  // Such a list has a million bits and gets no new teachers, so the list's bits are computed only once.
  const made = new Map<number, Uint8Array>();
  return (list: number, lastId: number): Uint8Array => {
    const bits = made.get(list) ?? noBits();
    if (!made.has(list)) {
      for (let id = lastId + 1; id <= (list + 1) * indexesPerList; id++) setBit(bits, statusIndexes(id).idx);
      made.set(list, bits);
    }
    return bits.slice();
  };
}

/**
 * Computes the time of the lists in ms, the same on all nodes: the latest of the last change, the key's activation, the
 * restore and midnight. The time is never in the future, even if a clock was ahead at a change.
 */
function timeOf(changedAt: number, { keys, teacherIdsAfter }: Snapshot, now: number): number {
  const { activatedAt, createdAt } = keys.active;
  const today = Math.floor(now / dayMs) * dayMs;
  // After a restore, new teachers get ids in the list whose number is the restore's Unix time in seconds.
  const restoredAt = (teacherIdsAfter / indexesPerList) * 1000;
  return Math.min(now, Math.max(changedAt, today, activatedAt ?? createdAt, restoredAt));
}

/** Sets the bit of an index. Index 0 is the lowest bit of the first byte (draft 21, 4.1). */
export function setBit(bytes: Uint8Array | undefined, idx: number): void {
  const byte = bytes?.[idx >> 3];
  if (bytes !== undefined && byte !== undefined) bytes[idx >> 3] = byte | (1 << (idx & 7));
}

/** Encodes bits for the member `lst`: zlib at its highest level, in base64url (draft 21, 4.1). */
export async function encodeBits(bytes: Uint8Array): Promise<string> {
  const packed = await promisify(deflate)(bytes, { level: 9 });
  return Buffer.from(packed).toString("base64url");
}

function statusListUri(issuer: string, list: number): string {
  return `${issuer}${statusListPath}/${list}`;
}

/**
 * Makes an envelope's `status` claim: the list and the index at which a later withdrawal is published.
 * @returns undefined if `teacher` is null or the register publishes no lists; the envelope then has no such claim
 */
export function statusClaimOf(
  teacher: Pick<Teacher, "id"> | null,
  { settings }: Snapshot,
  statusIndexes: StatusIndexer,
): StatusClaim | undefined {
  if (teacher === null || !settings.statusList) return undefined;
  const { list, idx } = statusIndexes(teacher.id);
  return { idx, uri: statusListUri(settings.issuer, list) };
}
