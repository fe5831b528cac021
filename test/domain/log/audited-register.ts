import { Buffer } from "node:buffer";
import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { createStores } from "../../../cli/open.ts";
import type { Attestation } from "../../../src/domain/attestations.ts";
import { type AuditResult, auditLog } from "../../../src/domain/log/audit.ts";
import { createBlockReader } from "../../../src/domain/log/audit-blocks.ts";
import { createSignatureChecks } from "../../../src/domain/log/audit-rows.ts";
import { ensureLog } from "../../../src/domain/log/epochs.ts";
import { createLogKeeper } from "../../../src/domain/log/keeper.ts";
import { openNextEpoch } from "../../../src/domain/log/succession.ts";
import type { SqlStatement } from "../../../src/store/driver/driver.ts";
import { openEmbedded } from "../../../src/store/driver/embedded.ts";
import { migrate } from "../../../src/store/driver/migrations.ts";
import { createAuditStore } from "../../../src/store/log-audit.ts";
import { openLogHead } from "../../../src/store/log-head.ts";
import { aClock } from "../../harness/clock.ts";
import { attest } from "../../harness/evidence.ts";
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
  const driver = await openEmbedded({ file: join(folder, "tvs.db") });
  const earlier = join(folder, "earlier.db");
  const headFile = join(folder, "log.checkpoint");
  const clock = aClock(startAt);
  await migrate(driver, clock.now());
  const stores = createStores(driver);
  const signers = await makeSigners(stores.keys, clock.now());
  const opening = { store: stores.log, secrets, issuer, now: clock.now() };
  await ensureLog(opening);
  const keeper = createLogKeeper({ store: stores.log, head: openLogHead(headFile), secrets, clock });
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
      await keeper.checkpoint();
    }
    n = last;
  }
  await attestTo(160);
  await driver.copyTo(earlier);
  await attestTo(300);
  const closing = (await stores.log.newest())?.note ?? "";
  await openNextEpoch({ ...opening, head: openLogHead(headFile) }, "a test");
  await attestTo(340);
  const head = openLogHead(headFile).read() ?? "";
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
  const driver = await openEmbedded({ file });
  try {
    const { log, maintenance, keys } = createStores(driver);
    const store = createAuditStore(driver);
    const signatures = createSignatureChecks(await keys.list(), { all });
    const result = await auditLog({
      store,
      epochs: log.epochs,
      head,
      secrets,
      now,
      kept: maintenance.kept,
      signatures,
      readBlock: createBlockReader(store, signatures),
      onProgress() {},
    });
    if (result === null) throw new Error("there is no log");
    return result;
  } finally {
    await driver.close();
  }
}

/** Lets the service go on over a file. @returns the newest checkpoint then */
export async function goOn(file: string, head: string): Promise<string> {
  const driver = await openEmbedded({ file });
  try {
    const outside = openLogHead(`${file}.checkpoint`);
    await outside.write(head);
    const { log } = createStores(driver);
    await createLogKeeper({
      store: log,
      head: outside,
      secrets,
      clock: aClock("2026-05-02T09:00:00Z"),
    }).checkpoint();
    return outside.read() ?? "";
  } finally {
    await driver.close();
  }
}

/** A copy of the register with its rows changed by hand. */
export async function tamper(
  from: string,
  to: string,
  statements: readonly (string | SqlStatement)[],
): Promise<void> {
  copyFileSync(from, to);
  const driver = await openEmbedded({ file: to });
  try {
    await driver.batch(statements.map((one) => (typeof one === "string" ? { sql: one, args: [] } : one)));
  } finally {
    await driver.close();
  }
}
