import { isoTime } from "../../src/domain/clock.ts";
import { sweep } from "../../src/domain/sweep.ts";
import {
  changeTeacher,
  checkReason,
  type HistoryLine,
  requireTeacher,
  type TeacherAction,
  type TeacherChange,
  teacherHistory,
  teacherKeyOf,
} from "../../src/domain/teachers/changes.ts";
import {
  describeEvent,
  describeHistoryLine,
  describeTeacher,
  revocationText,
  teacherActivity,
} from "../../src/domain/teachers/record.ts";
import { type ArgsOf, type commonArgs, group, operand, option } from "../command.ts";
import type { Operator } from "../open.ts";
import { operatorCommand } from "../operator-command.ts";
import { confirm, yesArg } from "../terminal/confirm.ts";
import { type Cell, hint, listing, print, record, table } from "../terminal/output.ts";
import { createBar, hasProgress } from "../terminal/progress.ts";
import { byArg, byFilterArg } from "./operator-name.ts";

/** How far back `revoke` looks for partners that were told VALID. */
const toldValidMs = 90 * 86_400_000;

const refArg = {
  ref: operand("Registration number (A/B/C/D) or teacher id (digits)", teacherKeyOf),
} as const;

const reasonArg = {
  reason: {
    ...option(
      "TEXT",
      "For the history, 1 to 500 characters; it is kept for ever, so no personal data: give the number of the decision",
      checkReason,
    ),
    required: true,
  },
} as const;

type Described = ReturnType<typeof describeTeacher>;

const showCommand = operatorCommand({
  description: "Show a teacher's record, its statuses today and what partners were last told",
  example: "tvs teachers show TR/2019/LA/000123\n  tvs teachers show 100123",
  args: refArg,
  async act(operator, args) {
    const teacher = await requireTeacher(operator.teachers, args.ref);
    const described = {
      ...describeTeacher(teacher, operator),
      ...(await teacherActivity(operator, teacher.id)),
    };
    print(args, described, () => teacherText(described));
  },
});

function teacherText({
  profile,
  lastEvent,
  attestations,
  ...teacher
}: Described & Awaited<ReturnType<typeof teacherActivity>>) {
  const { ninOnFile, ninVerified, emailOnFile, phoneOnFile } = teacher;
  return record({
    "registration number": teacher.regNo,
    "teacher id": teacher.tId,
    name: teacher.name,
    state: teacher.state,
    category: teacher.category,
    source: teacher.source,
    active: yesNo(teacher.active),
    "licence today": teacher.licenseStatus,
    "licence announced": teacher.announcedStatus,
    "licence issued": teacher.licenseIssueDate,
    "licence expires": teacher.licenseExpiryDate,
    "days remaining": teacher.daysRemaining,
    revoked: revocationText(teacher),
    certificate: teacher.certificateStatus,
    "certificate issued": teacher.certificateIssueDate,
    "NIN on file": ninOnFile ? `yes, ${ninVerified ? "verified" : "not verified"}` : "no",
    "e-mail on file": yesNo(emailOnFile),
    "phone on file": yesNo(phoneOnFile),
    photo: teacher.photoUrl,
    profile:
      profile === null
        ? "no"
        : `${profile.qualifications.length} qualifications, ${profile.employment.length} employments`,
    attestations,
    "last event": lastEvent === null ? null : `${lastEvent.eventType} at ${lastEvent.occurredAt}`,
    "record changed": `${teacher.updatedAt} (version ${teacher.version})`,
  });
}

function yesNo(flag: boolean): string {
  return flag ? "yes" : "no";
}

/** What a change is called with: where it takes nothing away, without a reason and a question. */
type ChangeArgs = ArgsOf<typeof refArg & typeof commonArgs> & { reason?: string; yes?: boolean | undefined };

async function change(action: TeacherAction, operator: Operator, args: ChangeArgs): Promise<void> {
  const { ref: key, reason = null } = args;
  const { regNo, name } = await requireTeacher(operator.teachers, key);
  // What takes a licence away can be taken back, but not what partners were told meanwhile.
  if (action === "revoke" || action === "deactivate")
    await confirm(args, `${action} ${regNo}, ${name}? Subscribed partners are told at once.`);
  const changed = await changeTeacher(operator, key, { action, reason });
  const told = action === "revoke" ? await toldValid(operator, changed.teacher.id) : undefined;
  const value = { ...describeTeacher(changed.teacher, operator), events: changed.events.map(describeEvent) };
  print(args, told === undefined ? value : { ...value, toldValid: told }, () => changeText(changed, told));
  if (changed.events.length > 0) hint(args, "tvs webhooks list shows which partners were told of it");
}

type ToldValid = Awaited<ReturnType<typeof toldValid>>;

/**
 * The partners who were told VALID. Asked after the change, so that an answer which left just before it is not
 * missed.
 */
async function toldValid({ attestations, clock }: Operator, teacherId: number) {
  const told = await attestations.toldValid(teacherId, clock.now() - toldValidMs);
  return told.map(({ lastAt, ...partner }) => ({ ...partner, lastAt: isoTime(lastAt) }));
}

