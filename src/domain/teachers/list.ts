/** Lists teachers in the order of registration numbers. Each query reads a limited number of rows (decision D7.7). */

import { setImmediate as nextTurn } from "node:timers/promises";
import type { CertificateStatus, LicenseStatus } from "../../partner/contract.ts";
import { normalizeRegNo } from "../../partner/reg-no.ts";
import type { TeacherListStore } from "../../store/teachers.ts";
import type { BlindIndex } from "../blind-index.ts";
import { type CalendarDate, type Clock, isoTime, type TimeZoneCalendar } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { createNameMatcher } from "./name-search.ts";
import { maxTermLength, searchKeysOf } from "./search-term.ts";
import { licenseStatusOn, type Teacher, type TeacherKey } from "./teachers.ts";

export type TeacherFilter = {
  readonly license?: LicenseStatus | undefined;
  readonly certificate?: CertificateStatus | undefined;
  /** Only teachers whose licence, revoked or not, expires before this date. */
  readonly expiresBefore?: CalendarDate | undefined;
  /** Only teachers whose record was written since this time, in milliseconds since the epoch. */
  readonly changedSince?: number | undefined;
  /** The state's name, in upper or lower case. */
  readonly state?: string | undefined;
};

export type TeacherRow = Teacher & {
  /** Milliseconds since the epoch. */
  readonly updatedAt: number;
};

export type TeacherPage = {
  readonly teachers: readonly TeacherRow[];
  /** The value of `after` for the next page; null on the last page. */
  readonly next: string | null;
};

export type ListDependencies = {
  readonly teachers: TeacherListStore;
  readonly calendar: TimeZoneCalendar;
  readonly clock: Clock;
};

export type PageRequest = {
  /** The page begins after this registration number, whether or not a teacher has it. */
  readonly after?: string;
  readonly limit: number;
  /** Maximum teachers to examine, to bound the time. A page may therefore have fewer than `limit` teachers. */
  readonly maxLooked?: number;
};

/** Limits of one query, for two or three milliseconds: teachers that it examines, records and names that it reads. */
const lookedAtOnce = 500;
const recordsAtOnce = 250;
const namesAtOnce = 1_000;

/** Lists a page of the teachers who pass a filter. @throws TvsError USAGE if `after` cannot begin a registration number */
export async function listTeachers(
  { teachers, calendar, clock }: ListDependencies,
  filter: TeacherFilter,
  page: PageRequest,
): Promise<TeacherPage> {
  const wanted = { ...filter, today: calendar.dateAt(clock.now()) };
  const read = (after: string, missing: number) => {
    const limit = Math.min(missing, recordsAtOnce);
    return teachers.piece(wanted, { after, limit, look: isEmpty(filter) ? limit : lookedAtOnce });
  };
  return fillPage(page, { read, start: "", looked: lookedAtOnce });
}

/**
 * Reads pieces until a page is full. Between pieces the event loop turns, so that other requests are answered.
 * @param pieces `read` receives the registration number to start after, and how many teachers the page still lacks;
 *   `looked` is the number of teachers that each piece examines
 */
async function fillPage<T extends { readonly regNo: string }>(
  { after, limit, maxLooked = Number.MAX_SAFE_INTEGER }: PageRequest,
  pieces: {
    read: (after: string, missing: number) => Promise<{ teachers: readonly T[]; next: string | null }>;
    start: string;
    looked: number;
  },
): Promise<{ teachers: readonly T[]; next: string | null }> {
  const found: T[] = [];
  let next: string | null = after === undefined ? pieces.start : canonicalStart(after);
  for (let looked = 0; next !== null && found.length <= limit && looked < maxLooked; ) {
    if (looked > 0) await nextTurn();
    const piece = await pieces.read(next, limit + 1 - found.length);
    found.push(...piece.teachers);
    next = piece.next;
    looked += pieces.looked;
  }
  // One teacher beyond the limit is read only to find out whether there is another page.
  if (found.length <= limit) return { teachers: found, next };
  const teachers = found.slice(0, limit);
  return { teachers, next: teachers.at(-1)?.regNo ?? null };
}

