import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../src/config.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { generateKey } from "../../src/domain/keys.ts";
import { deriveSecrets, newMasterKey } from "../../src/domain/secrets.ts";
import { type ChosenSigner, openSigner } from "../../src/signing/signer.ts";
import { signingThreads, workerEntry } from "../entry.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const measureMs = 200;
const inFlight = 64;
/** Slower than this, a batch of a hundred takes longer than a caller waits. */
const slowPerSecond = 100;
const name = "signing";

/** Which engine `serve` would sign with, and how fast it is, on a key that is thrown away. */
export async function checkSigning({ signingEngine }: Config): Promise<Check> {
  let signer: ChosenSigner | undefined;
  try {
    const secrets = deriveSecrets(newMasterKey());
    const key = await generateKey(secrets, 2048, Date.now());
    signer = await openSigner({ secrets, engine: signingEngine, start: signingThreads(workerEntry()) });
    await signer.chosen;
    await signer.load({ keys: [key], active: key, pending: key });
    return judgeSigning(signer, await measure(signer, key.kid));
  } catch (error) {
    if (isTvsError(error, "CONFIG_INVALID")) return fail(name, "`tvs serve` would not start", error.message);
    const advice = "use the tvs executable, or a current Bun or Deno";
    return fail(name, "this runtime cannot sign with RSA", advice);
  } finally {
    await signer?.close();
  }
}

/** @param perSecond signatures that were made in a second */
export function judgeSigning(signer: Pick<ChosenSigner, "engine" | "reason">, perSecond: number): Check {
  const reason = signer.reason();
  const instead = reason === null ? "" : ` (instead of OpenSSL: ${reason})`;
  const found = `${signer.engine().description}, ${perSecond} RSA-2048 signatures a second${instead}`;
  return perSecond < slowPerSecond
    ? warn(name, found, "give the service more processor time")
    : ok(name, found);
}

async function measure(signer: ChosenSigner, kid: string): Promise<number> {
  const lane = async (until: () => boolean) => {
    let count = 0;
    for (; !until(); count++) await signer.sign(kid, "probe");
    return count;
  };
  let isOver = false;
  const startedAt = performance.now();
  const lanes = Array.from({ length: inFlight }, () => lane(() => isOver));
  await sleep(measureMs);
  isOver = true;
  const counts = await Promise.all(lanes);
  const total = counts.reduce((sum, count) => sum + count, 0);
  return Math.round((total * 1000) / (performance.now() - startedAt));
}
