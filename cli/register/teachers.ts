import { isoTime } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { readRetentionState } from "../../src/domain/evidence/retention.ts";
import { formatOfFileName, type ImportFormat } from "../../src/domain/import/fields.ts";
import { sweepLicenses } from "../../src/domain/sweep.ts";
import {
  changeTeacher,
  checkChangeReason,
  type HistoryLine,
  parseTeacherReference,
  readTeacherHistory,
  requireTeacher,
  type TeacherAction,
  type TeacherChangeResult,
} from "../../src/domain/teachers/changes.ts";
import { exportPersonalData, exportTeachers } from "../../src/domain/teachers/export.ts";
import {
  describeEvent,
  describeHistoryLine,
  describeTeacher,
  formatRevocation,
} from "../../src/domain/teachers/record.ts";
import { type ArgValues, byName, type commonArgs, makeGroup, operand, option, toggle } from "../command.ts";
import type { OpenedRegister } from "../open.ts";
import { defineRegisterCommand } from "../operator-command.ts";
import { readStdinLine } from "../safe/input-file.ts";
import { prepareOutputFile } from "../safe/output-file.ts";
import { requireConfirmation, yesArg } from "../terminal/confirm.ts";
import {
  formatListTable,
  formatMembers,
  formatTerminalJson,
  hint,
  printNote,
  printResult,
  type TableCell,
  type TableColumns,
} from "../terminal/output.ts";
import { createProgressBar, isProgressShown } from "../terminal/progress.ts";
import { actorArg, actorFilterArg } from "./operator-name.ts";
import { readTeacherFilter, teacherFilterArgs } from "./teachers-list.ts";

/** Chooses the export's format by the file's name. @throws TvsError USAGE for a format that cannot be written */
function formatOf(file: string): ImportFormat {
  if (/\.(xlsx?|ods|json|pdf|zip|gz)$/i.test(file))
    throw new TvsError("USAGE", "the file must be named .csv, or .ndjson or .jsonl with profiles");
  return formatOfFileName(file) ?? "csv";
}

const exportCommand = defineRegisterCommand("teachers export", {
  args: { file: operand(), ...teacherFilterArgs, force: toggle() },
  prepare({ file: path, force }, config) {
    return { format: formatOf(path), output: prepareOutputFile({ flag: "the file", path, force, config }) };
  },
  async act(operator, args, { format, output }) {
    const total = isProgressShown() ? await operator.teachers.count() : 0;
    const bar = createProgressBar({ label: "exporting", unit: "teachers", total });
    const counts = { teachers: 0, profilesLeftOut: 0 };
    const pieces = exportTeachers(operator, { format, filter: readTeacherFilter(args) });
    async function* text(): AsyncGenerator<string> {
      for await (const piece of pieces) {
        counts.teachers += piece.teachers;
        counts.profilesLeftOut += piece.profilesLeftOut;
        bar.show(counts.teachers);
        yield piece.text;
      }
      // A file with only a header would look like the export of an empty register, so such a file is not written.
      if (counts.teachers === 0)
        throw new TvsError("REFUSED", "there is no teacher to write, so no file was written");
    }
    await output.write(text()).finally(bar.stop);
    const { teachers, profilesLeftOut } = counts;
    const written = teachers === 1 ? "1 teacher" : `${teachers} teachers`;
    printResult(args, { file: output.path, format, teachers }, () => `${written} written to ${args.file}`);
    const left = `${profilesLeftOut} were left out; NDJSON (.ndjson) keeps them`;
    if (profilesLeftOut > 0) printNote(`CSV has no column for profiles, and ${left}`);
    hint(args, "what a spreadsheet saves it may have changed: import its file with --dry-run first");
  },
});

/** Maximum bytes on standard input. A NIN and a line end have 13 bytes; a larger input is the wrong file. */
const maxInputBytes = 1024;

const exportSubjectCommand = defineRegisterCommand("teachers export-subject", {
  // Reads the NIN from standard input, because an argument is visible in the shell's history and in `ps`.
  prepare: () => readStdinLine("the NIN", { maxBytes: maxInputBytes, wanted: "one NIN: exactly 11 digits" }),
  async act(operator, args, nin) {
    const { stores, blindIndex, clock } = operator;
    const kept = await readRetentionState(operator);
    const held = await exportPersonalData({ ...stores, blindIndex, clock, kept }, nin);
    printResult(args, held, () => formatTerminalJson(held));
  },
});

/** `revoke` lists the partners that got the answer VALID within this time before the revocation. */
const answeredValidMs = 90 * 86_400_000;

