import written from "../../../data/teachers-to-try.json" with { type: "json" };
import type { Profile } from "../../partner/contract.ts";
import { addDays, type CalendarDate } from "../clock.ts";
import type { Teacher } from "../teachers/teachers.ts";

/** A made-up teacher that stands for one state, or for something that programs stumble over. */
export type SandboxTeacher = Omit<Teacher, "id" | "version" | "announcedStatus" | "profile"> &
  Readonly<Record<"nin" | "email" | "phone", string | null>> & {
    readonly shows: string;
    readonly profile: NonNullable<Teacher["profile"]>;
  };

type Peculiar = Partial<SandboxTeacher> & Pick<SandboxTeacher, "shows" | "name">;

/** The partner in whose name a sandbox is tried. */
export const demoPartner = "demo";

/** What is usual, and what is not. Of the courses and posts, every nullable member is null somewhere. */
const { usual, states, traps, courses, posts } = written as {
  readonly usual: Pick<SandboxTeacher, keyof typeof written.usual>;
  readonly states: readonly Peculiar[];
  readonly traps: readonly Peculiar[];
  readonly courses: Profile["qualifications"];
  readonly posts: Profile["employment"];
};

/** Two of a list, beginning at another place for each teacher. */
function two<T>(list: readonly T[], first: number): T[] {
  return [0, 1].flatMap((offset) => list[(first + offset) % list.length] ?? []);
}

function sandboxTeacher(teacher: Peculiar, index: number): SandboxTeacher {
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
    profile: { qualifications: two(courses, index), employment: two(posts, index) },
    certificateIssueDate: teacher.certificateStatus === "NOT_FOUND" ? null : "2018-11-05",
    licenseRevokedReason: teacher.licenseRevokedOn == null ? null : "professional misconduct",
    ...teacher,
  };
}

/** One teacher for every state, then one for every trap, with fixed numbers. NINs beginning with 999 are invented. */
export const sandboxTeachers: readonly SandboxTeacher[] = [...states, ...traps].map(sandboxTeacher);

export const stateTeachers = sandboxTeachers.slice(0, states.length);
export const trapTeachers = sandboxTeachers.slice(states.length);

/** The teacher whom `tvs trigger` changes when nobody is named, and the one whose licence ends soon. */
export const [triggered, endingSoon] = trapTeachers as [SandboxTeacher, SandboxTeacher];

/** Days from now to the end of the licence that ends soon, when a sandbox is filled. */
const soonDays = 20;

/**
 * Teachers of the sandbox as an extract in NDJSON, which unlike CSV has profiles.
 * @param today the day on which the licence that ends soon still has {@link soonDays}
 */
export function sandboxExtract(teachers: readonly SandboxTeacher[], today: CalendarDate): string {
  const rows = teachers.map(({ shows: _shows, ...teacher }) => ({
    ...teacher,
    ...(teacher.regNo === endingSoon.regNo ? { licenseExpiryDate: addDays(today, soonDays) } : {}),
  }));
  return `${rows.map((row) => JSON.stringify(row)).join("\n")}\n`;
}
