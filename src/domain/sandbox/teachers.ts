import written from "../../../data/teachers-to-try.json" with { type: "json" };
import type { Profile } from "../../partner/contract.ts";
import { addDays, type CalendarDate } from "../clock.ts";
import type { Teacher } from "../teachers/teachers.ts";

/** A made-up teacher in one state, such as revoked, or with one trap: a record that partners' programs may misread. */
export type SandboxTeacher = Omit<Teacher, "id" | "version" | "announcedStatus" | "profile"> &
  Readonly<Record<"nin" | "email" | "phone", string | null>> & {
    readonly shows: string;
    readonly profile: NonNullable<Teacher["profile"]>;
  };

type OwnFields = Partial<SandboxTeacher> & Pick<SandboxTeacher, "shows" | "name">;

export const demoPartner = "demo";

/** In `courses` and `posts` every nullable member is null at least once, so that partners' programs meet null. */
const { usual, states, traps, courses, posts } = written as {
  readonly usual: Pick<SandboxTeacher, keyof typeof written.usual>;
  readonly states: readonly OwnFields[];
  readonly traps: readonly OwnFields[];
  readonly courses: Profile["qualifications"];
  readonly posts: Profile["employment"];
};

/** Takes two elements of a list, from index `first` on, starting over at the list's end. */
function takeTwo<T>(list: readonly T[], first: number): T[] {
  return [0, 1].flatMap((offset) => list[(first + offset) % list.length] ?? []);
}

function sandboxTeacher(teacher: OwnFields, index: number): SandboxTeacher {
  const number = index + 1;
  const digits = String(number).padStart(2, "0");
  return {
    ...usual,
    hidden: false,
    regNo: `TR/2019/LA/0000${digits}`,
    tId: 1000 + number,
    nin: `999000000${digits}`,
    email: `teacher${digits}@example.org`,
    phone: `+2348030000${digits.padStart(3, "0")}`,
    profile: { qualifications: takeTwo(courses, index), employment: takeTwo(posts, index) },
    certificateIssueDate: teacher.certificateStatus === "NOT_FOUND" ? null : "2018-11-05",
    licenseRevokedReason: teacher.licenseRevokedOn == null ? null : "professional misconduct",
    ...teacher,
  };
}

/** A teacher for each state, then one for each trap, with fixed identifiers. NINs that begin with 999 are invented. */
export const sandboxTeachers: readonly SandboxTeacher[] = [...states, ...traps].map(sandboxTeacher);

export const statusExampleTeachers = sandboxTeachers.slice(0, states.length);
export const trapExampleTeachers = sandboxTeachers.slice(states.length);

/** The default teacher of `tvs trigger`, and the teacher whose licence ends soon. */
export const [defaultTeacher, expiringTeacher] = trapExampleTeachers as [SandboxTeacher, SandboxTeacher];

const soonDays = 20;

/** Makes an extract in NDJSON, because CSV has no profiles. `expiringTeacher`'s licence ends 20 days after `today`. */
export function makeSandboxExtract(teachers: readonly SandboxTeacher[], today: CalendarDate): string {
  const rows = teachers.map(({ shows: _shows, ...teacher }) => ({
    ...teacher,
    ...(teacher.regNo === expiringTeacher.regNo ? { licenseExpiryDate: addDays(today, soonDays) } : {}),
  }));
  return `${rows.map((row) => JSON.stringify(row)).join("\n")}\n`;
}
