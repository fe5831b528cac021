/**
 * The rival: an eligibility check as a careful team would write it with Fastify and jose, which signs on Node's thread
 * pool. It reads the teachers from a copy of tvs's database, and writes its audit rows there. Like tvs it answers only
 * after a synced commit, so an answered check survives a power failure.
 */
import { createHash, generateKeyPairSync, randomUUID, timingSafeEqual } from "node:crypto";
import { fastify } from "fastify";
import { importPKCS8, SignJWT } from "jose";
import Database from "libsql";
import { evaluateEligibility } from "../../../src/domain/eligibility.ts";
import { defaultPolicy } from "../../../src/domain/policy.ts";
import type { Teacher } from "../../../src/domain/teachers/teachers.ts";
import type { EligibilityResult, Purpose } from "../../../src/partner/contract.ts";
import { teacherJsonSql } from "../../../src/store/teacher-columns.ts";

type Question = { readonly identifier: { readonly regNo: string }; readonly purpose: Purpose };
/** Makes an error that Fastify answers with this status and message. */
const refusal = (statusCode: number, message: string) => Object.assign(new Error(message), { statusCode });

const settings = JSON.parse(process.argv[2] ?? "") as { file: string; apiKey: string };
const issuer = "https://rival.example.org";
const audience = "caller";
const kid = "rival-key-1";
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

const perMinute = 10_000_000;
const keyHash = createHash("sha256").update(settings.apiKey).digest();
const minute = { startsAt: 0, used: 0 };

const db = new Database(settings.file);
db.exec("PRAGMA journal_mode = WAL");
db.exec("PRAGMA synchronous = FULL");
db.exec(`CREATE TABLE IF NOT EXISTS audit (verification_id TEXT PRIMARY KEY, partner_id TEXT NOT NULL,
  at INTEGER NOT NULL, reg_no TEXT NOT NULL, purpose TEXT NOT NULL, status TEXT NOT NULL, eligible INTEGER NOT NULL,
  jws TEXT NOT NULL)`);
db.exec("CREATE INDEX IF NOT EXISTS audit_by_partner ON audit (partner_id, at)");
const findTeacher = db.prepare(`SELECT ${teacherJsonSql} AS teacher FROM teachers WHERE reg_no = ?`);
const insertAudit = db.prepare("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)");

/** Checks the API key and charges the quota. @throws an error with status 401 or 429 */
function admit(authorization: string | undefined): void {
  const given = createHash("sha256")
    .update(authorization?.replace(/^Bearer /, "") ?? "")
    .digest();
  if (!timingSafeEqual(given, keyHash)) throw refusal(401, "no valid credential");
  const startsAt = Math.floor(Date.now() / 60_000);
  if (minute.startsAt !== startsAt) Object.assign(minute, { startsAt, used: 0 });
  if (++minute.used > perMinute) throw refusal(429, "per-minute quota exceeded");
}

/** Reads a request's body. @throws an error with status 400 */
function readQuestion(body: unknown): Question {
  const { identifier, purpose } = (body ?? {}) as Partial<Question>;
  if (typeof identifier?.regNo !== "string") throw refusal(400, "identifier.regNo is required");
  if (purpose === undefined || !Object.hasOwn(defaultPolicy.purposes, purpose))
    throw refusal(400, "purpose is required");
  return { identifier: { regNo: identifier.regNo }, purpose };
}

/** Looks the teacher up, and applies tvs's own rule. */
function eligibilityOf({ identifier, purpose }: Question): EligibilityResult {
  const [row] = findTeacher.all([identifier.regNo.trim().toUpperCase()]) as { teacher: string }[];
  const teacher = row === undefined ? null : (JSON.parse(row.teacher) as Teacher);
  // The date in Lagos, like tvs's default: always an hour ahead of UTC.
  const today = new Date(Date.now() + 3_600_000).toISOString().slice(0, 10);
  return evaluateEligibility(teacher, { purpose, policy: defaultPolicy, today });
}

function newCheck(body: unknown) {
  const question = readQuestion(body);
  const result = eligibilityOf(question);
  return { id: randomUUID(), at: Math.floor(Date.now() / 1000), ...question, result };
}
type Check = ReturnType<typeof newCheck>;

/** Commits the audit row, and returns the answer after that. */
function answer({ id, at, identifier, purpose, result }: Check, jws: string) {
  insertAudit.run([id, audience, at, identifier.regNo, purpose, result.status, result.eligible ? 1 : 0, jws]);
  const verifiedAt = new Date(at * 1000).toISOString();
  return { verificationId: id, verifiedAt, issuer, audience, result, signature: jws, signatureKid: kid };
}

/** The headers of an answered check (contract C15). */
function headersOf(id: string): Record<string, string> {
  return {
    "X-Verification-Id": id,
    "X-Signature-Kid": kid,
    "X-RateLimit-Limit": String(perMinute),
    "X-RateLimit-Remaining": String(perMinute - minute.used),
    "X-RateLimit-Reset": String((minute.startsAt + 1) * 60),
  };
}

const key = await importPKCS8(String(privateKey.export({ type: "pkcs8", format: "pem" })), "RS256");
const app = fastify();

app.post("/v1/inter-agency/eligibility-check", async (request, reply) => {
  admit(request.headers.authorization);
  const check = newCheck(request.body);
  const jws = await new SignJWT({ result: check.result })
    .setProtectedHeader({ alg: "RS256", kid, typ: "JWT" })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(check.id)
    .setIssuedAt(check.at)
    .sign(key);
  reply.headers(headersOf(check.id));
  return answer(check, jws);
});

const address = await app.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`${new URL(address).port}\n`);
