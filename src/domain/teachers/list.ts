/** Reads the register in the order of the registration numbers, a bounded piece at a time (decision D7.7). */

import { setImmediate as nextTurn } from "node:timers/promises";
import type { CertificateStatus, LicenseStatus } from "../../partner/contract.ts";
import { foldRegNo } from "../../partner/reg-no.ts";
import type { TeacherListStore } from "../../store/teachers.ts";
import type { BlindIndex } from "../blind-index.ts";
import { type Calendar, type CalendarDate, type Clock, isoTime } from "../clock.ts";
import { TvsError } from "../errors.ts";
import { nameTest } from "./name-search.ts";
import { maxTermLength, searchKeys } from "./search-term.ts";
import { licenseStatusOn, type Teacher, type TeacherKey } from "./teachers.ts";

export type TeacherFilter = {
  readonly license?: LicenseStatus | undefined;
  readonly certificate?: CertificateStatus | undefined;
  /** Whose licence has an expiry date before this one, revoked or not. */
  readonly expiresBefore?: CalendarDate | undefined;
  /** Whose record was written at this time or later, in milliseconds since the epoch. */
  readonly changedSince?: number | undefined;
  /** In either case of its letters. */
  readonly state?: string | undefined;
};

/** A record as lists have it: no blind index is part of it. */
export type TeacherRow = Teacher & {
  /** Milliseconds since the epoch. */
  readonly updatedAt: number;
};

export type TeacherPage = {
  readonly teachers: readonly TeacherRow[];
  /** Behind which registration number it goes on; null when there is nothing further. */
  readonly next: string | null;
};

export type ListDependencies = {
  readonly teachers: TeacherListStore;
  readonly calendar: Calendar;
  readonly clock: Clock;
};

export type PageRequest = {
  /** The registration number behind which it begins; it need not be anybody's. */
  readonly after?: string;
  readonly limit: number;
  /** At most so many teachers are looked at, for whoever must answer soon: the page then may be short. */
  readonly maxLooked?: number;
};

/** Teachers whom a filter looks at in one read, records and names that one read gives: two or three milliseconds each. */
const lookedAtOnce = 500;
const recordsAtOnce = 250;
const namesAtOnce = 1_000;

/** Teachers who pass a filter. @throws TvsError USAGE when `after` has nothing of a registration number */
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
 * Reads piece after piece until a page is full; between two of them the thread answers other calls.
 * @param pieces `read` gets the number to start behind, and how many are missing; `looked` is how many each looks at
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
  // What was found beyond the limit shows that there is more, and is found again from the last that is given.
  if (found.length <= limit) return { teachers: found, next };
  const teachers = found.slice(0, limit);
  return { teachers, next: teachers.at(-1)?.regNo ?? null };
}

/** Everybody who passes a filter, a piece of the register at a time. */
export async function* eachTeacher(
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
 * Finds everybody whom a term of the public lookup names; else those whose registration number begins with it, or parts
 * of whose name begin with its words.
 * @throws TvsError USAGE when the term can name nobody
 */
export async function findTeachers(
  dependencies: ListDependencies & { readonly blindIndex: BlindIndex },
  text: string,
  page: PageRequest,
): Promise<TeacherPage> {
  const { teachers, blindIndex } = dependencies;
  const term = text.trim();
  const keys = searchKeys(term, blindIndex);
  const test = term.includes("@") || term.length > maxTermLength ? null : nameTest(term);
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

/** Teachers whose registration number begins so. */
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

/** The beginning of a registration number as numbers are stored. @throws TvsError USAGE */
function canonicalStart(text: string): string {
  const start = foldRegNo(text);
  if (start === "" || start.length > maxTermLength || start.includes("\0"))
    throw new TvsError("USAGE", "this is no registration number, nor the beginning of one");
  return start;
}

/** A row of a list as it is printed: what the register says of the teacher today. */
export function describeRow(teacher: TeacherRow, today: CalendarDate) {
  const { regNo, tId, name, state, category, active, hidden, certificateStatus, licenseExpiryDate } = teacher;
  return {
    ...{ regNo, tId, name, state, category, active, hidden },
    licenseStatus: licenseStatusOn(teacher, today),
    ...{ licenseExpiryDate, certificateStatus, updatedAt: isoTime(teacher.updatedAt) },
  };
}
