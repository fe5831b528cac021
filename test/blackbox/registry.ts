/** Registry extracts made by tests, and one teacher for every state a record can be in. */

import type { Cells } from "../harness/imports.ts";

/** One row of an extract. */
export type ExtractRow = Cells & { reg_no: string };

/** Returns the calendar date in a time zone, `days` days after `at`. */
export function dateIn(timeZone: string, days = 0, at = Date.now()): string {
  const date = new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }).format(at);
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}

/** Returns the date in Lagos, `days` days from today. The default time zone decides on which day a licence expires. */
export function dateInLagos(days: number): string {
  return dateIn("Africa/Lagos", days);
}

export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);
}

/** The row of a licensed, certified teacher, with changes. */
export function teacher<Changes extends Partial<ExtractRow>>(reg_no: string, changes: Changes) {
  return {
    reg_no,
    name: "Adaeze Okonkwo",
    state: "Lagos",
    category: "Secondary",
    source: "new_system",
    active: "true",
    certificate_status: "VERIFIED",
    certificate_issue_date: "2019-03-04",
    license_issue_date: dateInLagos(-600),
    license_expiry_date: dateInLagos(130),
    ...changes,
  };
}

const noLicense = { license_issue_date: "", license_expiry_date: "" } as const;
const expired = { license_issue_date: dateInLagos(-1000), license_expiry_date: dateInLagos(-1) } as const;

/** One teacher for every state; the dates depend on the current day. */
export const teachers = {
  valid: teacher("LA/PT/2019/00001", {
    t_id: "1000001",
    name: "Ngozi Eze",
    nin: "70000000001",
    nin_verified: "true",
    email: "ngozi.eze@example.com",
    phone: "+2348031234501",
    photo_url: "https://photos.example.com/1000001.jpg",
  }),
  lastDay: teacher("LA/PT/2019/00002", { t_id: "1000002", license_expiry_date: dateInLagos(0) }),
  expired: teacher("LA/PT/2019/00003", { t_id: "1000003", ...expired }),
  revoked: teacher("LA/PT/2019/00004", {
    t_id: "1000004",
    license_revoked_on: dateInLagos(-10),
    license_revoked_reason: "misconduct",
  }),
  neverLicensed: teacher("LA/PT/2019/00005", { t_id: "1000005", ...noLicense }),
  notYetValid: teacher("LA/PT/2019/00006", {
    t_id: "1000006",
    license_issue_date: dateInLagos(2),
    license_expiry_date: dateInLagos(400),
  }),
  deactivated: teacher("LA/PT/2019/00007", { t_id: "1000007", active: "false" }),
  claimed: teacher("LA/PT/2019/00008", { t_id: "1000008", certificate_status: "CLAIMED" }),
  uncertified: teacher("LA/PT/2019/00009", {
    t_id: "1000009",
    certificate_status: "NOT_FOUND",
    certificate_issue_date: "",
  }),
  legacyRecord: teacher("KN/PT/2004/00010", {
    t_id: "1000010",
    source: "legacy",
    certificate_status: "LEGACY_RECORD",
  }),
  legacyVerified: teacher("KN/PT/2004/00011", { t_id: "1000011", source: "legacy" }),
  newLegacyRecord: teacher("KN/PT/2004/00012", { t_id: "1000012", certificate_status: "LEGACY_RECORD" }),
  worst: teacher("KN/PT/2004/00013", {
    t_id: "1000013",
    source: "legacy",
    certificate_status: "CLAIMED",
    ...expired,
  }),
  sparse: teacher("KN/PT/2004/00014", {
    name: "Bello Musa",
    state: "",
    category: "",
    certificate_issue_date: "",
  }),
  deactivatedClaimed: teacher("KN/PT/2004/00015", {
    t_id: "1000015",
    active: "false",
    source: "legacy",
    certificate_status: "CLAIMED",
  }),
  /** These two share a telephone and an e-mail address. */
  twinA: teacher("KN/PT/2004/00016", {
    t_id: "1000016",
    email: "school@example.com",
    phone: "+2348031234516",
  }),
  twinB: teacher("KN/PT/2004/00017", {
    t_id: "1000017",
    email: "School@Example.com",
    phone: "08031234516",
  }),
} as const satisfies Record<string, ExtractRow>;
export type TeacherName = keyof typeof teachers;
