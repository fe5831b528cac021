/**
 * What both rivals do for a check, as a careful team would write it: everything but HTTP and the signature. They read
 * the teachers from a copy of tvs's database, and keep their audit log in it.
 */
import { createHash, generateKeyPairSync, randomUUID, timingSafeEqual } from "node:crypto";
import Database from "libsql";
import policy from "../../../data/default-policy.json" with { type: "json" };
import type { EligibilityResult, LicenseStatus, Purpose } from "../../../src/partner/contract.ts";

export type Settings = {
  readonly file: string;
  readonly apiKey: string;
  /** Whether a commit is on the disk before the answer leaves, which tvs promises; most teams do not ask for it. */
  readonly isSynced: boolean;
};
export type Question = { readonly identifier: { readonly regNo: string }; readonly purpose: Purpose };
/** A refusal, with its HTTP status. */
export class Refusal extends Error {
  readonly statusCode: number;
  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

type Teacher = {
  reg_no: string;
  t_id: number | null;
  name: string;
  nin_verified: number;
  state: string | null;
  category: string | null;
  source: "new_system" | "legacy";
  active: number;
  certificate_status: "VERIFIED" | "NOT_FOUND" | "CLAIMED" | "LEGACY_RECORD";
  certificate_issue_date: string | null;
  license_issue_date: string | null;
  license_expiry_date: string | null;
  license_revoked_on: string | null;
  profile: string | null;
};

export const settings = JSON.parse(process.argv[2] ?? "") as Settings;
export const issuer = "https://rival.example.org";
export const audience = "caller";
export const kid = "rival-key-1";
export const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

const perMinute = 10_000_000;
const keyHash = createHash("sha256").update(settings.apiKey).digest();
const minute = { startsAt: 0, used: 0 };

const db = new Database(settings.file);
db.exec("PRAGMA journal_mode = WAL");
db.exec(`PRAGMA synchronous = ${settings.isSynced ? "FULL" : "NORMAL"}`);
db.exec(`CREATE TABLE IF NOT EXISTS audit (verification_id TEXT PRIMARY KEY, partner_id TEXT NOT NULL,
  at INTEGER NOT NULL, reg_no TEXT NOT NULL, purpose TEXT NOT NULL, status TEXT NOT NULL, eligible INTEGER NOT NULL,
  jws TEXT NOT NULL)`);
db.exec("CREATE INDEX IF NOT EXISTS audit_by_partner ON audit (partner_id, at)");
const findTeacher = db.prepare("SELECT * FROM teachers WHERE reg_no = ?");
const insertAudit = db.prepare("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)");

/** @throws Refusal 401, 429 */
export function admit(authorization: string | undefined): void {
  const given = createHash("sha256")
    .update(authorization?.replace(/^Bearer /, "") ?? "")
    .digest();
  if (!timingSafeEqual(given, keyHash)) throw new Refusal(401, "no valid credential");
  const startsAt = Math.floor(Date.now() / 60_000);
  if (minute.startsAt !== startsAt) Object.assign(minute, { startsAt, used: 0 });
  if (++minute.used > perMinute) throw new Refusal(429, "per-minute quota exceeded");
}

/** @throws Refusal 400 */
function readQuestion(body: unknown): Question {
  const { identifier, purpose } = (body ?? {}) as Partial<Question>;
  if (typeof identifier?.regNo !== "string") throw new Refusal(400, "identifier.regNo is required");
  if (purpose === undefined || !Object.hasOwn(policy.purposes, purpose))
    throw new Refusal(400, "purpose is required");
  return { identifier: { regNo: identifier.regNo }, purpose };
}

/** Looks the teacher up and judges. */
export function judge({ identifier, purpose }: Question): EligibilityResult {
  const [teacher] = findTeacher.all([identifier.regNo.trim().toUpperCase()]) as Teacher[];
  if (teacher === undefined) {
    const nothing = { source: null, teacher: null, license: null, certificate: null, profile: null };
    const reasons = ["TEACHER_NOT_FOUND" as const];
    return { found: false, status: "NOT_FOUND", eligible: false, reasons, ...nothing };
  }
  // In Lagos, as the service has it: an hour ahead of UTC, in every season.
  const today = new Date(Date.now() + 3_600_000).toISOString().slice(0, 10);
  const status = licenseStatus(teacher, today);
  const reasons = reasonsFor(teacher, purpose, status);
  const profile = JSON.parse(teacher.profile ?? "{}");
  return {
    found: true,
    source: teacher.source,
    status,
    eligible: reasons.length === 0,
    reasons,
    teacher: {
      name: teacher.name,
      tId: teacher.t_id,
      state: teacher.state,
      category: teacher.category,
    },
    license: {
      status,
      issueDate: teacher.license_issue_date,
      expiryDate: teacher.license_expiry_date,
      daysRemaining: daysRemaining(teacher, status, today),
    },
    certificate: {
      status: teacher.certificate_status,
      regNo: teacher.reg_no,
      issueDate: teacher.certificate_issue_date,
    },
    profile:
      teacher.source === "legacy"
        ? null
        : { ninVerified: teacher.nin_verified === 1, qualifications: [], employment: [], ...profile },
  };
}

function licenseStatus(teacher: Teacher, today: string): LicenseStatus {
  if (teacher.active === 0 || teacher.license_expiry_date === null) return "NOT_FOUND";
  if (teacher.license_revoked_on !== null) return "REVOKED";
  if ((teacher.license_issue_date ?? "") > today) return "NOT_FOUND";
  return teacher.license_expiry_date >= today ? "VALID" : "EXPIRED";
}

function daysRemaining(teacher: Teacher, status: LicenseStatus, today: string): number | null {
  if (status !== "VALID" && status !== "EXPIRED") return null;
  const days = (Date.parse(teacher.license_expiry_date ?? "") - Date.parse(today)) / 86_400_000;
  return Math.max(0, days);
}

function reasonsFor(teacher: Teacher, purpose: Purpose, status: LicenseStatus) {
  const rule = (policy.purposes as Record<string, { certificate: string[]; sources: string[] }>)[purpose];
  const reasons: EligibilityResult["reasons"] = [];
  if (status !== "VALID") reasons.push(`LICENSE_${status}`);
  if (rule?.certificate.includes(teacher.certificate_status) !== true)
    reasons.push("CERTIFICATE_LEGACY_ONLY");
  if (rule?.sources.includes(teacher.source) !== true) reasons.push("SOURCE_NOT_ACCEPTED");
  return reasons;
}

export type Check = { readonly id: string; readonly at: number } & Question & {
    readonly result: EligibilityResult;
  };

export function newCheck(body: unknown): Check {
  const question = readQuestion(body);
  return { id: randomUUID(), at: Math.floor(Date.now() / 1000), ...question, result: judge(question) };
}

/** Commits the audit row, and only then there is an answer. */
export function answer({ id, at, identifier, purpose, result }: Check, jws: string) {
  insertAudit.run([id, audience, at, identifier.regNo, purpose, result.status, result.eligible ? 1 : 0, jws]);
  const verifiedAt = new Date(at * 1000).toISOString();
  return { verificationId: id, verifiedAt, issuer, audience, result, signature: jws, signatureKid: kid };
}

/** The headers of an answered check (contract C15). */
export function headersOf(id: string): Record<string, string> {
  return {
    "X-Verification-Id": id,
    "X-Signature-Kid": kid,
    "X-RateLimit-Limit": String(perMinute),
    "X-RateLimit-Remaining": String(perMinute - minute.used),
    "X-RateLimit-Reset": String((minute.startsAt + 1) * 60),
  };
}
