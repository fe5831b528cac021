import { type Clock, isoTime, type TimeZoneCalendar } from "../clock.ts";
import type { TeacherEvent } from "../events.ts";
import type { HistoryLine } from "./changes.ts";
import { describeLicenseOn, licenseStatusOn, type StoredTeacher } from "./teachers.ts";

/** Describes every stored field. For NIN and contacts, the description says only whether they are on file. */
export function describeStoredFields(teacher: StoredTeacher) {
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

export function describeTeacher(
  teacher: StoredTeacher,
  { calendar, clock }: { calendar: TimeZoneCalendar; clock: Clock },
) {
  const today = calendar.dateAt(clock.now());
  const { daysRemaining } = describeLicenseOn(teacher, today);
  return { ...describeStoredFields(teacher), licenseStatus: licenseStatusOn(teacher, today), daysRemaining };
}

type Revocation = Pick<StoredTeacher, "licenseRevokedOn" | "licenseRevokedReason" | "licenseRevokedBy">;

export function formatRevocation(teacher: Revocation): string {
  const { licenseRevokedOn, licenseRevokedReason, licenseRevokedBy } = teacher;
  if (licenseRevokedOn === null) return "no";
  const by = licenseRevokedBy === "operator" ? "the operator" : "an extract";
  return `${licenseRevokedOn}, ${licenseRevokedReason ?? "no reason given"} (by ${by})`;
}

export function describeEvent({ eventId, eventType, occurredAt }: Omit<TeacherEvent, "body">) {
  return { eventId, eventType, occurredAt: isoTime(occurredAt) };
}

export function describeHistoryLine(line: HistoryLine) {
  const { at, ...rest } = line;
  return { at: isoTime(at), ...rest };
}
