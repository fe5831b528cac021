import { beforeAll, expect, test } from "bun:test";
import type { Batch, EligibilityResult, Envelope, License, Purpose } from "./contract.ts";
import { purposes, uuid } from "./contract.ts";
import { expectGenuine, fetchJwks } from "./jws.ts";
import { dateIn, daysBetween, type ExtractRow, type TeacherName, teachers } from "./registry.ts";
import { type Partner, readJson, sharedWorld } from "./world.ts";

const world = sharedWorld();
const { valid } = teachers;
let partner: Partner;
let examiner: Partner;

beforeAll(async () => {
  partner = await world.partner();
  examiner = await world.partner({ purposes: "BODYA_EXAMINER_CREDENTIAL_CHECK" });
});

async function envelopeOf(response: Response): Promise<Envelope> {
  expect(response.status).toBe(200);
  return readJson<Envelope>(response);
}

/** Expects the headers of the contract that a partner's answer has. */
function expectHeaders({ headers }: Response, envelope: Envelope): void {
  expect(headers.get("X-Verification-Id")).toBe(envelope.verificationId);
  expect(headers.get("X-Signature-Kid")).toBe(envelope.signatureKid);
  for (const name of ["Limit", "Remaining", "Reset"])
    expect(headers.get(`X-RateLimit-${name}`)).toMatch(/^\d+$/);
}

const check = async (regNo: string, purpose?: Purpose) => envelopeOf(await partner.check({ regNo }, purpose));

type Verdicts = { usual: string[]; examiner: string[]; general: string[] };
const always = (...reasons: string[]): Verdicts => ({ usual: reasons, examiner: reasons, general: reasons });

/** The default policy's reasons for each teacher: for invigilators and employers, for examiners, for the public. */
const verdicts: Record<TeacherName, Verdicts> = {
  valid: always(),
  lastDay: always(),
  sparse: always(),
  twinA: always(),
  twinB: always(),
  expired: always("LICENSE_EXPIRED"),
  revoked: always("LICENSE_REVOKED"),
  neverLicensed: always("LICENSE_NOT_FOUND"),
  notYetValid: always("LICENSE_NOT_YET_VALID"),
  deactivated: always("TEACHER_DEACTIVATED"),
  claimed: { ...always("CERTIFICATE_CLAIMED"), general: [] },
  uncertified: { ...always("CERTIFICATE_NOT_FOUND"), general: [] },
  legacyRecord: { ...always(), examiner: ["CERTIFICATE_LEGACY_ONLY", "SOURCE_NOT_ACCEPTED"] },
  legacyVerified: { ...always(), examiner: ["SOURCE_NOT_ACCEPTED"] },
  newLegacyRecord: { ...always(), examiner: ["CERTIFICATE_LEGACY_ONLY"] },
  worst: {
    usual: ["LICENSE_EXPIRED", "CERTIFICATE_CLAIMED"],
    examiner: ["LICENSE_EXPIRED", "CERTIFICATE_CLAIMED", "SOURCE_NOT_ACCEPTED"],
    general: ["LICENSE_EXPIRED"],
  },
  deactivatedClaimed: {
    usual: ["TEACHER_DEACTIVATED", "CERTIFICATE_CLAIMED"],
    examiner: ["TEACHER_DEACTIVATED", "CERTIFICATE_CLAIMED", "SOURCE_NOT_ACCEPTED"],
    general: ["TEACHER_DEACTIVATED"],
  },
};

function groupOf(purpose: Purpose): keyof Verdicts {
  if (purpose === "GENERAL_PUBLIC_VERIFICATION") return "general";
  return /EXAMINER|ENDORSEMENT/.test(purpose) ? "examiner" : "usual";
}

/** The licence that an answer of this day must have for a record. */
function licenseOf(name: TeacherName, row: ExtractRow, today: string): License {
  const issueDate = row.license_issue_date ?? null;
  const expiryDate = row.license_expiry_date ?? "";
  const dated = { issueDate, expiryDate, daysRemaining: null };
  if (name.startsWith("deactivated") || name === "neverLicensed") {
    return { status: "NOT_FOUND", issueDate: null, expiryDate: null, daysRemaining: null };
  }
  if (name === "revoked") return { ...dated, status: "REVOKED" };
  if (name === "notYetValid") return { ...dated, status: "NOT_FOUND" };
  const left = daysBetween(today, expiryDate);
  return { ...dated, status: left >= 0 ? "VALID" : "EXPIRED", daysRemaining: Math.max(0, left) };
}

test.each(Object.keys(teachers) as TeacherName[])(
  "a check of the teacher %s gives the policy's reasons under every purpose",
  async (name) => {
    const row: ExtractRow = teachers[name];
    for (const purpose of purposes) {
      const envelope = await check(row.reg_no, purpose);
      const reasons = verdicts[name][groupOf(purpose)];
      const license = licenseOf(name, row, dateIn("Africa/Lagos", 0, Date.parse(envelope.verifiedAt)));
      expect<object>({ purpose, ...envelope.result }).toStrictEqual({
        purpose,
        found: true,
        source: row.source,
        status: license.status,
        eligible: reasons.length === 0,
        reasons,
        teacher: {
          name: row.name ?? "",
          tId: row.t_id === undefined ? null : Number(row.t_id),
          state: row.state || null,
          category: row.category || null,
        },
        license,
        certificate: {
          status: row.certificate_status ?? "",
          regNo: row.reg_no,
          issueDate: row.certificate_issue_date || null,
        },
        profile:
          row.source === "legacy"
            ? null
            : { ninVerified: row.nin_verified === "true", qualifications: [], employment: [] },
      });
    }
  },
);