function changeText({ teacher, before, after, events }: TeacherChange, told: ToldValid | undefined): string {
  const moved = (from: string, to: string) => (from === to ? `${to} (unchanged)` : `${from} -> ${to}`);
  // A revocation shows in no status of a teacher who is out of service.
  const pending =
    before.active || after.active ? "" : "; recorded, and counts when the teacher is reactivated";
  const text = record({
    teacher: `${teacher.regNo}, ${teacher.name}`,
    licence: `${moved(before.license, after.license)}${pending}`,
    certificate: after.certificate,
    active: moved(yesNo(before.active), yesNo(after.active)),
    events: events.map(({ eventType }) => eventType).join(", ") || "none",
  });
  if (told === undefined) return text;
  if (told.length === 0) return `${text}\n\nNo partner was told VALID in the last 90 days.`;
  const rows = listing(told, { PARTNER: "partnerId", TIMES: "times", LAST: "lastAt" });
  return `${text}\n\nTold VALID in the last 90 days:\n${rows}`;
}

const revokeCommand = operatorCommand({
  description: "Revoke a teacher's licence today, and say which partners were told VALID in the last 90 days",
  example: 'tvs teachers revoke TR/2019/LA/000123 --reason "Decision 2026/14 of the disciplinary board"',
  args: { ...refArg, ...reasonArg, ...yesArg, ...byArg },
  act: (operator, args) => change("revoke", operator, args),
});

const reinstateCommand = operatorCommand({
  description:
    "Undo a revocation; the licence is VALID or EXPIRED again by its dates. A revocation made by `revoke` is lifted only here, or by teachers import --lift-revocations",
  example: "tvs teachers reinstate TR/2019/LA/000123",
  args: { ...refArg, ...byArg },
  act: (operator, args) => change("reinstate", operator, args),
});

const deactivateCommand = operatorCommand({
  description: "Take a teacher out of service; the record is still found, but without a licence",
  example: 'tvs teachers deactivate 100123 --reason "Duplicate of another record, decision 2026/15"',
  args: { ...refArg, ...reasonArg, ...yesArg, ...byArg },
  act: (operator, args) => change("deactivate", operator, args),
});

const reactivateCommand = operatorCommand({
  description:
    "Put a deactivated teacher back in service; the licence status follows from its dates and any revocation",
  example: "tvs teachers reactivate 100123",
  args: { ...refArg, ...byArg },
  act: (operator, args) => change("reactivate", operator, args),
});

const historyCommand = operatorCommand({
  description: "List every change of a teacher's record and every event that partners were told, in order",
  example: "tvs teachers history TR/2019/LA/000123\n  tvs teachers history 100123 --by alice --json",
  args: { ...refArg, ...byFilterArg },
  async act({ teachers }, args) {
    const teacher = await requireTeacher(teachers, args.ref);
    const all = await teacherHistory(teachers, teacher.id);
    // An event is what followed from a change, and nobody's own doing.
    const isBy = (line: HistoryLine) => line.type === "change" && line.actor === args.by;
    const lines = args.by === undefined ? all : all.filter(isBy);
    const head = ["TIME", "WHAT", "LICENCE", "CERTIFICATE", "ACTIVE", "BY", "REASON OR EVENT ID"];
    print(args, lines.map(describeHistoryLine), () => table(head, lines.map(historyRow)));
  },
});

function historyRow(line: HistoryLine): Cell[] {
  if (line.type === "event")
    return [isoTime(line.at), `event ${line.eventType}`, "", "", "", "", line.eventId];
  const { at, action, actor, reason, before, after } = line;
  const moved = (from: string | undefined, to: string) =>
    from === undefined || from === to ? to : `${from} -> ${to}`;
  return [
    isoTime(at),
    action,
    moved(before?.license, after.license),
    moved(before?.certificate, after.certificate),
    moved(before === null ? undefined : yesNo(before.active), yesNo(after.active)),
    actor,
    reason,
  ];
}

const sweepCommand = operatorCommand({
  description:
    "Announce the licences that expired or became valid by date; a running service does this after midnight",
  example: "tvs teachers sweep",
  args: byArg,
  async act({ teachers, calendar, clock, actor }, args) {
    const total = hasProgress() ? await teachers.countDue(calendar.dateAt(clock.now())) : 0;
    const bar = createBar({ label: "announcing", unit: "licences", total });
    const onProgress = (announced: number) => bar.show(announced);
    const result = await sweep(teachers, { calendar, clock, actor, onProgress }).finally(bar.stop);
    print(args, result, () => record(result));
    if (result.events > 0) hint(args, "tvs webhooks list shows which partners were told");
  },
});

export const teachersCommand = group("Import, look up and change teachers' records", {
  import: () => import("./teachers-import.ts").then((file) => file.importCommand),
  map: () => import("./teachers-map.ts").then((file) => file.mapCommand),
  list: () => import("./teachers-list.ts").then((file) => file.listCommand),
  find: () => import("./teachers-list.ts").then((file) => file.findCommand),
  export: () => import("./teachers-export.ts").then((file) => file.exportCommand),
  show: async () => showCommand,
  revoke: async () => revokeCommand,
  reinstate: async () => reinstateCommand,
  deactivate: async () => deactivateCommand,
  reactivate: async () => reactivateCommand,
  history: async () => historyCommand,
  sweep: async () => sweepCommand,
  "export-subject": () => import("./export-subject.ts").then((file) => file.exportSubjectCommand),
});
