/**
 * Makes `sample-registry.csv`: an extract of made-up teachers in every state. `bun data/make-sample.ts`
 *
 * The seed and the dates are fixed, so the same bytes come out every time; a test compares them.
 */
import { base, en, en_NG, Faker } from "@faker-js/faker";
import { stringify } from "csv-stringify/sync";
import { statusExampleTeachers } from "../src/domain/sandbox/teachers.ts";

const madeUp = 3_000;
type Row = ReturnType<typeof fixtureRow>;

const states = [
  ["LA", "Lagos"],
  ["KN", "Kano"],
  ["RV", "Rivers"],
  ["OY", "Oyo"],
  ["EN", "Enugu"],
  ["KD", "Kaduna"],
  ["BO", "Borno"],
  ["FC", "FCT"],
] as const;

/** The text of the extract. */
export function sampleExtract(): string {
  const faker = new Faker({ locale: [en_NG, en, base], seed: 20_190_301 });
  const rows = [
    ...statusExampleTeachers.map(fixtureRow),
    ...Array.from({ length: madeUp }, (_, n) => madeUpRow(faker, n)),
  ];
  return stringify(rows, { header: true });
}

function fixtureRow(teacher: (typeof statusExampleTeachers)[number]) {
  return {
    reg_no: teacher.regNo,
    t_id: String(teacher.tId),
    name: teacher.name,
    nin: teacher.nin,
    nin_verified: String(teacher.ninVerified),
    email: teacher.email,
    phone: teacher.phone,
    state: teacher.state,
    category: teacher.category,
    source: teacher.source,
    active: String(teacher.active),
    certificate_status: teacher.certificateStatus,
    certificate_issue_date: teacher.certificateIssueDate ?? "",
    license_issue_date: teacher.licenseIssueDate ?? "",
    license_expiry_date: teacher.licenseExpiryDate ?? "",
    license_revoked_on: teacher.licenseRevokedOn ?? "",
    license_revoked_reason: teacher.licenseRevokedReason ?? "",
    photo_url: teacher.photoUrl ?? "",
  };
}

function madeUpRow(faker: Faker, n: number): Row {
  const [code, state] = faker.helpers.arrayElement(states);
  const year = faker.number.int({ min: 2004, max: 2024 });
  const legacy = faker.number.int(99) < 30;
  const has = (percent: number) => faker.number.int(99) < percent;
  return {
    reg_no: `${code}/${year}/${faker.helpers.arrayElement(["PS", "JS", "SS"])}/${String(n + 1).padStart(6, "0")}`,
    t_id: has(85) ? String(20_000 + n) : "",
    name: `${faker.person.firstName()} ${faker.person.lastName()}`,
    nin: has(80) ? `998${String(n).padStart(8, "0")}` : "",
    nin_verified: String(has(60)),
    email: has(70) ? `t${n + 1}@example.com` : "",
    phone: has(75) ? `0803${String(1_000_000 + n)}` : "",
    state,
    category: faker.helpers.arrayElement(["A", "B", "C", "D"]),
    source: legacy ? "legacy" : "new_system",
    active: String(has(97)),
    ...certificate(faker, { legacy, year }),
    ...license(faker, year),
    photo_url: has(10) ? `https://photos.example.org/${n + 1}.jpg` : "",
  };
}

function certificate(faker: Faker, { legacy, year }: { legacy: boolean; year: number }) {
  const status = faker.helpers.arrayElement(
    legacy
      ? ["LEGACY_RECORD", "LEGACY_RECORD", "NOT_FOUND"]
      : ["VERIFIED", "VERIFIED", "VERIFIED", "CLAIMED", "NOT_FOUND"],
  );
  return {
    certificate_status: status,
    certificate_issue_date: status === "NOT_FOUND" ? "" : `${year}-07-15`,
  };
}

/** Far from today on both sides, so that a state stays what it is for as long as anybody runs this. */
function license(faker: Faker, year: number) {
  const kind = faker.helpers.weightedArrayElement([
    { weight: 62, value: "valid" },
    { weight: 20, value: "expired" },
    { weight: 5, value: "revoked" },
    { weight: 10, value: "none" },
    { weight: 3, value: "later" },
  ]);
  const day = String(faker.number.int({ min: 1, max: 28 })).padStart(2, "0");
  const month = String(faker.number.int({ min: 1, max: 12 })).padStart(2, "0");
  const dates = {
    valid: [`${year}-${month}-${day}`, `209${faker.number.int(9)}-${month}-${day}`],
    revoked: [`${year}-${month}-${day}`, `209${faker.number.int(9)}-${month}-${day}`],
    expired: [`${year - 4}-${month}-${day}`, `${Math.min(year, 2023)}-${month}-${day}`],
    none: ["", ""],
    later: [`2090-${month}-${day}`, `2098-${month}-${day}`],
  }[kind];
  const revoked = kind === "revoked";
  return {
    license_issue_date: dates?.[0] ?? "",
    license_expiry_date: dates?.[1] ?? "",
    license_revoked_on: revoked ? "2025-02-14" : "",
    license_revoked_reason: revoked ? "certificate found to be forged" : "",
  };
}

if (import.meta.main) {
  const file = new URL("./sample-registry.csv", import.meta.url);
  const { writeFileSync } = await import("node:fs");
  writeFileSync(file, sampleExtract());
}
