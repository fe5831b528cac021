import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type EligibilityResult,
  type Envelope,
  type License,
  type Problem,
  type Purpose,
  purposes,
} from "./contract.ts";
import { expectGenuine, fetchJwks } from "./jws.ts";
import { dateIn, daysBetween, type Row, type TeacherName, teacher, teachers } from "./registry.ts";
import { createWorld, type Partner, readJson, type World } from "./world.ts";

let world: World;
let partner: Partner;

beforeAll(async () => {
  world = await createWorld();
  partner = await world.partner();
});

afterAll(() => world?.end());

async function envelopeOf(response: Response): Promise<Envelope> {
  expect(response.status).toBe(200);
  return readJson<Envelope>(response);
}

const check = async (regNo: string, purpose?: Purpose) => envelopeOf(await partner.check({ regNo }, purpose));

type Verdicts = { usual: string[]; examiner: string[]; general: string[] };
const always = (...reasons: string[]): Verdicts => ({ usual: reasons, examiner: reasons, general: reasons });

/** The default policy's table, in reasons: by invigilators and employers, by examiners, by the public. */
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

/** The licence as the record and the day of the answer make it. */
function licenseOf(name: TeacherName, row: Row, today: string): License {
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

describe("results", () => {
  test.each(Object.keys(teachers) as TeacherName[])("%s under every purpose", async (name) => {
    const row: Row = teachers[name];
    for (const purpose of purposes) {
      const envelope = await check(row.reg_no, purpose);
      const reasons = verdicts[name][groupOf(purpose)];
      const license = licenseOf(name, row, dateIn("Africa/Lagos", 0, Date.parse(envelope.verifiedAt)));
      expect({ purpose, ...envelope.result }).toStrictEqual({
        purpose,
        found: true,
        source: row.source as "legacy",
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
  });

  test("nobody: every member is null, for each kind of identifier", async () => {
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

  test("each identifier leads to the same teacher", async () => {
    const { reg_no, t_id, nin } = teachers.valid;
    const identifiers = [{ regNo: reg_no }, { regNo: " la/pt/2019/ 00001" }, { tId: Number(t_id) }, { nin }];
    for (const identifier of identifiers) {
      const { result } = await envelopeOf(await partner.check(identifier));
      expect(result.certificate?.regNo).toBe(reg_no);
    }
  });
});

describe("envelope", () => {
  test("has the published members and headers, and verifies against the served key set", async () => {
    const response = await partner.check({ regNo: teachers.valid.reg_no });
    const envelope = await envelopeOf(response);
    expect(Object.keys(envelope).sort()).toEqual(
      "audience issuer result signature signatureKid verificationId verifiedAt".split(" "),
    );
    expectGenuine(envelope, await fetchJwks(world), partner.id);
    const { headers } = response;
    expect(headers.get("X-Verification-Id")).toBe(envelope.verificationId);
    expect(headers.get("X-Signature-Kid")).toBe(envelope.signatureKid);
    for (const name of ["Limit", "Remaining", "Reset"]) {
      expect(headers.get(`X-RateLimit-${name}`)).toMatch(/^\d+$/);
    }
    expect(headers.get("Cache-Control")).toBe("no-store");
    expect(headers.get("Content-Type")).toMatch(/^application\/json\b/);
    expect(headers.get("X-Request-Id")).toBeTruthy();
    expect(Math.abs(Date.parse(envelope.verifiedAt) - Date.now())).toBeLessThan(60_000);
  });

  test("every verification has an id of its own", async () => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => (await check(teachers.valid.reg_no)).verificationId),
    );
    expect(new Set(ids).size).toBe(20);
  });

  test("never holds the NIN or a contact, in or outside the signature", async () => {
    const { nin, email, phone } = teachers.valid;
    const envelope = await envelopeOf(await partner.check({ nin }));
    const [, payload = ""] = envelope.signature.split(".");
    const text = JSON.stringify(envelope) + Buffer.from(payload, "base64url").toString();
    for (const secret of [nin, email, phone]) expect(text).not.toContain(secret);
  });

  test("many at once are each about the teacher who was asked for", async () => {
    const rows = Object.values(teachers) as Row[];
    const jwks = await fetchJwks(world);
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const row = rows[index % rows.length] as Row;
        const envelope = await check(row.reg_no);
        expect(envelope.result.certificate?.regNo).toBe(row.reg_no);
        expectGenuine(envelope, jwks, partner.id);
      }),
    );
  });
});