const refArg = {
  ref: operand("Registration number (A/B/C/D) or teacher id (digits)", parseTeacherReference),
} as const;

const reasonArg = {
  reason: {
    ...option(
      "TEXT",
      "For the history, 1 to 500 characters; it is kept for ever, so no personal data: give the number of the decision",
      checkChangeReason,
    ),
    required: true,
  },
} as const;

const showCommand = defineRegisterCommand("teachers show", {
  args: refArg,
  async act(operator, args) {
    const teacher = await requireTeacher(operator.teachers, args.ref);
    const [attestations, events] = await Promise.all([
      operator.attestations.countOfTeacher(teacher.id),
      operator.teachers.events(teacher.id),
    ]);
    const lastEvent = events.map(describeEvent).at(-1) ?? null;
    const described = { ...describeTeacher(teacher, operator), attestations, lastEvent };
    printResult(args, described, () => teacherText(described));
  },
});

type DescribedTeacher = ReturnType<typeof describeTeacher> & {
  readonly attestations: number;
  readonly lastEvent: ReturnType<typeof describeEvent> | null;
};

function teacherText({ profile, lastEvent, attestations, ...teacher }: DescribedTeacher): string {
  const { ninOnFile, ninVerified, emailOnFile, phoneOnFile } = teacher;
  const profileText = () =>
    `${profile?.qualifications.length} qualifications, ${profile?.employment.length} employments`;
  return formatMembers({
    "registration number": teacher.regNo,
    "teacher id": teacher.tId,
    name: teacher.name,
    state: teacher.state,
    category: teacher.category,
    source: teacher.source,
    active: yesNo(teacher.active),
    ...(teacher.hidden ? { hidden: "yes; nobody but the operator finds this record" } : {}),
    "licence today": teacher.licenseStatus,
    "licence announced": teacher.announcedStatus,
    "licence issued": teacher.licenseIssueDate,
    "licence expires": teacher.licenseExpiryDate,
    "days remaining": teacher.daysRemaining,
    revoked: formatRevocation(teacher),
    certificate: teacher.certificateStatus,
    "certificate issued": teacher.certificateIssueDate,
    "NIN on file": ninOnFile ? `yes, ${ninVerified ? "verified" : "not verified"}` : "no",
    "e-mail on file": yesNo(emailOnFile),
    "phone on file": yesNo(phoneOnFile),
    photo: teacher.photoUrl,
    profile: profile === null ? "no" : profileText(),
    attestations,
    "last event": lastEvent === null ? null : `${lastEvent.eventType} at ${lastEvent.occurredAt}`,
    "record changed": `${teacher.updatedAt} (version ${teacher.version})`,
  });
}

function yesNo(flag: boolean): string {
  return flag ? "yes" : "no";
}

type ChangeArgs = ArgValues<typeof refArg & typeof reasonArg & typeof commonArgs> & {
  yes?: boolean | undefined;
};

/** Actions that the operator must confirm, because partners are notified immediately. */
const actionsToConfirm: readonly TeacherAction[] = ["revoke", "deactivate", "hide"];

async function runChange(action: TeacherAction, operator: OpenedRegister, args: ChangeArgs): Promise<void> {
  const { ref: key, reason } = args;
  const { regNo, name } = await requireTeacher(operator.teachers, key);
  if (actionsToConfirm.includes(action))
    await requireConfirmation(args, `${action} ${regNo}, ${name}? Subscribed partners are notified at once.`);
  const changed = await changeTeacher(operator, key, { action, reason });
  const answered = action === "revoke" ? await answeredValid(operator, changed.teacher.id) : undefined;
  const value = { ...describeTeacher(changed.teacher, operator), events: changed.events.map(describeEvent) };
  printResult(args, answered === undefined ? value : { ...value, answeredValid: answered }, () =>
    changeText(changed, answered),
  );
  if (changed.events.length > 0) hint(args, "tvs webhooks list shows which partners were notified of it");
}

type AnsweredValid = Awaited<ReturnType<typeof answeredValid>>;

/** Lists the partners that recently got the answer VALID. Called after the revocation, so that no answer VALID is missed. */
async function answeredValid({ attestations, clock }: OpenedRegister, teacherId: number) {
  const answered = await attestations.answeredValid(teacherId, clock.now() - answeredValidMs);
  return answered.map((one) => ({ ...one, lastAt: isoTime(one.lastAt) }));
}

