import { Buffer } from "node:buffer";
import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { join } from "node:path";
import { createStores } from "../../../cli/open.ts";
import type { Attestation } from "../../../src/domain/attestations.ts";
import { type AuditResult, auditLog } from "../../../src/domain/evidence/audit.ts";
import { createSignatureChecks } from "../../../src/domain/evidence/audit-rows.ts";
import { beginNextLog, createLogWriter } from "../../../src/domain/evidence/checkpoint.ts";
import { ensureLog } from "../../../src/domain/evidence/log.ts";
import { pruneAttestations, retentionSettings } from "../../../src/domain/evidence/retention.ts";
import type { Statement } from "../../../src/store/driver/driver.ts";
import { openFile } from "../../../src/store/driver/file.ts";
import { makeSchema } from "../../../src/store/driver/schema.ts";
import { aClock } from "../../harness/clock.ts";
import { aPinnedCheckpoint, attest } from "../../harness/evidence.ts";
import { fixtureKey, readKey } from "../../harness/keys.ts";
import { anAttestation, secrets } from "../../harness/samples.ts";

const issuer = "https://verify.example.org";
const startAt = Date.parse("2026-05-01T09:00:00Z");
const batchOf = 20;

export type Signer = { readonly kid: string; readonly privateKey: KeyObject };

/** Attestation `n` with a result that its row agrees with, really signed. */
export function aSignedAttestation(n: number, { kid, privateKey }: Signer): Attestation {
  const plain = anAttestation(n, { issuedAt: startAt / 1000 + n, kid });
  const { verificationId, partnerId, issuedAt, status, eligible } = plain;
  const result = { found: true, source: "new_system", status, eligible, reasons: [], number: n };
  const claims = { iss: issuer, aud: partnerId, sub: verificationId, iat: issuedAt, result };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const input = `${part({ alg: "RS256", kid, typ: "JWT" })}.${part(claims)}`;
  const signature = sign("RSA-SHA256", Buffer.from(input), privateKey).toString("base64url");
  return { ...plain, jws: `${input}.${signature}` };
}

/** A state of a database in a file, and the checkpoint that is pinned beside it. */
export type State = { readonly file: string; readonly pinned: string | null };

/** Acts on a file as a service with its pinned checkpoint does. @returns the state that is left */
export async function acting<T>(
  { file, pinned: note }: State,
  act: (opened: ReturnType<typeof openRegister>) => Promise<T>,
): Promise<{ state: State; result: T }> {
  const driver = await openFile({ file });
  const pinned = aPinnedCheckpoint(note);
  try {
    const result = await act(openRegister(driver, pinned));
    return { state: { file, pinned: pinned.note }, result };
  } finally {
    await driver.close();
  }
}

function openRegister(
  driver: Awaited<ReturnType<typeof openFile>>,
  pinned: ReturnType<typeof aPinnedCheckpoint>,
) {
  const stores = createStores(driver);
  const clock = aClock(new Date(startAt).toISOString());
  const dependencies = { store: stores.evidence, pinned, secrets, clock, issuer };
  return { driver, stores, clock, pinned, dependencies, writer: createLogWriter(dependencies) };
}

/** Makes a database with a log of `count` attestations, with a checkpoint after each twenty. */
export async function makeLog(folder: string, count: number): Promise<State & { signer: Signer }> {
  const file = join(folder, "made.db");
  const driver = await openFile({ file });
  await makeSchema(driver);
  await driver.close();
  let signer: Signer | undefined;
  const { state } = await acting({ file, pinned: null }, async ({ stores, clock, dependencies }) => {
    signer = await makeSigner(stores.keys, clock.now());
    await ensureLog(dependencies);
  });
  return {
    ...(await attestMore(state, { from: 0, count, signer: signer as Signer })),
    signer: signer as Signer,
  };
}

/** Answers more calls over a state, from attestation `from` on. */
export async function attestMore(
  state: State,
  { from, count, signer }: { from: number; count: number; signer: Signer },
): Promise<State> {
  const acted = await acting(state, async ({ driver, clock, writer }) => {
    for (let n = from; n < from + count; n += batchOf) {
      const length = Math.min(batchOf, from + count - n);
      const made = Array.from({ length }, (_, at) => aSignedAttestation(n + at + 1, signer));
      await attest(driver, made);
      clock.set(new Date(startAt + (n + batchOf) * 1000).toISOString());
      await writer.checkpoint();
    }
  });
  return acted.state;
}

async function makeSigner(keys: ReturnType<typeof createStores>["keys"], now: number): Promise<Signer> {
  const [active, pending] = [await fixtureKey("active", now), await fixtureKey("pending", now)];
  await keys.create({ ...active, state: "active", activatedAt: now }, pending);
  return { kid: active.kid, privateKey: createPrivateKey(readKey("active")) };
}

/** Lets retention delete the first `count` attestations, when they have become ninety days old. */
export async function prune(state: State, count: number): Promise<{ deleted: number; held: number[] }> {
  const { result } = await acting(state, async ({ stores, clock, pinned }) => {
    await stores.settings.write(retentionSettings("90d", secrets));
    clock.set(new Date(startAt + (count + 1) * 1000 + 90 * 86_400_000).toISOString());
    const held: number[] = [];
    const retaining = { evidence: stores.evidence, settings: stores.settings, secrets, pinned, clock };
    const deleted = await pruneAttestations(retaining, { onHeld: (id) => held.push(id) });
    return { deleted, held };
  });
  return result;
}

/** Begins a new log, and signs for it. */
export async function beginAnother(state: State): Promise<State> {
  const acted = await acting(state, async ({ dependencies, writer }) => {
    await beginNextLog(dependencies, "a test");
    await writer.checkpoint();
  });
  return acted.state;
}

/** A copy of a state whose rows were changed by hand. */
export async function tampered(state: State, statements: readonly (string | Statement)[]): Promise<State> {
  const file = `${state.file}-${crypto.randomUUID()}`;
  const source = await openFile({ file: state.file });
  await source.copyTo(file);
  await source.close();
  const driver = await openFile({ file });
  await driver.batch(statements.map((one) => (typeof one === "string" ? { sql: one, args: [] } : one)));
  await driver.close();
  return { ...state, file };
}

/** A copy of a file's state. */
export function copyOf(state: State): Promise<State> {
  return tampered(state, []);
}

/** Audits a state. @param all whether to verify every signature */
export async function audit(state: State, all = false): Promise<AuditResult> {
  const { result } = await acting(state, async ({ stores }) =>
    auditLog({
      store: stores.evidence,
      pinned: state.pinned,
      secrets,
      signatures: createSignatureChecks(await stores.keys.list(), { all }),
      settle: async () => {},
      onProgress() {},
    }),
  );
  if (result === null) throw new Error("there is no log");
  return result;
}
