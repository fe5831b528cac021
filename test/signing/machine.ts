import { afterEach, beforeEach, expect } from "bun:test";
import { Worker } from "node:worker_threads";
import { systemClock } from "../../src/domain/clock.ts";
import type { KeyRing } from "../../src/domain/keys.ts";
import { configureLog } from "../../src/logger.ts";
import { type CryptoMb, findCryptoMb, openCryptoMb } from "../../src/signing/crypto-mb.ts";
import { openSigner, type ServiceSigner, type SignerOptions } from "../../src/signing/signer.ts";
import { until } from "../harness/eventually.ts";
import { aRing, isSignedBy } from "../harness/keys.ts";
import { mainUrl } from "../harness/program.ts";
import { secrets } from "../harness/samples.ts";

const file = process.env.TVS_CRYPTO_MB ?? findCryptoMb();

/** crypto_mb; null if this machine lacks the library or AVX-512 IFMA. */
export const cryptoMb: CryptoMb | null =
  file === undefined ? null : await openCryptoMb(file).catch(() => null);

/** The path of crypto_mb; undefined if this machine cannot use it. */
export const cryptoMbFile = cryptoMb === null ? undefined : file;

/** Makes a test's options for signer threads, and collects the workers that are started. */
export function signerThreads(count: number) {
  const workers: Worker[] = [];
  const options: SignerOptions["threads"] & object = {
    count,
    clock: systemClock,
    start(data) {
      const worker = new Worker(mainUrl, { workerData: { role: "signer", ...data } });
      workers.push(worker);
      return worker;
    },
  };
  return { options, workers };
}

/** Expects each input to have its own signature by a key. */
export function expectSigned(
  ring: KeyRing,
  kid: string,
  inputs: readonly string[],
  signed: readonly string[] = [],
) {
  const wrong = inputs.filter((input, i) => !isSignedBy(ring, kid, { input, signature: signed[i] ?? "" }));
  expect(wrong).toEqual([]);
}

/** Signs until `count` signer threads run, because a thread starts only when signatures wait. */
export async function startThreads(signer: ServiceSigner, kid: string, count: number): Promise<void> {
  await until(async () => {
    await signer.sign(kid, ["one", "two", "three"], { bulk: true });
    return signer.threads().running === count;
  });
}

/** Opens a signer with its threads for a test, and loads the ring of the keys `active` and `pending`. */
export async function withSigner(
  options: Omit<SignerOptions, "secrets">,
  act: (signer: ServiceSigner, ring: KeyRing) => Promise<void>,
): Promise<void> {
  const signer = await openSigner({ secrets, ...options });
  const ring = await aRing("active", "pending");
  try {
    await signer.load(ring);
    await act(signer, ring);
  } finally {
    await signer.close();
  }
}

/** Collects the lines of the log during each test of a file. */
export function collectLog(): { level: string; message: string }[] {
  const logged: { level: string; message: string }[] = [];
  beforeEach(() => {
    logged.length = 0;
    configureLog((line) => logged.push(JSON.parse(line)));
  });
  afterEach(() => configureLog(() => {}));
  return logged;
}
