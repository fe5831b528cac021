import { isCalendarDate } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import type { TeacherFilter, TeacherPage } from "../../src/domain/teachers/list.ts";
import { describeTeacherRow, findTeachers, listTeachers } from "../../src/domain/teachers/list.ts";
import { maxTermLength, searchTermKindOf } from "../../src/domain/teachers/search-term.ts";
import { certificateStatuses, licenseStatuses } from "../../src/partner/contract.ts";
import { type ArgValues, operand, option } from "../command.ts";
import type { OpenedRegister } from "../open.ts";
import { defineRegisterCommand } from "../operator-command.ts";
import { readStdinLine } from "../safe/input-file.ts";
import { choiceOption, limitOption, sinceOption } from "../terminal/lists.ts";
import { exitCodes, hint, printList, printNote, type TableColumns } from "../terminal/output.ts";

export const teacherFilterArgs = {
  status: choiceOption(licenseStatuses, "Only those whose licence has this status today"),
  certificate: choiceOption(certificateStatuses, "Only those whose certificate has this status"),
  "expires-before": option(
    "DATE",
    "Only those whose licence ends before this date (YYYY-MM-DD), revoked or not",
    readDate,
  ),
  "changed-since": sinceOption("Only those whose record was written"),
  state: option("NAME", "Only those of this state", (name) => name.trim()),
} as const;

function readDate(text: string, flag: string): string {
  if (isCalendarDate(text)) return text;
  throw new TvsError("USAGE", `${flag} must be a date that exists, written YYYY-MM-DD`);
}

export function readTeacherFilter(args: ArgValues<typeof teacherFilterArgs>): TeacherFilter {
  const { status: license, certificate, state } = args;
  const { "expires-before": expiresBefore, "changed-since": changedSince } = args;
  return { license, certificate, expiresBefore, changedSince, state };
}

const pageArgs = {
  limit: limitOption(50),
  after: option("REGNO", "Go on behind this registration number, the last that was listed"),
} as const;

type PageArgs = ArgValues<typeof pageArgs> & { json?: boolean | undefined };

const pageOf = ({ limit, after }: PageArgs) => ({ limit, ...(after === undefined ? {} : { after }) });

export const listTeachersCommand = defineRegisterCommand("teachers list", {
  args: { ...teacherFilterArgs, ...pageArgs },
  async act(operator, args) {
    const found = await listTeachers(operator, readTeacherFilter(args), pageOf(args));
    show(args, found, { operator, nobody: "no teachers" });
  },
});

export const findTeachersCommand = defineRegisterCommand("teachers find", {
  args: { term: operand(), ...pageArgs },
  prepare: ({ term }) =>
    // A character has up to four bytes in UTF-8, and the line end has up to two.
    term === "-"
      ? readStdinLine("whom to find", { maxBytes: 4 * maxTermLength + 2, wanted: "one term, in one line" })
      : term,
  async act(operator, args, term) {
    const found = await findTeachers(operator, term, pageOf(args));
    show(args, found, { operator, nobody: "nobody was found" });
    if (found.teachers.length === 0) process.exitCode = exitCodes.refused;
    const isPersonal = ["email", "phone", "elevenDigits"].includes(searchTermKindOf(term.trim()) ?? "");
    if (args.term !== "-" && isPersonal)
      hint(
        args,
        "a shell keeps what is typed; `tvs teachers find -` reads a NIN or a contact from its input",
      );
  },
});

function show(
  args: PageArgs,
  { teachers, next }: TeacherPage,
  { operator: { calendar, clock }, nobody }: { operator: OpenedRegister; nobody: string },
): void {
  const today = calendar.dateAt(clock.now());
  const rows = teachers.map((one) => describeTeacherRow(one, today));
  printList(args, rows, teacherColumns, nobody);
  if (next !== null) printNote(`there are more; the next ones: --after ${next}`);
}

const teacherColumns: TableColumns<ReturnType<typeof describeTeacherRow>> = {
  "REG NO": "regNo",
  "T ID": "tId",
  NAME: "name",
  STATE: "state",
  LICENCE: ({ active, hidden, licenseStatus }) =>
    hidden ? "hidden" : active ? licenseStatus : "deactivated",
  EXPIRES: "licenseExpiryDate",
  CERTIFICATE: "certificateStatus",
};
