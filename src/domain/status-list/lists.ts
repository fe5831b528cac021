/**
 * The signed status lists (decisions D15.3 and D15.7; IETF Token Status List, draft-ietf-oauth-status-list-21): whose
 * licence or registration was withdrawn before its own end, a bit for each teacher.
 *
 * Nothing of them is stored. Each thread makes the lists when somebody asks for them, of what the database says then, and
 * again when that has moved; so there is none that a kill, another node or a restore could leave behind. All threads and
 * nodes make the same bytes: a list's time is that of what it shows, and RS256 is deterministic.
 */

import { Buffer } from "node:buffer";
import { createCipheriv } from "node:crypto";
import { promisify } from "node:util";
import { deflate } from "node:zlib";
import { statusListType } from "../../partner/status-list.ts";
import type { StatusClaim } from "../../partner/verification.ts";
import type { StatusListStore } from "../../store/status-lists.ts";
import type { Clock } from "../clock.ts";
import type { Configuration, Snapshot } from "../configuration.ts";
import { signerAs } from "../keys.ts";
import type { Secrets } from "../secrets.ts";
import type { Teacher } from "../teachers/teachers.ts";

export const listPlaces = 2 ** 20;

/** A place is two halves of ten bits. */
const half = 2 ** 10;
/** As many as NIST's FF1 has; each has a table of its own, so that all of them together cost some ten reads. */
const rounds = 10;

/**
 * The setting below which no new teacher gets an id (decision D15.4). After a restore some of these ids may belong to
 * teachers whom the register has lost.
 */
export const teacherIdsAfterName = "teacher_ids_after";

type StatusPlace = { readonly list: number; readonly idx: number };

/**
 * The place of a teacher, by the teacher's id (decision D15.2). Nothing is stored for it: a place follows from the id, and
 * tells nothing of the id without the master key.
 */
export type StatusPlaces = (teacherId: number) => StatusPlace;

/** @param key 32 bytes, of the register's own */
export function createStatusPlaces(key: Uint8Array): StatusPlaces {
  const permutations = new Map<number, (place: number) => number>();
  return (teacherId) => {
    const list = Math.floor((teacherId - 1) / listPlaces);
    const permute = permutations.get(list) ?? permutation(key, list);
    permutations.set(list, permute);
    return { list, idx: permute((teacherId - 1) % listPlaces) };
  };
}

/**
 * A permutation of a list's places: a Feistel network over the halves. What each round adds is read from a table of
 * random numbers, the key stream of AES-256 in counter mode, which begins elsewhere for each list.
 */
function permutation(key: Uint8Array, list: number): (place: number) => number {
  const start = Buffer.alloc(16);
  start.writeUInt32BE(list);
  const stream = createCipheriv("aes-256-ctr", key, start).update(Buffer.alloc(rounds * half * 2));
  const tables = Uint16Array.from({ length: rounds * half }, (_, at) => stream.readUInt16LE(at * 2) % half);
  return (place) => {
    let left = Math.floor(place / half);
    let right = place % half;
    for (let table = 0; table < tables.length; table += half) {
      const mixed = left ^ (tables[table + right] as number);
      left = right;
      right = mixed;
    }
    return left * half + right;
  };
}

/** The path of the lists below the issuer: the aggregation document, and behind a slash the number of a list. */
export const statusListPath = "/v1/inter-agency/status";

/** A list is made anew each day, whatever has changed. */
const dayMs = 24 * 3_600_000;
const expiresSeconds = 7 * 24 * 3600;
/** How long who fetches a list may go by it before fetching it again. */
export const ttlSeconds = 900;

/** Of what the lists are made, all as of one moment. */
type WithdrawnRows = {
  /** The newest row of the teachers' history, in which every change of a bit has one. */
  readonly change: number;
  /** When the newest changes were made, in milliseconds since the epoch. */
  readonly changedAt: number;
  /** Every list that has a teacher, by its number, with the highest id in it. */
  readonly lists: readonly (readonly [list: number, lastId: number])[];
  /** The rows of teachers whose licence or registration is withdrawn; one may stand there twice. */
  readonly withdrawn: readonly number[];
};

/** All lists as of one moment, so that the changes of one commit appear in them together. */
export type StatusLists = {
  /** The compact JWS of each list, by its URI. */
  readonly tokens: ReadonlyMap<string, string>;
};

export type StatusListSource = ReturnType<typeof createStatusLists>;

type Dependencies = {
  readonly configuration: Configuration;
  readonly store: StatusListStore;
  readonly places: StatusPlaces;
  readonly secrets: Secrets;
  readonly clock: Clock;
};

