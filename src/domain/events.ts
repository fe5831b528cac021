import { v7 as uuidv7 } from "uuid";
import type { CertificateStatus, EventType, LicenseStatus, WebhookEvent } from "../partner/contract.ts";
import { type CalendarDate, isoTime } from "./clock.ts";
import { licenseStatusOn, type Teacher } from "./teachers/teachers.ts";

/** A status change that partners are told of. `body` is fixed here: every delivery carries these bytes. */
export type TeacherEvent = {
  readonly eventId: string;
  readonly eventType: EventType;
  /** Milliseconds since the epoch. */
  readonly occurredAt: number;
  readonly body: string;
};

/** The statuses of a record on a date, on both axes. */
export type Statuses = {
  license: LicenseStatus;
  certificate: CertificateStatus;
  active: boolean;
  /** Nobody finds the record, and so neither licence nor certificate. */
  hidden?: true;
};

type StatusFields = Parameters<typeof licenseStatusOn>[0] & Pick<Teacher, "certificateStatus">;

/** The statuses before a change. A newcomer's are NOT_FOUND; one who arrives deactivated is no deactivation. */
export function statusesBefore(teacher: Teacher | null, after: Statuses): Statuses {
  if (teacher !== null) return announcedStatuses(teacher);
  return { ...after, license: "NOT_FOUND", certificate: "NOT_FOUND" };
}

/** What partners were last told: the calendar changes a licence without anybody having said so. */
export function announcedStatuses(teacher: Teacher): Statuses {
  return statusesWith(teacher, teacher.announcedStatus);
}

export function statusesOn(teacher: StatusFields, today: CalendarDate): Statuses {
  return statusesWith(teacher, licenseStatusOn(teacher, today));
}

function statusesWith({ certificateStatus, active, hidden }: StatusFields, license: LicenseStatus): Statuses {
  if (hidden) return { license, certificate: "NOT_FOUND", active, hidden };
  return { license, certificate: certificateStatus, active };
}

type Transition = { eventType: EventType; previousStatus: LicenseStatus | CertificateStatus };

/**
 * The events that a change causes, licence first (decision D7.5). A deactivation and a hiding are announced alone; what
 * changes while a record is hidden is not announced.
 */
export function transitions(before: Statuses, after: Statuses): Transition[] {
  if (before.hidden && after.hidden) return [];
  if (after.hidden || (before.active && !before.hidden && !after.active)) {
    return [{ eventType: "teacher.deactivated", previousStatus: before.license }];
  }
  const license = licenseEvent(before, after);
  const certificate = certificateEvent(before.certificate, after.certificate);
  return [
    ...(license === null ? [] : [{ eventType: license, previousStatus: before.license }]),
    ...(certificate === null ? [] : [{ eventType: certificate, previousStatus: before.certificate }]),
  ];
}

function licenseEvent(before: Statuses, after: Statuses): EventType | null {
  if (before.license === after.license) return null;
  switch (after.license) {
    case "VALID":
      return before.license === "NOT_FOUND" && before.active && !before.hidden
        ? "license.verified"
        : "license.reinstated";
    case "EXPIRED":
      return before.license === "VALID" || before.license === "REVOKED" ? "license.expired" : null;
    case "REVOKED":
      return before.license === "VALID" || before.license === "EXPIRED" ? "license.revoked" : null;
    case "NOT_FOUND":
      return null;
  }
}

function certificateEvent(before: CertificateStatus, after: CertificateStatus): EventType | null {
  if (before === after) return null;
  if (after === "VERIFIED") return "certificate.verified";
  return before === "VERIFIED" ? "certificate.revoked" : null;
}

/** Makes events with their ids and exact bytes. @param subject the public identifiers, both null in a test delivery */
export function createEvents(
  before: Statuses,
  after: Statuses,
  subject: { tId: number | null; regNo: string | null; occurredAt: number },
): TeacherEvent[] {
  return transitions(before, after).map(({ eventType, previousStatus }) =>
    createEvent(eventType, { ...subject, statuses: after, previousStatus }),
  );
}

export function createEvent(
  eventType: EventType,
  facts: {
    tId: number | null;
    regNo: string | null;
    occurredAt: number;
    statuses: Statuses;
    previousStatus: LicenseStatus | CertificateStatus;
  },
): TeacherEvent {
  const event: WebhookEvent = {
    eventId: uuidv7(),
    eventType,
    occurredAt: isoTime(facts.occurredAt),
    data: {
      tId: facts.tId,
      regNo: facts.regNo,
      licenseStatus: facts.statuses.license,
      certificateStatus: facts.statuses.certificate,
      previousStatus: facts.previousStatus,
    },
  };
  return { eventId: event.eventId, eventType, occurredAt: facts.occurredAt, body: JSON.stringify(event) };
}