test("a check that finds nobody gives an envelope with null members, for each kind of identifier", async () => {
  const nobody: EligibilityResult = {
    found: false,
    source: null,
    status: "NOT_FOUND",
    eligible: false,
    reasons: ["TEACHER_NOT_FOUND"],
    teacher: null,
    license: null,
    certificate: null,
    profile: null,
  };
  for (const identifier of [{ regNo: "LA/PT/2019/99999" }, { tId: 9_999_999 }, { nin: "79999999999" }]) {
    for (const purpose of ["GENERAL_PUBLIC_VERIFICATION", "BODYB_EXAMINER_CREDENTIAL_CHECK"] as const) {
      const envelope = await envelopeOf(await partner.check(identifier, purpose));
      expect(envelope.result).toStrictEqual(nobody);
      expectGenuine(envelope, await fetchJwks(world), partner.id);
    }
  }
});

test("an envelope has the published members and headers, and verifies against the served key set", async () => {
  const response = await partner.check({ regNo: teachers.valid.reg_no });
  const envelope = await envelopeOf(response);
  expect(Object.keys(envelope).sort()).toEqual(
    "audience issuer result signature signatureKid verificationId verifiedAt".split(" "),
  );
  expectGenuine(envelope, await fetchJwks(world), partner.id);
  expectHeaders(response, envelope);
  const { headers } = response;
  expect(headers.get("Cache-Control")).toBe("no-store");
  expect(headers.get("Content-Type")).toMatch(/^application\/json\b/);
  expect(headers.get("X-Request-Id")).toMatch(uuid);
  expect(Math.abs(Date.parse(envelope.verifiedAt) - Date.now())).toBeLessThan(60_000);
});

const purpose = "EMPLOYER_BACKGROUND_CHECK";
const item = (regNo: string) => ({ identifier: { regNo }, purpose });
const rows = Object.values(teachers) as ExtractRow[];

async function batch(items: unknown[]): Promise<Batch> {
  const response = await partner.post("/batch", { items });
  expect(response.status).toBe(200);
  return readJson<Batch>(response);
}

test("a batch of a hundred items is answered in order, each item with its own signature", async () => {
  const asked = Array.from({ length: 100 }, (_, index) =>
    index % 3 === 0 ? `ZZ/PT/2000/${index}` : (rows[index % rows.length] as ExtractRow).reg_no,
  );
  const answer = await batch(asked.map(item));
  const jwks = await fetchJwks(world);
  expect(Object.keys(answer)).toEqual(["count", "results"]);
  expect(answer.count).toBe(100);
  expect(answer.results).toHaveLength(100);
  for (const [index, envelope] of answer.results.entries()) {
    const found = index % 3 !== 0;
    expect(envelope.result.found).toBe(found);
    if (found) expect(envelope.result.certificate?.regNo).toBe(asked[index] as string);
    expectGenuine(envelope, jwks, partner.id);
  }
  expect(new Set(answer.results.map(({ verificationId }) => verificationId)).size).toBe(100);
});

async function find(response: Response): Promise<EligibilityResult> {
  const envelope = await envelopeOf(response);
  expectGenuine(envelope, await fetchJwks(world), examiner.id);
  expectHeaders(response, envelope);
  return envelope.result;
}

test("a lookup by NIN finds the teacher", async () => {
  const response = await examiner.post("/lookup/by-nin", { nin: valid.nin, extra: true });
  const result = await find(response);
  expect(result.teacher?.name).toBe(valid.name);
  expect(result.profile?.ninVerified).toBe(true);
  expect(JSON.stringify(result)).not.toContain(valid.nin);
});

test("a lookup by NIN finds nobody by a telephone number with the same digits", async () => {
  const result = await find(await examiner.post("/lookup/by-nin", { nin: "08031234501" }));
  expect(result.found).toBe(false);
});

test("a NIN in the URL is never accepted, nor repeated in the refusal", async () => {
  const response = await examiner.get(`/lookup/by-nin/${valid.nin}`);
  expect(response.status).toBe(404);
  expect(await response.text()).not.toContain(valid.nin);
  expect((await examiner.get(`/lookup/by-nin?nin=${valid.nin}`)).status).toBe(405);
  const empty = await examiner.post(`/lookup/by-nin?nin=${valid.nin}`, {});
  expect(empty.status).toBe(400);
});

test("a lookup decides eligibility under the public's purpose, whatever the partner's purposes are", async () => {
  const result = await find(await examiner.get(`/lookup/by-tid/${teachers.claimed.t_id}`));
  expect(result.certificate?.status).toBe("CLAIMED");
  expect(result).toMatchObject({ eligible: true, reasons: [] });
});
