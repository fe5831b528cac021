import { v7 as uuidv7 } from "uuid";
import type { CertificateStatus, EventType, LicenseStatus, WebhookEvent } from "../partner/contract.ts";
import { type CalendarDate, isoTime } from "./clock.ts";
import { licenseStatusOn, type Teacher } from "./teachers/teachers.ts";

/** An event about a teacher's change of status. Every delivery of the event sends the bytes of `body`. */
export type TeacherEvent = {
  readonly eventId: string;
  readonly eventType: EventType;
  /** Milliseconds since the epoch. */
  readonly occurredAt: number;
  readonly body: string;
};

export type Statuses = {
  license: LicenseStatus;
  certificate: CertificateStatus;
  active: boolean;
  /** Present if the record is hidden: only the operator's commands and console show it. */
  hidden?: true;
};

type StatusFields = Parameters<typeof licenseStatusOn>[0] & Pick<Teacher, "certificateStatus">;

/** Gives the statuses before a change. A new teacher had no licence and no certificate; `active` is as in `after`. */
export function statusesBefore(teacher: Teacher | null, after: Statuses): Statuses {
  if (teacher !== null) return announcedStatuses(teacher);
  return { ...after, license: "NOT_FOUND", certificate: "NOT_FOUND" };
}

/** Gives the statuses that events last announced. The licence may have begun or expired after the announcement. */
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
 * Lists the events that a change causes, the licence's event first (decision D7.5). A deactivation or hiding causes
 * `teacher.deactivated` alone. Changes of a hidden record cause no event.
 */
export function diffStatuses(before: Statuses, after: Statuses): Transition[] {
  if (before.hidden && after.hidden) return [];
  if (after.hidden || (before.active && !before.hidden && !after.active))
    return [{ eventType: "teacher.deactivated", previousStatus: before.license }];
  return [
    { eventType: licenseEvent(before, after), previousStatus: before.license },
    { eventType: certificateEvent(before, after), previousStatus: before.certificate },
  ].filter((one): one is Transition => one.eventType !== null);
}

function licenseEvent(before: Statuses, after: Statuses): EventType | null {
  const [from, to] = [before.license, after.license];
  const isFirst = from === "NOT_FOUND" && before.active && !before.hidden;
  if (from === to || to === "NOT_FOUND") return null;
  if (to === "VALID") return isFirst ? "license.verified" : "license.reinstated";
  if (from === "NOT_FOUND") return null;
  return to === "EXPIRED" ? "license.expired" : "license.revoked";
}

function certificateEvent({ certificate: from }: Statuses, { certificate: to }: Statuses): EventType | null {
  if (from === to) return null;
  if (to === "VERIFIED") return "certificate.verified";
  return from === "VERIFIED" ? "certificate.revoked" : null;
}

type Occurrence = { readonly tId: number | null; readonly regNo: string | null; readonly occurredAt: number };

/** Makes the events of a change, each with its id and exact bytes. */
export function eventsOfChange(before: Statuses, after: Statuses, subject: Occurrence): TeacherEvent[] {
  return diffStatuses(before, after).map((transition) => createEvent(transition, after, subject));
}

/** Makes one event. A test event has no teacher id and no registration number. */
export function createEvent(
  { eventType, previousStatus }: Transition,
  { license, certificate }: Pick<Statuses, "license" | "certificate">,
  { tId, regNo, occurredAt }: Occurrence,
): TeacherEvent {
  const event: WebhookEvent = {
    eventId: uuidv7(),
    eventType,
    occurredAt: isoTime(occurredAt),
    data: { tId, regNo, licenseStatus: license, certificateStatus: certificate, previousStatus },
  };
  return { eventId: event.eventId, eventType, occurredAt, body: JSON.stringify(event) };
}
