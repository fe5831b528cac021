/** Causes events in a sandbox by real changes of a made-up teacher (decision D9.2). */

import type { EventType } from "../../partner/contract.ts";
import type { TeacherStore } from "../../store/teachers.ts";
import { addDays, type CalendarDate, type Clock, type TimeZoneCalendar } from "../clock.ts";
import type { Configuration } from "../configuration.ts";
import { TvsError } from "../errors.ts";
import { announcedStatuses, diffStatuses, type Statuses, statusesOn, type TeacherEvent } from "../events.ts";
import { isAnnouncementDue, planLicenseAnnouncement } from "../sweep.ts";
import { requireTeacher } from "../teachers/changes.ts";
import { type HistoryEntry, planTeacherWrite } from "../teachers/store.ts";
import type { StoredTeacher, TeacherContent, TeacherKey } from "../teachers/teachers.ts";
import { defaultTeacher } from "./teachers.ts";

type TriggerDependencies = {
  readonly teachers: TeacherStore;
  readonly calendar: TimeZoneCalendar;
  readonly clock: Clock;
  readonly actor: string;
};

export type TriggeredEvent = {
  readonly teacher: StoredTeacher;
  readonly event: TeacherEvent;
  /** Events of the preparing changes, oldest first. */
  readonly before: readonly TeacherEvent[];
  readonly from: Statuses;
  readonly to: Statuses;
};

type Edit = {
  readonly action: HistoryEntry["action"];
  readonly set: (teacher: StoredTeacher, today: CalendarDate) => Partial<TeacherContent>;
};

const notRevoked = { licenseRevokedOn: null, licenseRevokedReason: null, licenseRevokedBy: null } as const;
const reason = "tvs trigger";
const licenseDays = 365;

/** Makes the licence valid today. An issue or expiry date with which the licence is valid today stays. */
function validLicense(teacher: StoredTeacher, today: CalendarDate): Partial<TeacherContent> {
  const { licenseIssueDate: issue, licenseExpiryDate: expiry } = teacher;
  return {
    ...notRevoked,
    active: true,
    licenseIssueDate: issue !== null && issue <= today ? issue : today,
    licenseExpiryDate: expiry !== null && expiry >= today ? expiry : addDays(today, licenseDays),
  };
}

function endedLicense({ licenseIssueDate: issue }: StoredTeacher, today: CalendarDate) {
  const yesterday = addDays(today, -1);
  const issued = issue !== null && issue <= yesterday ? issue : addDays(yesterday, -licenseDays);
  return { licenseIssueDate: issued, licenseExpiryDate: yesterday };
}

const edits = {
  license: { action: "import", set: validLicense },
  noLicense: {
    action: "import",
    set: () => ({ ...notRevoked, active: true, licenseIssueDate: null, licenseExpiryDate: null }),
  },
  end: { action: "import", set: endedLicense },
  revoke: {
    action: "revoke",
    set: (_, on) => ({ licenseRevokedOn: on, licenseRevokedReason: reason, licenseRevokedBy: "operator" }),
  },
  reinstate: { action: "reinstate", set: validLicense },
  verify: {
    action: "import",
    set: ({ certificateIssueDate }, today) => ({
      certificateStatus: "VERIFIED",
      certificateIssueDate: certificateIssueDate ?? today,
    }),
  },
  unverify: { action: "import", set: () => ({ certificateStatus: "CLAIMED" }) },
  deactivate: { action: "deactivate", set: () => ({ active: false }) },
  reactivate: { action: "reactivate", set: () => ({ active: true }) },
} as const satisfies Record<string, Edit>;

/** For each event, the change that causes the event, and the changes that may be needed before this change. */
const causeOf: Readonly<Record<EventType, { readonly change: Edit; readonly first: readonly Edit[] }>> = {
  "license.verified": { change: edits.license, first: [edits.noLicense] },
  "license.expired": { change: edits.end, first: [edits.license] },
  "license.revoked": { change: edits.revoke, first: [edits.license] },
  "license.reinstated": { change: edits.reinstate, first: [edits.license, edits.revoke] },
  "certificate.verified": { change: edits.verify, first: [edits.unverify] },
  "certificate.revoked": { change: edits.unverify, first: [edits.verify] },
  "teacher.deactivated": { change: edits.deactivate, first: [edits.reactivate] },
};

const maxAttempts = 10;

/**
 * Causes an event. The change, the event and its deliveries are one commit, as when an operator or an extract changes a
 * teacher. If the teacher's state does not allow the event, preparing changes come first and are announced too.
 * @throws TvsError NOT_KNOWN, REFUSED for a hidden teacher, STORE_BUSY after ten conflicts
 */
export async function triggerEvent(
  dependencies: TriggerDependencies,
  { eventType, key }: { eventType: EventType; key: TeacherKey },
): Promise<TriggeredEvent> {
  const { teachers, calendar, clock } = dependencies;
  const { change, first } = causeOf[eventType];
  const before: TeacherEvent[] = [];
  let left = first;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const teacher = await requireTeacher(teachers, key);
    if (teacher.hidden)
      throw new TvsError("REFUSED", "the teacher is hidden: tvs teachers unhide shows them again");
    const now = clock.now();
    const today = calendar.dateAt(now);
    if (isAnnouncementDue(teacher, today)) {
      const step = planLicenseAnnouncement(teacher, dependencies);
      if ((await teachers.apply([step]))[0]) before.push(...step.events);
      continue;
    }
    const causes = causedBy(change, teacher, today).includes(eventType);
    const edit = causes ? change : left[0];
    if (edit === undefined) break;
    // Each change of a teacher gets a later time than the change before, so that a receiver can order the events.
    const at = Math.max(now, teacher.updatedAt + 1);
    const content = { ...teacher, ...edit.set(teacher, today) };
    const write = planTeacherWrite(teacher, content, { ...dependencies, action: edit.action, reason, at });
    if (!(await teachers.apply([write]))[0]) continue;
    if (!causes) {
      left = left.slice(1);
      before.push(...write.events);
      continue;
    }
    const event = write.events.find((one) => one.eventType === eventType);
    if (event === undefined) break;
    const [from, to] = [announcedStatuses(teacher), statusesOn(content, today)];
    return { teacher: await requireTeacher(teachers, key), event, before, from, to };
  }
  throw new TvsError("STORE_BUSY", "the teacher is being changed by others; try again");
}

/** Revokes the licence of the default teacher, for the getting-started page. @throws TvsError STORE_BUSY */
export async function triggerRevocation(dependencies: {
  readonly stores: { readonly teachers: TeacherStore };
  readonly configuration: Pick<Configuration, "current">;
  readonly clock: Clock;
}) {
  const { stores, configuration, clock } = dependencies;
  const { calendar } = configuration.current();
  const key = { by: "regNo", value: defaultTeacher.regNo } as const;
  const { event } = await triggerEvent(
    { teachers: stores.teachers, calendar, clock, actor: "service" },
    { eventType: "license.revoked", key },
  );
  return { eventId: event.eventId, eventType: event.eventType };
}

function causedBy({ set }: Edit, teacher: StoredTeacher, today: CalendarDate): EventType[] {
  const after = statusesOn({ ...teacher, ...set(teacher, today) }, today);
  return diffStatuses(announcedStatuses(teacher), after).map(({ eventType }) => eventType);
}
