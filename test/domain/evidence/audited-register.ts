import { Buffer } from "node:buffer";
import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { createStores } from "../../../cli/open.ts";
import type { Attestation } from "../../../src/domain/attestations.ts";
import { type AuditResult, auditLog } from "../../../src/domain/evidence/audit.ts";
import { createSignatureChecks } from "../../../src/domain/evidence/audit-rows.ts";
import { createEvidenceBuilder } from "../../../src/domain/evidence/builder.ts";
import { isChained } from "../../../src/domain/evidence/chain.ts";
import { ensureLog } from "../../../src/domain/evidence/epochs.ts";
import {
  beginRetention,
  leastRetentionMs,
  readMark,
  retentionSettings,
} from "../../../src/domain/evidence/retention-mark.ts";
import { openNextEpoch } from "../../../src/domain/evidence/succession.ts";
import { pruneAttestations } from "../../../src/domain/pruning.ts";
import type { Statement, Value } from "../../../src/store/driver/driver.ts";
import { openFile } from "../../../src/store/driver/file.ts";
import { makeSchema } from "../../../src/store/driver/schema.ts";
import { createAuditStore } from "../../../src/store/evidence/audit.ts";
import { openPinnedCheckpoint } from "../../../src/store/evidence/pinned-checkpoint.ts";
import { aClock } from "../../harness/clock.ts";
import { aPinnedCheckpoint, attest } from "../../harness/evidence.ts";
import { fixtureKey, readKey } from "../../harness/keys.ts";
import { anAttestation, secrets } from "../../harness/samples.ts";

const issuer = "https://verify.example.org";
const startAt = "2026-05-01T09:00:00Z";
/** Whoever asks later knows that nothing of it can be old enough to be deleted. */
const askedAt = Date.parse("2026-06-01T00:00:00Z");
const batchOf = 20;

type Signer = { readonly kid: string; readonly privateKey: KeyObject };

/** Attestation `n` with a result that its row agrees with, really signed. */
export function aSignedAttestation(n: number, { kid, privateKey }: Signer): Attestation {
  const plain = anAttestation(n, { issuedAt: Math.floor(Date.parse(startAt) / 1000) + n, kid });
  const { verificationId, partnerId, issuedAt, status, eligible } = plain;
  const result = { found: true, source: "new_system", status, eligible, reasons: [], number: n };
  const claims = { iss: issuer, aud: partnerId, sub: verificationId, iat: issuedAt, result };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const input = `${part({ alg: "RS256", kid, typ: "JWT" })}.${part(claims)}`;
  return {
    ...plain,
    jws: `${input}.${sign("RSA-SHA256", Buffer.from(input), privateKey).toString("base64url")}`,
  };
}

/** A register with a log that was rotated twice, over two epochs, in a file of its own. */
export type AuditedRegister = {
  /** The newest state, and what is known of it outside. */
  readonly file: string;
  readonly head: string;
  /** The state after 160 attestations, and what was known outside at the end of that epoch. */
  readonly earlier: string;
  readonly closing: string;
  /** Of the first attestations. */
  readonly signer: Signer;
};

/** Ids 1 to 300 are in the first epoch, 301 to 340 in the second; checkpoints at every twentieth. */
export async function makeRegister(folder: string): Promise<AuditedRegister> {
  const file = join(folder, "whole.db");
  const driver = await openFile({ file: join(folder, "tvs.db") });
  const earlier = join(folder, "earlier.db");
  const headFile = join(folder, "log.checkpoint");
  const clock = aClock(startAt);
  await makeSchema(driver);
  const stores = createStores(driver);
  const signers = await makeSigners(stores.keys, clock.now());
  const opening = { store: stores.evidence, secrets, issuer, clock };
  await ensureLog(opening);
  const onFirst = async () => {
    await beginRetention({ ...stores, secrets }, { now: clock.now() });
  };
  const builder = createEvidenceBuilder({
    store: stores.evidence,
    head: openPinnedCheckpoint(headFile),
    secrets,
    clock,
    onFirst,
  });
  let n = 0;
  async function attestTo(last: number): Promise<void> {
    for (; n < last; n += batchOf) {
      const signer = signers[Math.floor(n / 100) % signers.length] as Signer;
      const length = Math.min(batchOf, last - n);
      await attest(
        driver,
        Array.from({ length }, (_, at) => aSignedAttestation(n + at + 1, signer)),
      );
      clock.add(batchOf * 1000);
      await builder.checkpoint();
    }
    n = last;
  }
  await attestTo(160);
  await driver.copyTo(earlier);
  await attestTo(300);
  const closing = (await stores.evidence.newest())?.note ?? "";
  await openNextEpoch({ ...opening, head: openPinnedCheckpoint(headFile) }, "a test");
  await attestTo(340);
  const head = openPinnedCheckpoint(headFile).read() ?? "";
  // One file, with nothing of it in a log beside: it is copied again and again.
  await driver.copyTo(file);
  await driver.close();
  return { file, earlier, head, closing, signer: signers[0] as Signer };
}

