import type { Profile } from "../../partner/contract.ts";
import { addDays, type CalendarDate } from "../clock.ts";
import type { Teacher } from "../teachers/teachers.ts";

/** A made-up teacher that stands for one state, or for something that programs stumble over. */
export type SandboxTeacher = Omit<Teacher, "id" | "version" | "announcedStatus" | "profile"> &
  Readonly<Record<"nin" | "email" | "phone", string | null>> & {
    readonly shows: string;
    readonly profile: NonNullable<Teacher["profile"]>;
  };

const usual = {
  ninVerified: true,
  state: "Lagos",
  category: "A",
  source: "new_system",
  active: true,
  certificateStatus: "VERIFIED",
  licenseIssueDate: "2019-03-01",
  licenseExpiryDate: "2092-02-29",
  licenseRevokedOn: null,
  photoUrl: null,
} as const;

type Peculiar = Partial<SandboxTeacher> & Pick<SandboxTeacher, "shows" | "name">;

const states: readonly Peculiar[] = [
  { shows: "licence valid, certificate verified", name: "Adaeze Okafor" },
  { shows: "licence expired", name: "Bola Adeyemi", licenseExpiryDate: "2022-02-28" },
  { shows: "licence revoked", name: "Chidi Nwosu", licenseRevokedOn: "2023-06-15" },
  {
    shows: "registered, never licensed",
    name: "Danjuma Bello",
    licenseIssueDate: null,
    licenseExpiryDate: null,
  },
  {
    shows: "licence that starts later",
    name: "Efe Omoregie",
    licenseIssueDate: "2090-01-01",
    licenseExpiryDate: "2095-12-31",
  },
  { shows: "deactivated", name: "Fatima Sani", active: false },
  { shows: "certificate claimed, not verified", name: "Grace Etim", certificateStatus: "CLAIMED" },
  { shows: "no certificate", name: "Halima Yusuf", certificateStatus: "NOT_FOUND" },
  {
    shows: "legacy record",
    name: "Ikenna Eze",
    source: "legacy",
    certificateStatus: "LEGACY_RECORD",
  },
  { shows: "legacy source with a verified certificate", name: "Jumoke Balogun", source: "legacy" },
  { shows: "category D", name: "Kabiru Lawal", category: "D" },
];

const sharedPhone = "+2348030000999";
const sharedEmail = "two.teachers@example.org";
/** Two hundred characters, as many as a name may have, the last forty-six without a break. */
const longestName = `${"Oluwatobiloba ".repeat(11)}${"Temitope".repeat(5)}Adeoye`;

/** What programs stumble over. */
const traps: readonly Peculiar[] = [
  { shows: "for you to change: what tvs trigger means without a REF", name: "Ladi Musa" },
  { shows: "licence that ends soon; tvs sandbox clock +30d ends it", name: "Musa Danladi" },
  {
    shows: "leap-day licence: issued on a 29 February, ends on one",
    name: "Nkechi Obi",
    licenseIssueDate: "2024-02-29",
    licenseExpiryDate: "2096-02-29",
  },
  { shows: "shares phone and e-mail with the next: neither finds anybody", name: "Obinna Uche" },
  { shows: "shares phone and e-mail with the one before", name: "Patience Uche" },
  { shows: "photo", name: "Queen Amadi", photoUrl: "https://photos.example.org/1017.jpg" },
  { shows: "name with marks", name: "Ṣadé Olúwaṣẹ́gun Àdìsá" },
  { shows: "name with an apostrophe and a hyphen", name: "Tari O'Brien-Ebiowei" },
  { shows: "name of one word", name: "Usman" },
  { shows: "name of 200 characters", name: longestName },
  { shows: "no state, no category", name: "Victor Ekanem", state: null, category: null },
  {
    shows: "registration number alone: no teacher id, NIN or contact",
    name: "Wale Ojo",
    tId: null,
    nin: null,
    ninVerified: false,
    email: null,
    phone: null,
  },
  { shows: "NIN on file, not verified", name: "Xavier Okon", ninVerified: false },
  {
    shows: "revoked, and expired since: REVOKED counts",
    name: "Yakubu Sambo",
    licenseExpiryDate: "2022-02-28",
    licenseRevokedOn: "2021-06-15",
  },
  {
    shows: "revoked and deactivated: NOT_FOUND counts",
    name: "Zainab Aliyu",
    active: false,
    licenseRevokedOn: "2021-06-15",
  },
];

/** Courses and posts, some of them without all that is usual: every nullable member of a profile is null somewhere. */
const courses: Profile["qualifications"] = [
  { title: "B.Ed. Mathematics", institution: "University of Lagos", year: 2015 },
  {
    title: "Nigeria Certificate in Education",
    institution: "Federal College of Education, Akoka",
    year: 2011,
  },
  { title: "PGDE", institution: null, year: 2018 },
  { title: "B.Sc. Physics", institution: "Bayero University Kano", year: null },
];
const posts: Profile["employment"] = [
  { employer: "Government College, Ikorodu", role: "Mathematics teacher", from: "2019-09-01", to: null },
  { employer: "Queen's College, Yaba", role: "Form teacher", from: "2016-01-11", to: "2019-07-31" },
  { employer: "Unity Primary School, Epe", role: null, from: "2012-09-03", to: "2015-12-18" },
  { employer: "Community School, Badagry", role: "Class teacher", from: null, to: null },
];

/** Two of a list, beginning at another place for each teacher. */
function two<T>(list: readonly T[], first: number): T[] {
  return [0, 1].flatMap((offset) => list[(first + offset) % list.length] ?? []);
}

function sandboxTeacher(teacher: Peculiar, index: number): SandboxTeacher {
  const number = index + 1;
  const digits = String(number).padStart(2, "0");
  return {
    ...usual,
    regNo: `TR/2019/LA/0000${digits}`,
    tId: 1000 + number,
    nin: `999000000${digits}`,
    email: `teacher${digits}@example.org`,
    phone: `+2348030000${digits.padStart(3, "0")}`,
    profile: { qualifications: two(courses, index), employment: two(posts, index) },
    certificateIssueDate: teacher.certificateStatus === "NOT_FOUND" ? null : "2018-11-05",
    licenseRevokedReason: teacher.licenseRevokedOn == null ? null : "professional misconduct",
    ...teacher,
    ...(sharing.includes(teacher.name) ? { email: sharedEmail, phone: sharedPhone } : {}),
  };
}

const sharing = ["Obinna Uche", "Patience Uche"];

/**
 * One teacher for every state, then one for every trap, with numbers that are easy to type and always mean the same.
 * NINs beginning with 999 are invented. The sample extract begins with those for the states.
 */
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