/** @returns makes the lists when they are asked for, and again when what they are made of has moved */
export function createStatusLists(dependencies: Dependencies) {
  const { configuration, store, places, clock } = dependencies;
  const lostBits = createLostBits(places);
  let made: { readonly of: string; readonly lists: Promise<StatusLists> } | undefined;

  return {
    /** The lists as of now; the same object while they are the same. @returns null while the register has none */
    async newest(): Promise<StatusLists | null> {
      // The key that signs is the one that is active now, as the database says it.
      const snapshot = await configuration.refresh();
      const { settings, teacherIdsAfter, keys } = snapshot;
      if (!settings.statusList) return null;
      const now = clock.now();
      const of = [await store.change(), Math.floor(now / dayMs), keys.active.kid, settings.issuer];
      const name = JSON.stringify([...of, teacherIdsAfter]);
      if (made?.of === name) return made.lists;
      const begun = { of: name, lists: makeLists(snapshot, now, { ...dependencies, lostBits }) };
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
  { store, places, lostBits, secrets }: Dependencies & { lostBits: ReturnType<typeof createLostBits> },
): Promise<StatusLists> {
  const { keys, settings, teacherIdsAfter } = snapshot;
  const rows = await store.read();
  const bits = new Map(
    rows.lists.map(([list, lastId]) => [list, lastId < teacherIdsAfter ? lostBits(list, lastId) : noBits()]),
  );
  for (const id of rows.withdrawn) {
    const { list, idx } = places(id);
    setBit(bits.get(list), idx);
  }
  const sign = await signerAs(statusListType, keys, secrets);
  const iat = Math.floor(timeOf(rows, snapshot, now) / 1000);
  const times = { iat, exp: iat + expiresSeconds, ttl: ttlSeconds };
  const tokens = new Map<string, string>();
  for (const [list, bytes] of bits) {
    const sub = statusListUri(settings.issuer, list);
    tokens.set(sub, await sign({ sub, ...times, status_list: { bits: 1, lst: await encodeBits(bytes) } }));
  }
  return { tokens };
}

const noBits = () => new Uint8Array(listPlaces / 8);

/** @returns gives a list in which every place behind that of an id is set: who was there is lost */
function createLostBits(places: StatusPlaces) {
  // There may be a million of them, and no teacher comes to such a list any more.
  const made = new Map<number, Uint8Array>();
  return (list: number, lastId: number): Uint8Array => {
    const bits = made.get(list) ?? noBits();
    if (!made.has(list)) {
      for (let id = lastId + 1; id <= (list + 1) * listPlaces; id++) setBit(bits, places(id).idx);
      made.set(list, bits);
    }
    return bits.slice();
  };
}

/**
 * The time of the lists, the same for everybody who makes them: that of the newest change, key or restore, or else of the
 * day's beginning. A clock that was ahead when something was changed puts no list into the future.
 */
function timeOf({ changedAt }: WithdrawnRows, { keys, teacherIdsAfter }: Snapshot, now: number): number {
  const { activatedAt, createdAt } = keys.active;
  const today = Math.floor(now / dayMs) * dayMs;
  // The time of the newest restore, by the ids that it kept from being given again.
  const restoredAt = (teacherIdsAfter / listPlaces) * 1000;
  return Math.min(now, Math.max(changedAt, today, activatedAt ?? createdAt, restoredAt));
}

/** Places are counted from the lowest bit of the first byte on (draft 21, 4.1). */
export function setBit(bytes: Uint8Array | undefined, idx: number): void {
  const byte = bytes?.[idx >> 3];
  if (bytes !== undefined && byte !== undefined) bytes[idx >> 3] = byte | (1 << (idx & 7));
}

/** The bits as the member `lst` has them: DEFLATE in zlib's format, at its highest level, in base64url (draft 21, 4.1). */
export async function encodeBits(bytes: Uint8Array): Promise<string> {
  const packed = await promisify(deflate)(bytes, { level: 9 });
  return Buffer.from(packed).toString("base64url");
}

function statusListUri(issuer: string, list: number): string {
  return `${issuer}${statusListPath}/${list}`;
}

/**
 * Where to look later whether what an envelope says of a teacher was withdrawn.
 * @returns undefined for nobody, and while the register has no lists: then the claim is not there
 */
export function statusClaimOf(
  teacher: Pick<Teacher, "id"> | null,
  { settings }: Snapshot,
  places: StatusPlaces,
): StatusClaim | undefined {
  if (teacher === null || !settings.statusList) return undefined;
  const { list, idx } = places(teacher.id);
  return { idx, uri: statusListUri(settings.issuer, list) };
}
