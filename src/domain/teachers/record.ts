import type { AttestationStore } from "../attestations.ts";
import { type Calendar, type Clock, isoTime } from "../clock.ts";
import type { TeacherEvent } from "../events.ts";
import type { HistoryLine } from "./changes.ts";
import type { TeacherStore } from "./store.ts";
import { licenseOn, licenseStatusOn, type StoredTeacher } from "./teachers.ts";

/** Every stored field. Of the NIN and the contacts only keyed hashes are stored: here, whether there are any. */
export function describeStored(teacher: StoredTeacher) {
  const { id, ninIndex, emailIndex, phoneIndex, updatedAt, ...fields } = teacher;
  return {
    recordId: id,
    regNo: fields.regNo,
    tId: fields.tId,
    name: fields.name,
    ninOnFile: ninIndex !== null,
    ninVerified: fields.ninVerified,
    emailOnFile: emailIndex !== null,
    phoneOnFile: phoneIndex !== null,
    state: fields.state,
    category: fields.category,
    source: fields.source,
    active: fields.active,
    certificateStatus: fields.certificateStatus,
    certificateIssueDate: fields.certificateIssueDate,
    licenseIssueDate: fields.licenseIssueDate,
    licenseExpiryDate: fields.licenseExpiryDate,
    licenseRevokedOn: fields.licenseRevokedOn,
    licenseRevokedReason: fields.licenseRevokedReason,
    licenseRevokedBy: fields.licenseRevokedBy,
    photoUrl: fields.photoUrl,
    profile: fields.profile,
    announcedStatus: fields.announcedStatus,
    version: fields.version,
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
  if (line.type === "event") {
    return { at: isoTime(line.at), type: line.type, eventType: line.eventType, eventId: line.eventId };
  }
  const { at, type, action, actor, reason, before, after } = line;
  return { at: isoTime(at), type, action, actor, reason, before, after };
}