describe("requests", () => {
  const purpose = "GENERAL_PUBLIC_VERIFICATION";
  const good = { identifier: { tId: 1_000_001 }, purpose };

  async function expectRefused(body: unknown, member: RegExp): Promise<void> {
    const response = await partner.post("/eligibility-check", body);
    expect(response.status).toBe(400);
    const problem = await readJson<Problem>(response);
    expect(Object.keys(problem)).toEqual(["statusCode", "message"]);
    expect(problem.statusCode).toBe(400);
    expect(problem.message).toMatch(member);
    // The values that these requests carry have this mark in them.
    expect(problem.message).not.toMatch(/7777|Q7Q/);
    expect(response.headers.get("X-RateLimit-Limit")).toBe("100000");
  }

  test.each([
    ["no identifier", { purpose }, /^identifier\b/],
    ["an identifier that is text", { identifier: "7777", purpose }, /^identifier\b/],
    ["an identifier that is null", { identifier: null, purpose }, /^identifier\b/],
    ["an empty identifier", { identifier: {}, purpose }, /^identifier\b/],
    ["an identifier with two", { identifier: { tId: 7777, nin: "77777777777" }, purpose }, /^identifier\b/],
    [
      "an identifier with three",
      { identifier: { tId: 7777, nin: "77777777777", regNo: "A/B/C/7777" }, purpose },
      /^identifier\b/,
    ],
    ["a NIN of ten digits", { identifier: { nin: "7777777777" }, purpose }, /^identifier\.nin must be 11 digits$/],
    ["a NIN of twelve", { identifier: { nin: "777777777777" }, purpose }, /^identifier\.nin must be 11 digits$/],
    ["a NIN with a letter", { identifier: { nin: "7777777777O" }, purpose }, /^identifier\.nin must be 11 digits$/],
    ["a NIN with a line end", { identifier: { nin: "77777777777\n" }, purpose }, /^identifier\.nin\b/],
    ["a NIN that is a number", { identifier: { nin: 77777777777 }, purpose }, /^identifier\.nin\b/],
    ["a NIN in other digits", { identifier: { nin: "٧٧٧٧٧٧٧٧٧٧٧" }, purpose }, /^identifier\.nin\b/],
    ["a tId that is text", { identifier: { tId: "7777" }, purpose }, /^identifier\.tId\b/],
    ["a tId with a fraction", { identifier: { tId: 7777.5 }, purpose }, /^identifier\.tId\b/],
    ["a tId below zero", { identifier: { tId: -7777 }, purpose }, /^identifier\.tId\b/],
    ["a tId that is too large", { identifier: { tId: 7.777e30 }, purpose }, /^identifier\.tId\b/],
    ["a regNo of three segments", { identifier: { regNo: "Q7Q/B/C" }, purpose }, /^identifier\.regNo\b/],
    ["a regNo of five segments", { identifier: { regNo: "Q7Q/B/C/D/E" }, purpose }, /^identifier\.regNo\b/],
    ["a regNo with an empty segment", { identifier: { regNo: "Q7Q//C/D" }, purpose }, /^identifier\.regNo\b/],
    ["a regNo that is a number", { identifier: { regNo: 7777 }, purpose }, /^identifier\.regNo\b/],
    ["no purpose", { identifier: good.identifier }, /^purpose\b/],
    ["a purpose that is none", { ...good, purpose: "Q7Q" }, /^purpose\b/],
    ["a purpose in lower case", { ...good, purpose: purpose.toLowerCase() }, /^purpose\b/],
    ["a purpose of an object's own", { ...good, purpose: "__proto__" }, /^purpose\b/],
    ["a purpose that is null", { ...good, purpose: null }, /^purpose\b/],
    ["a context that is text", { ...good, context: "Q7Q" }, /^context\b/],
    ["a batch that is a number", { ...good, context: { examBatch: 7777 } }, /^context\.examBatch\b/],
    ["an employer that is a list", { ...good, context: { employerName: ["Q7Q"] } }, /^context\.employerName\b/],
    ["a null correlation id", { ...good, context: { correlationId: null } }, /^context\.correlationId\b/],
    ["a list", [good], /body/],
    ["null", null, /body/],
    ["nothing", "", /body/],
    ["no JSON", "{Q7Q", /body/],
    ["something after the JSON", `${JSON.stringify(good)} Q7Q`, /body/],
  ])("%s is refused, by its name", (_name, body, member) => expectRefused(body, member));

  test("a purpose of the contract that is not the partner's is 403, after all that is 400", async () => {
    const narrow = await world.partner({ purposes: "BODYA_INVIGILATOR_ELIGIBILITY,EMPLOYER_BACKGROUND_CHECK" });
    const regNo = teachers.valid.reg_no;
    expect((await narrow.check({ regNo }, "BODYA_INVIGILATOR_ELIGIBILITY")).status).toBe(200);
    expect((await narrow.check({ regNo }, "EMPLOYER_BACKGROUND_CHECK")).status).toBe(200);
    for (const other of ["BODYB_INVIGILATOR_ELIGIBILITY", "GENERAL_PUBLIC_VERIFICATION"] as const) {
      const refused = await narrow.check({ regNo }, other);
      expect(refused.status).toBe(403);
      expect(await readJson<Problem>(refused)).toMatchObject({ statusCode: 403 });
      expect(refused.headers.get("X-RateLimit-Remaining")).toMatch(/^\d+$/);
    }
    expect((await narrow.check({ nin: "7" }, "BODYB_INVIGILATOR_ELIGIBILITY")).status).toBe(400);
  });

  test("unknown members are ignored, at every level", async () => {
    const body = {
      identifier: { ...good.identifier, passport: "A1" },
      purpose,
      context: { examBatch: "2026-A", employerName: "School", correlationId: "c-1", other: 1 },
      extra: [1, { two: null }],
    };
    expect((await partner.post("/eligibility-check", body)).status).toBe(200);
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", "application/xml", "nonsense"])(
    "the body is JSON, though its type says %s",
    async (type) => {
      const response = await partner.post("/eligibility-check", good, { "Content-Type": type });
      expect(response.status).toBe(200);
    },
  );

  test("256 KiB are read, one byte more is 413", async () => {
    const text = JSON.stringify(good);
    const padded = (bytes: number) => text + " ".repeat(bytes - text.length);
    expect((await partner.post("/eligibility-check", padded(256 * 1024))).status).toBe(200);
    const response = await partner.post("/eligibility-check", padded(256 * 1024 + 1));
    expect(response.status).toBe(413);
    expect(await readJson<Problem>(response)).toMatchObject({ statusCode: 413 });
  });

  test("a body that comes in pieces without a length has the same limit", async () => {
    const piece = new TextEncoder().encode(" ".repeat(64 * 1024));
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(JSON.stringify(good)));
        for (let i = 0; i < 5; i++) controller.enqueue(piece);
        controller.close();
      },
    });
    const url = `${world.service().url}/v1/inter-agency/eligibility-check`;
    const headers = { Authorization: `Bearer ${partner.apiKey}` };
    expect((await fetch(url, { method: "POST", headers, body: stream })).status).toBe(413);
  });

  test.each([{}, { "Idempotency-Key": "deep" }])("a deeply nested body is no failure of the service %p", async (headers) => {
    const depth = 100_000;
    const body = `{"identifier":{"tId":1000001},"purpose":"${purpose}","x":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    const response = await partner.post("/eligibility-check", body, headers as Record<string, string>);
    expect([200, 400]).toContain(response.status);
  });

  test("text that is no UTF-8 is refused", async () => {
    const url = `${world.service().url}/v1/inter-agency/eligibility-check`;
    const headers = { Authorization: `Bearer ${partner.apiKey}` };
    const body = new Uint8Array([...new TextEncoder().encode('{"identifier":{"regNo":"'), 0xff, 0x22, 0x7d, 0x7d]);
    expect((await fetch(url, { method: "POST", headers, body })).status).toBe(400);
  });
});

describe("policy and time zone", () => {
  // Niue is 25 hours behind Kiritimati: its today is always over there.
  const lastDayInNiue = teacher("AB/PT/2020/00001", { license_expiry_date: dateIn("Pacific/Niue") });
  const rule = { certificate: ["VERIFIED"], sources: ["new_system"], categories: [], minDaysRemaining: 0 };
  const policy = {
    version: "test-1",
    purposes: {
      BODYA_INVIGILATOR_ELIGIBILITY: { ...rule, minDaysRemaining: 200 },
      BODYB_INVIGILATOR_ELIGIBILITY: { ...rule, categories: ["Primary"] },
      BODYC_INVIGILATOR_ELIGIBILITY: { ...rule, categories: ["Primary", "Secondary"], minDaysRemaining: 20 },
      BODYC_CBT_STAFF_VERIFICATION: { ...rule, categories: ["Primary"], minDaysRemaining: 200, sources: ["legacy"] },
    },
  };
  let other: World;
  let caller: Partner;

  beforeAll(async () => {
    other = await createWorld({ rows: [teachers.valid, teachers.revoked, lastDayInNiue] });
    const file = await other.file("policy.json", JSON.stringify(policy));
    await other.restart({ args: ["--policy", file, "--time-zone", "Pacific/Kiritimati"] });
    caller = await other.partner();
  });

  afterAll(() => other?.end());

  const resultOf = async (row: Row, purpose: Purpose) =>
    (await envelopeOf(await caller.check({ regNo: row.reg_no }, purpose))).result;

  test.each<[Purpose, string[]]>([
    ["BODYA_INVIGILATOR_ELIGIBILITY", ["LICENSE_EXPIRES_TOO_SOON"]],
    ["BODYB_INVIGILATOR_ELIGIBILITY", ["CATEGORY_NOT_ACCEPTED"]],
    ["BODYC_INVIGILATOR_ELIGIBILITY", []],
    [
      "BODYC_CBT_STAFF_VERIFICATION",
      ["LICENSE_EXPIRES_TOO_SOON", "SOURCE_NOT_ACCEPTED", "CATEGORY_NOT_ACCEPTED"],
    ],
    ["EMPLOYER_BACKGROUND_CHECK", ["POLICY_MISSING"]],
    ["GENERAL_PUBLIC_VERIFICATION", ["POLICY_MISSING"]],
  ])("%s", async (purpose, reasons) => {
    const result = await resultOf(teachers.valid, purpose);
    expect(result.reasons).toEqual(reasons);
    expect(result.eligible).toBe(reasons.length === 0);
    expect(result.status).toBe("VALID");
  });

  test("a purpose without a rule still says what else is wrong", async () => {
    const result = await resultOf(teachers.revoked, "EMPLOYER_BACKGROUND_CHECK");
    expect(result.reasons).toEqual(["LICENSE_REVOKED", "POLICY_MISSING"]);
  });

  test("a licence ends with its day in the service's time zone; policy and zone are remembered", async () => {
    expect((await resultOf(lastDayInNiue, "GENERAL_PUBLIC_VERIFICATION")).status).toBe("EXPIRED");
    await other.restart({ args: [] });
    const expired = await resultOf(lastDayInNiue, "GENERAL_PUBLIC_VERIFICATION");
    expect(expired.reasons).toEqual(["LICENSE_EXPIRED", "POLICY_MISSING"]);
    await other.restart({ args: ["--time-zone", "Pacific/Niue"] });
    const valid = await resultOf(lastDayInNiue, "GENERAL_PUBLIC_VERIFICATION");
    // Midnight may have passed over there since this file was read.
    const today = dateIn("Pacific/Niue");
    expect(valid.status).toBe(today === lastDayInNiue.license_expiry_date ? "VALID" : "EXPIRED");
    await other.restart({ args: ["--time-zone", "Pacific/Kiritimati"] });
  });
});