function changeText(
  { teacher, before, after, events }: TeacherChangeResult,
  answered: AnsweredValid | undefined,
) {
  const isHidden = before.hidden && after.hidden;
  // A change of a deactivated or hidden teacher takes effect when the teacher is reactivated or shown again.
  const again = isHidden ? "shown again" : before.active || after.active ? null : "reactivated";
  const pending = again === null ? "" : `; recorded, and counts when the teacher is ${again}`;
  const hidden = { hidden: moved(yesNo(before.hidden === true), yesNo(after.hidden === true)) };
  const text = formatMembers({
    teacher: `${teacher.regNo}, ${teacher.name}`,
    licence: `${moved(before.license, after.license)}${pending}`,
    certificate: after.certificate,
    active: moved(yesNo(before.active), yesNo(after.active)),
    ...(before.hidden || after.hidden ? hidden : {}),
    events: events.map(({ eventType }) => eventType).join(", ") || "none",
  });
  if (answered === undefined) return text;
  if (answered.length === 0) return `${text}\n\nNo partner got the answer VALID in the last 90 days.`;
  const rows = formatListTable(answered, { PARTNER: "partnerId", TIMES: "times", LAST: "lastAt" });
  return `${text}\n\nPartners that got the answer VALID in the last 90 days:\n${rows}`;
}

function moved(from: string, to: string): string {
  return from === to ? `${to} (unchanged)` : `${from} -> ${to}`;
}

function changeCommand(action: TeacherAction) {
  return defineRegisterCommand(`teachers ${action}`, {
    args: { ...refArg, ...reasonArg, ...(actionsToConfirm.includes(action) ? yesArg : {}), ...actorArg },
    act: (operator, args) => runChange(action, operator, args as ChangeArgs),
  });
}

const historyCommand = defineRegisterCommand("teachers history", {
  args: { ...refArg, ...actorFilterArg },
  async act({ teachers }, args) {
    const teacher = await requireTeacher(teachers, args.ref);
    const all = await readTeacherHistory(teachers, teacher.id);
    const isBy = (line: HistoryLine) => line.type === "change" && line.actor === args.by;
    const lines = args.by === undefined ? all : all.filter(isBy);
    printResult(args, lines.map(describeHistoryLine), () => formatListTable(lines, historyColumns));
  },
});

const movedTo = (from: string | undefined, to: string) =>
  from === undefined || from === to ? to : `${from} -> ${to}`;
/** Makes the column of a value that only changes have. Its cells are empty in the lines of events. */
const changeColumn = (cell: (line: HistoryLine & { type: "change" }) => TableCell) => (line: HistoryLine) =>
  line.type === "event" ? "" : cell(line);

const historyColumns: TableColumns<HistoryLine> = {
  TIME: ({ at }) => isoTime(at),
  WHAT: (line) => (line.type === "event" ? `event ${line.eventType}` : line.action),
  LICENCE: changeColumn(({ before, after }) => movedTo(before?.license, after.license)),
  CERTIFICATE: changeColumn(({ before, after }) => movedTo(before?.certificate, after.certificate)),
  ACTIVE: changeColumn(({ before, after }) =>
    movedTo(before ? yesNo(before.active) : undefined, yesNo(after.active)),
  ),
  BY: changeColumn(({ actor }) => actor),
  "REASON OR EVENT ID": (line) => (line.type === "event" ? line.eventId : line.reason),
};

const sweepCommand = defineRegisterCommand("teachers sweep", {
  args: actorArg,
  async act({ teachers, calendar, clock, actor }, args) {
    const total = isProgressShown() ? await teachers.countDue(calendar.dateAt(clock.now())) : 0;
    const bar = createProgressBar({ label: "announcing", unit: "licences", total });
    const onProgress = (announced: number) => bar.show(announced);
    const result = await sweepLicenses(teachers, { calendar, clock, actor, onProgress }).finally(bar.stop);
    printResult(args, result, () => formatMembers(result));
    if (result.events > 0) hint(args, "tvs webhooks list shows which partners were notified");
  },
});

export const teachersCommand = makeGroup("Import, look up and change teachers' records", {
  import: () => import("./teachers-import.ts").then((file) => file.importTeachersCommand),
  map: () => import("./teachers-map.ts").then((file) => file.mapColumnsCommand),
  list: () => import("./teachers-list.ts").then((file) => file.listTeachersCommand),
  find: () => import("./teachers-list.ts").then((file) => file.findTeachersCommand),
  ...byName(
    exportCommand,
    showCommand,
    ...(["revoke", "reinstate", "deactivate", "reactivate", "hide", "unhide"] as const).map(changeCommand),
    historyCommand,
    sweepCommand,
    exportSubjectCommand,
  ),
});