async function makeSigners(keys: ReturnType<typeof createStores>["keys"], now: number): Promise<Signer[]> {
  const names = ["active", "retired", "pending"] as const;
  const [active, retired, pending] = await Promise.all(names.map((name) => fixtureKey(name, now)));
  if (active === undefined || retired === undefined || pending === undefined) throw new Error("no keys");
  await keys.create({ ...active, state: "active", activatedAt: now }, retired);
  await keys.replacePending({ pending: retired.kid, next: pending, at: now });
  return names.map((name, at) => ({
    kid: [active, retired, pending][at]?.kid ?? "",
    privateKey: createPrivateKey(readKey(name)),
  }));
}

export type Audited = {
  readonly file: string;
  readonly head: string | null;
  readonly now?: number;
  readonly all?: boolean;
};

/** Audits a file. */
export async function auditFile({ file, head, now = askedAt, all = false }: Audited): Promise<AuditResult> {
  const driver = await openFile({ file });
  try {
    const { evidence, maintenance, keys } = createStores(driver);
    const known = [head, (await evidence.newest())?.note ?? null];
    const isOld = !known.some(isChained);
    const result = await auditLog({
      store: createAuditStore(driver),
      epochs: evidence.epochs,
      head,
      secrets,
      now,
      mark: () => readMark({ maintenance, secrets }, { isOld, now }),
      signatures: createSignatureChecks(await keys.list(), { all }),
      onProgress() {},
    });
    if (result === null) throw new Error("there is no log");
    return result;
  } finally {
    await driver.close();
  }
}

/**
 * Lets retention delete the first `count` attestations, as the service does when they have become ninety days old.
 * @param head the checkpoint beside the master key
 * @returns how many it deleted, and with which ones it had to stop
 */
export async function prune(
  { file, head }: Pick<Audited, "file" | "head">,
  count: number,
): Promise<{ deleted: number; held: number[] }> {
  const driver = await openFile({ file });
  try {
    const stores = createStores(driver);
    await stores.settings.write(retentionSettings("90d", secrets));
    const clock = aClock(new Date(Date.parse(startAt) + (count + 1) * 1000 + leastRetentionMs).toISOString());
    const pruning = { ...stores, head: aPinnedCheckpoint(head), secrets };
    const held: number[] = [];
    const deleted = await pruneAttestations(pruning, { clock, onHeld: (id) => held.push(id) });
    return { deleted, held };
  } finally {
    await driver.close();
  }
}

/** Lets the service go on over a file. @returns the newest checkpoint then */
export async function goOn(file: string, head: string): Promise<string> {
  const driver = await openFile({ file });
  try {
    const outside = openPinnedCheckpoint(`${file}.checkpoint`);
    await outside.write(head);
    const { evidence } = createStores(driver);
    await createEvidenceBuilder({
      store: evidence,
      head: outside,
      secrets,
      clock: aClock("2026-05-02T09:00:00Z"),
    }).checkpoint();
    return outside.read() ?? "";
  } finally {
    await driver.close();
  }
}

export async function query(file: string, sql: string, args: readonly Value[] = []) {
  const driver = await openFile({ file });
  return driver.query(sql, args).finally(driver.close);
}

/** A copy of the register with its rows changed by hand. */
export async function tamper(
  from: string,
  to: string,
  statements: readonly (string | Statement)[],
): Promise<void> {
  copyFileSync(from, to);
  const driver = await openFile({ file: to });
  try {
    await driver.batch(statements.map((one) => (typeof one === "string" ? { sql: one, args: [] } : one)));
  } finally {
    await driver.close();
  }
}

/** The first finding in short, of what kinds all are, and the rest of the result. */
export function inShort({ findings: all, ...others }: AuditResult) {
  const [first] = all;
  const { what, id, index, verificationId, says } = first ?? {};
  return { what, id, index, verificationId, says, kinds: all.map((one) => one.what), ...others };
}

let copies = 0;

/** Audits a copy of a register that was changed by hand, of its newest state unless another one is named. */
export async function auditTampered(
  { file, head: newest }: Pick<AuditedRegister, "file" | "head">,
  statements: readonly (string | Statement)[],
  { from = file, head = newest, ...options }: Partial<Audited> & { readonly from?: string } = {},
) {
  const copy = `${file}-tampered-${++copies}`;
  await tamper(from, copy, statements);
  return inShort(await auditFile({ file: copy, head, ...options }));
}

/** A row of which everything is as in the second one, but for what must differ. */
export const insertLike2 = (own: {
  id: number;
  verificationId: string;
  jws: string;
  issuedAt?: number;
}): Statement => ({
  sql: `INSERT INTO attestations SELECT ?1, ?2, partner_id, coalesce(?4, issued_at), kid, endpoint, purpose, policy_version,
    teacher_id, reference, nin_index, status, eligible, context, credential, request_id, ?3 FROM attestations WHERE id = 2`,
  args: [own.id, own.verificationId, own.jws, own.issuedAt ?? null],
});

/** Moves attestations from an id on. */
export const renumber = (from: number, by: number) => [
  `UPDATE attestations SET id = -id WHERE id >= ${from}`,
  `UPDATE attestations SET id = -id + ${by} WHERE id < 0`,
];
