import { stringify } from "csv-stringify/sync";
import type { AttestationStore } from "../../store/evidence/attestations.ts";
import type { TeacherStore } from "../../store/teachers.ts";
import type { WatchStore } from "../../store/watches.ts";
import { decodeAttestation } from "../attestation-check.ts";
import type { Attestation } from "../attestations.ts";
import type { BlindIndex } from "../blind-index.ts";
import { type Clock, isoFromSeconds, isoTime } from "../clock.ts";
import { TvsError } from "../errors.ts";
import type { RetentionState } from "../evidence/retention.ts";
import { escapeFormula } from "../import/csv.ts";
import { columnOfField, exportFields, type ImportFormat } from "../import/fields.ts";
import { readTeacherHistory } from "./changes.ts";
import { type ListDependencies, readTeacherBatches, type TeacherFilter, type TeacherRow } from "./list.ts";
import { describeHistoryLine, describeStoredFields } from "./record.ts";
import { ninPattern } from "./search-term.ts";

/**
 * Yields the teachers who pass a filter as an extract, without NINs and contacts, because only their hashes are stored.
 * An import of this extract changes nothing (decision D7.7).
 * @returns pieces: the text, its number of teachers, and how many of them have a profile, which CSV cannot contain
 */
export async function* exportTeachers(
  dependencies: ListDependencies,
  { format, filter = {} }: { format: ImportFormat; filter?: TeacherFilter },
) {
  const header = [exportFields.map((field) => columnOfField[field])];
  if (format === "csv") yield { text: byteOrderMark + csvOf(header), ...none };
  for await (const teachers of readTeacherBatches(dependencies, filter)) {
    const text = format === "csv" ? csvOf(teachers.map(cellsOf)) : teachers.map(lineOf).join("");
    const profiles = format === "csv" ? teachers.filter(({ profile }) => profile !== null).length : 0;
    yield { text, teachers: teachers.length, profilesLeftOut: profiles };
  }
}

/** The byte order mark of UTF-8. Without it, Excel reads CSV in another character set. */
const byteOrderMark = "\ufeff";

const none = { teachers: 0, profilesLeftOut: 0 };

function csvOf(rows: readonly string[][]): string {
  return stringify(rows as string[][]);
}

function cellsOf(teacher: TeacherRow): string[] {
  return exportFields.map((field) => {
    const value = teacher[field];
    return value === null ? "" : typeof value === "string" ? escapeFormula(value) : String(value);
  });
}

function lineOf(teacher: TeacherRow): string {
  const members = Object.fromEntries(exportFields.map((field) => [field, teacher[field]]));
  return `${JSON.stringify({ ...members, profile: teacher.profile })}\n`;
}

/** Sentences that tell the person who asked what the export does not contain. */
const exportNotes: readonly string[] = [
  "The NIN, e-mail address and phone number are not stored; only keyed hashes of them are, which are left out here.",
  "The public lookup keeps no record of who was looked up.",
  "Answers to partners' calls with an Idempotency-Key are kept for 72 hours, to be repeated; they hold the same envelopes.",
];

/**
 * Collects what is stored about the person with a NIN: the record with its history, the partners that verified or watch
 * the record, and the lookups by partners, also lookups from before a record had the NIN.
 * @throws TvsError USAGE for a text that is not a NIN, NOT_KNOWN when nothing is stored
 */
export async function exportPersonalData(
  stores: {
    teachers: TeacherStore;
    attestations: AttestationStore;
    watches: WatchStore;
    blindIndex: BlindIndex;
    clock: Clock;
    kept: RetentionState;
  },
  nin: string,
) {
  if (!ninPattern.test(nin))
    throw new TvsError("USAGE", "standard input must contain one NIN: exactly 11 digits");
  const { teachers, attestations, watches, blindIndex, clock, kept } = stores;
  const ninIndex = blindIndex.nin(nin);
  const teacher = await teachers.findStored({ by: "nin", value: ninIndex });
  const teacherId = teacher?.id ?? null;
  const lookups = await attestations.ofSubject({ teacherId, ninIndex });
  if (teacher === null && lookups.length === 0)
    throw new TvsError("NOT_KNOWN", "nothing is stored about the person with this NIN");
  const ofTeacher = async <T>(read: (id: number) => Promise<T[]>) =>
    teacherId === null ? [] : read(teacherId);
  const events = await ofTeacher(teachers.events);
  const deleted = kept.from === null ? [] : [deletedNote(kept.from)];
  return {
    exportedAt: isoTime(clock.now()),
    record: teacher === null ? null : describeStoredFields(teacher),
    history: (await ofTeacher((id) => readTeacherHistory(teachers, id))).map(describeHistoryLine),
    events: events.map(({ body }) => JSON.parse(body) as object),
    lookups: lookups.sort((a, b) => a.issuedAt - b.issuedAt).map(describeLookup),
    verifiedBy: teacherId === null ? [] : await attestations.verifiedBy(teacherId),
    watchedBy: teacher === null ? [] : await watches.watchersOf(teacher.regNo),
    notes: [...exportNotes, ...deleted],
  };
}

const deletedNote = (from: number) =>
  `Lookups from before ${isoTime(from)} have been deleted; which partners ever verified the record is kept.`;

function describeLookup(one: Attestation) {
  const { verificationId, partnerId, operation, purpose, status, eligible, reference } = one;
  return {
    ...{ verificationId, partnerId, verifiedAt: isoFromSeconds(one.issuedAt) },
    ...{ operation, purpose, status, eligible, reference },
    context: one.context === null ? null : (JSON.parse(one.context) as object),
    // The result as signed for the partner; null for a statement, which signs a hash of its rows.
    result: decodeAttestation(one).claims.result ?? null,
    signature: one.jws,
  };
}
