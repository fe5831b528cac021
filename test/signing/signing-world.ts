import { Buffer } from "node:buffer";
import { createPublicKey, createVerify } from "node:crypto";
import { Worker } from "node:worker_threads";
import { type KeyRing, keyRing } from "../../src/domain/keys.ts";
import type { Job } from "../../src/signing/job-queue.ts";
import { openPool, type Pool } from "../../src/signing/pool.ts";
import type { StartSigningWorker } from "../../src/signing/thread.ts";
import { secrets } from "../domain/samples.ts";
import { fixtureKey } from "../domain/store-world.ts";

const entry = new URL("../../cli/main.ts", import.meta.url);

/** A signing thread as `serve` starts it. */
export const start: StartSigningWorker = (data) =>
  new Worker(entry, { workerData: { role: "signer", ...data } });

type KeyName = Parameters<typeof fixtureKey>[0];

export async function aRing(activeName: KeyName, pendingName: KeyName): Promise<KeyRing> {
  const active = { ...(await fixtureKey(activeName, 0)), state: "active" as const };
  return keyRing([active, await fixtureKey(pendingName, 0)]);
}

/** Checks with a library of its own, neither WebCrypto nor the pool. */
export function verifies(ring: KeyRing, kid: string, asked: { input: string; signature: string }): boolean {
  const jwk = ring.keys.find((key) => key.kid === kid)?.jwk;
  const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
  return createVerify("RSA-SHA256")
    .update(asked.input)
    .verify(key, Buffer.from(asked.signature, "base64url"));
}

export type PoolWorld = {
  readonly pool: Pool;
  /** Reasons of the replacements so far. */
  readonly replaced: string[];
  /** Reason of the breakdown, when there was one. */
  readonly broken: string[];
  readonly takenOver: Job[];
};

/** A pool that is closed again, whatever happens. */
export async function withPool<T>(
  options: { threadCount?: number; waitAtMost?: number; start?: StartSigningWorker },
  act: (world: PoolWorld) => Promise<T>,
): Promise<T> {
  const replaced: string[] = [];
  const broken: string[] = [];
  const takenOver: Job[] = [];
  const pool = await openPool({
    secrets,
    start,
    ...options,
    onReplaced: (reason) => replaced.push(reason),
    onBroken: (reason) => broken.push(reason),
    takeOver: (jobs) => takenOver.push(...jobs),
  });
  try {
    return await act({ pool, replaced, broken, takenOver });
  } finally {
    await pool.close();
  }
}
