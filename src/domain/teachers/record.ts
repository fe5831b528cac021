import type { AttestationStore } from "../../store/evidence/attestations.ts";
import type { TeacherStore } from "../../store/teachers.ts";
import { type Calendar, type Clock, isoTime } from "../clock.ts";
import type { TeacherEvent } from "../events.ts";
import type { HistoryLine } from "./changes.ts";
import { licenseOn, licenseStatusOn, type StoredTeacher } from "./teachers.ts";

/** Every stored field. Of the NIN and the contacts only keyed hashes are stored: here, whether there are any. */
export function describeStored(teacher: StoredTeacher) {
  const { id, ninIndex, emailIndex, phoneIndex, updatedAt, ...fields } = teacher;
  return {
    recordId: id,
    ...fields,
    ninOnFile: ninIndex !== null,
    emailOnFile: emailIndex !== null,
    phoneOnFile: phoneIndex !== null,
    updatedAt: isoTime(updatedAt),
  };
}

/** The record as the operator needs it: what is stored, and what partners are told today. */
export function describeTeacher(
  teacher: StoredTeacher,
  { calendar, clock }: { calendar: Calendar; clock: Clock },
) {
  const today = calendar.dateAt(clock.now());
  const { daysRemaining } = licenseOn(teacher, today);
  return { ...describeStored(teacher), licenseStatus: licenseStatusOn(teacher, today), daysRemaining };
}

type Revocation = Pick<StoredTeacher, "licenseRevokedOn" | "licenseRevokedReason" | "licenseRevokedBy">;

/** Whether the licence was revoked: when, why and by whom. */
export function revocationText(teacher: Revocation): string {
  const { licenseRevokedOn, licenseRevokedReason, licenseRevokedBy } = teacher;
  if (licenseRevokedOn === null) return "no";
  const by = licenseRevokedBy === "operator" ? "the operator" : "an extract";
  return `${licenseRevokedOn}, ${licenseRevokedReason ?? "no reason given"} (by ${by})`;
}

export function describeEvent({ eventId, eventType, occurredAt }: Omit<TeacherEvent, "body">) {
  return { eventId, eventType, occurredAt: isoTime(occurredAt) };
}

/** What was attested of a teacher and what partners were told last. */
export async function teacherActivity(
  stores: { teachers: TeacherStore; attestations: AttestationStore },
  teacherId: number,
) {
  const [attestations, events] = await Promise.all([
    stores.attestations.countOfTeacher(teacherId),
    stores.teachers.events(teacherId),
  ]);
  const last = events.at(-1);
  return { attestations, lastEvent: last === undefined ? null : describeEvent(last) };
}

/** A line of the history with its times in ISO 8601. */
export function describeHistoryLine(line: HistoryLine) {
  const { at, ...rest } = line;
  return { at: isoTime(at), ...rest };
}