/** Yields all teachers who pass a filter, in pieces. */
export async function* readTeacherBatches(
  { teachers, calendar, clock }: ListDependencies,
  filter: TeacherFilter,
): AsyncGenerator<readonly TeacherRow[]> {
  const wanted = { ...filter, today: calendar.dateAt(clock.now()) };
  for (let next: string | null = ""; next !== null; await nextTurn()) {
    const look = isEmpty(filter) ? recordsAtOnce : lookedAtOnce;
    const piece: TeacherPage = await teachers.piece(wanted, { after: next, limit: recordsAtOnce, look });
    if (piece.teachers.length > 0) yield piece.teachers;
    next = piece.next;
  }
}

function isEmpty(filter: TeacherFilter): boolean {
  return Object.values(filter).every((value) => value === undefined);
}

/**
 * Finds the teachers whose identifier is the search term. If there are none, finds the teachers whose registration
 * number begins with the term, or whose name has parts that begin with the term's words.
 * @throws TvsError USAGE for a term that is neither an identifier nor a name
 */
export async function findTeachers(
  dependencies: ListDependencies & { readonly blindIndex: BlindIndex },
  text: string,
  page: PageRequest,
): Promise<TeacherPage> {
  const { teachers, blindIndex } = dependencies;
  const term = text.trim();
  const keys = searchKeysOf(term, blindIndex);
  const test = term.includes("@") || term.length > maxTermLength ? null : createNameMatcher(term);
  const isNumber = term.includes("/");
  if (keys.length === 0 && test === null && !isNumber)
    throw new TvsError(
      "USAGE",
      "this names nobody: give a registration number or its beginning, a teacher id, a NIN, an e-mail address, " +
        "a phone number, or the beginning of a name",
    );
  if (page.after === undefined) {
    const named = await holdersOf(teachers, keys, page.limit);
    if (named.length > 0) return { teachers: named, next: null };
  }
  if (isNumber) return numbersFrom(dependencies, canonicalStart(term), page);
  return test === null ? { teachers: [], next: null } : namesLike(teachers, test, page);
}

async function holdersOf(teachers: TeacherListStore, keys: readonly TeacherKey[], limit: number) {
  const found = new Map<number, TeacherRow>();
  for (const key of keys) for (const one of await teachers.holders(key, limit)) found.set(one.id, one);
  return [...found.values()].slice(0, limit);
}

function numbersFrom({ teachers, calendar, clock }: ListDependencies, beginning: string, page: PageRequest) {
  const today = calendar.dateAt(clock.now());
  const read = async (after: string, missing: number) => {
    const size = Math.min(missing, recordsAtOnce);
    const piece = await teachers.piece({ today }, { after, limit: size, look: size });
    const fitting = piece.teachers.filter(({ regNo }) => regNo.startsWith(beginning));
    return { teachers: fitting, next: fitting.length < size ? null : piece.next };
  };
  return fillPage(page, { read, start: beginning, looked: recordsAtOnce });
}

async function namesLike(teachers: TeacherListStore, test: (name: string) => boolean, page: PageRequest) {
  const read = async (after: string) => {
    const names = await teachers.names(after, namesAtOnce);
    const next = names.length < namesAtOnce ? null : (names.at(-1)?.regNo ?? null);
    return { teachers: names.filter(({ name }) => test(name)), next };
  };
  const found = await fillPage(page, { read, start: "", looked: namesAtOnce });
  return { ...found, teachers: await teachers.rows(found.teachers.map(({ regNo }) => regNo)) };
}

/** Normalises the beginning of a registration number. @throws TvsError USAGE */
function canonicalStart(text: string): string {
  const start = normalizeRegNo(text);
  if (start === "" || start.length > maxTermLength || start.includes("\0"))
    throw new TvsError("USAGE", "this is no registration number, nor the beginning of one");
  return start;
}

/** Describes a teacher for a list, with the licence status on a date. */
export function describeTeacherRow(teacher: TeacherRow, today: CalendarDate) {
  const { regNo, tId, name, state, category, active, hidden, certificateStatus, licenseExpiryDate } = teacher;
  return {
    ...{ regNo, tId, name, state, category, active, hidden },
    licenseStatus: licenseStatusOn(teacher, today),
    ...{ licenseExpiryDate, certificateStatus, updatedAt: isoTime(teacher.updatedAt) },
  };
}
