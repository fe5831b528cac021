import { Buffer } from "node:buffer";
import { createPrivateKey, sign } from "node:crypto";
import { join } from "node:path";
import { createStores } from "../../../cli/open.ts";
import type { Attestation } from "../../../src/domain/attestations.ts";
import { type AuditResult, auditEvidenceLog } from "../../../src/domain/evidence/audit.ts";
import { beginNextLog, createLogWriter } from "../../../src/domain/evidence/checkpoint.ts";
import { ensureFirstLog } from "../../../src/domain/evidence/log.ts";
import { makeRetentionSettings, pruneAttestations } from "../../../src/domain/evidence/retention.ts";
import type { Driver, SqlStatement } from "../../../src/store/driver/driver.ts";
import { openDatabaseFile } from "../../../src/store/driver/file.ts";
import { applySchema } from "../../../src/store/driver/schema.ts";
import { aClock } from "../../harness/clock.ts";
import { aPinnedCheckpoint, attest } from "../../harness/evidence.ts";
import { fillRing, fixtureKey, readKey } from "../../harness/keys.ts";
import { anAttestation, secrets } from "../../harness/samples.ts";

const issuer = "https://verify.example.org";
export const startAt = Date.parse("2026-05-01T09:00:00Z");
const dayMs = 86_400_000;
const batchOf = 20;

/** The key that signs the attestations. */
const signingKey = await fixtureKey("active", startAt);
const privateKey = createPrivateKey(readKey("active"));

/** Makes attestation `n`, whose JWS is signed and agrees with its row. */
export function aSignedAttestation(n: number): Attestation {
  const { kid } = signingKey;
  const plain = anAttestation(n, { issuedAt: startAt / 1000 + n, kid });
  const { verificationId, partnerId, issuedAt, status, eligible } = plain;
  const result = { found: true, source: "new_system", status, eligible, reasons: [], number: n };
  const claims = { iss: issuer, aud: partnerId, sub: verificationId, iat: issuedAt, result };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const input = `${part({ alg: "RS256", kid, typ: "JWT" })}.${part(claims)}`;
  const signature = sign("RSA-SHA256", Buffer.from(input), privateKey).toString("base64url");
  return { ...plain, jws: `${input}.${signature}` };
}

/** Stores `count` attestations as one call, from number `from` on. */
export function attestTo(driver: Driver, from: number, count: number) {
  const attestations = Array.from({ length: count }, (_, at) => aSignedAttestation(from + at));
  return attest(driver, attestations);
}

/** Makes the parts of one service over a database, with its own clock and pinned checkpoint. */
export function aNode(driver: Driver, pinned = aPinnedCheckpoint()) {
  const stores = createStores(driver);
  const { evidence: store, settings } = stores;
  const clock = aClock(new Date(startAt).toISOString());
  const dependencies = { store, pinned, secrets, clock, issuer };
  const retaining = { evidence: store, settings, secrets, pinned, clock };
  const writer = createLogWriter(dependencies);
  /** Sets the clock to the time at which the first `count` attestations are ninety days old. */
  const age = (count: number) => clock.set(new Date(startAt + (count + 1) * 1000 + 90 * dayMs).toISOString());
  return { driver, stores, store, clock, pinned, dependencies, retaining, writer, age };
}

/** A database file and the pinned checkpoint, which is outside the database; null if none is pinned. */
export type State = { readonly file: string; readonly pinned: string | null };

/** Opens a database as a service with its own pinned checkpoint, and runs a function. @returns the state afterwards */
export async function acting<T>(
  { file, pinned: note }: State,
  run: (node: ReturnType<typeof aNode>) => Promise<T>,
): Promise<{ state: State; result: T }> {
  const driver = await openDatabaseFile({ file });
  const pinned = aPinnedCheckpoint(note);
  try {
    const result = await run(aNode(driver, pinned));
    return { state: { file, pinned: pinned.note }, result };
  } finally {
    await driver.close();
  }
}

/** Makes a database with a log of `count` attestations, and signs a checkpoint after every twenty. */
export async function makeLog(folder: string, count: number): Promise<State> {
  const empty = { file: join(folder, "made.db"), pinned: null };
  const { state } = await acting(empty, async ({ driver, stores, clock, dependencies }) => {
    await applySchema(driver);
    await fillRing(stores.keys, clock.now());
    await ensureFirstLog(dependencies);
  });
  return attestMore(state, 0, count);
}

/** Adds `count` attestations to a state, from number `from` on, and signs a checkpoint after every twenty. */
export async function attestMore(state: State, from: number, count: number): Promise<State> {
  const acted = await acting(state, async ({ driver, clock, writer }) => {
    for (let n = from; n < from + count; n += batchOf) {
      await attestTo(driver, n + 1, Math.min(batchOf, from + count - n));
      clock.set(new Date(startAt + (n + batchOf) * 1000).toISOString());
      await writer.checkpoint();
    }
  });
  return acted.state;
}

/** Deletes the first `count` attestations by retention, ninety days after they were issued. */
export async function prune(state: State, count: number): Promise<void> {
  await acting(state, async ({ stores, age, retaining }) => {
    await stores.settings.write(makeRetentionSettings("90d", secrets));
    age(count);
    await pruneAttestations(retaining);
  });
}

/** Begins a new log over a state, and signs its first checkpoint. */
export async function beginAnother(state: State): Promise<State> {
  const acted = await acting(state, async ({ dependencies, writer }) => {
    await beginNextLog(dependencies, "a test");
    await writer.checkpoint();
  });
  return acted.state;
}

/** Copies a state and changes the copy with SQL. */
export async function tampered(state: State, statements: readonly (string | SqlStatement)[]): Promise<State> {
  const file = `${state.file}-${crypto.randomUUID()}`;
  const source = await openDatabaseFile({ file: state.file });
  await source.copyTo(file);
  await source.close();
  const driver = await openDatabaseFile({ file });
  await driver.batch(statements.map((one) => (typeof one === "string" ? { sql: one, args: [] } : one)));
  await driver.close();
  return { ...state, file };
}

/** Copies a state. */
export function copyOf(state: State): Promise<State> {
  return tampered(state, []);
}

/** Audits a state. @param allSignatures whether to verify every signature */
export async function audit(state: State, allSignatures = false): Promise<AuditResult> {
  const { result } = await acting(state, ({ driver }) => auditDatabase(driver, state.pinned, allSignatures));
  return result;
}

/** Audits an open database, whose attestations {@link signingKey} has signed. */
export async function auditDatabase(driver: Driver, pinned: string | null, allSignatures = false) {
  const own = { store: createStores(driver).evidence, secrets, settle: async () => {}, onProgress() {} };
  const result = await auditEvidenceLog({ ...own, pinned, keys: [signingKey], allSignatures });
  if (result === null) throw new Error("there is no log");
  return result;
}

/** Reads the signed notes of all stored checkpoints, in order of size. */
export const notesIn = async (driver: Driver) =>
  (await driver.query("SELECT note FROM log_checkpoints ORDER BY size, log")).map(({ note }) => String(note));
