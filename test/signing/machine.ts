import { expect } from "bun:test";
import { Worker } from "node:worker_threads";
import { systemClock } from "../../src/domain/clock.ts";
import type { KeyRing } from "../../src/domain/keys.ts";
import { type CryptoMb, findCryptoMb, openCryptoMb } from "../../src/signing/crypto-mb.ts";
import { type ChosenSigner, openSigner, type SignerOptions } from "../../src/signing/signer.ts";
import { until } from "../harness/eventually.ts";
import { isSignedBy } from "../harness/keys.ts";
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
export async function startThreads(signer: ChosenSigner, kid: string, count: number): Promise<void> {
  await until(async () => {
    await signer.sign(kid, ["one", "two", "three"], { bulk: true });
    return signer.threads().running === count;
  });
}

/** Runs a function with a signer, which is closed afterwards. */
export async function withSigner(
  options: Omit<SignerOptions, "secrets">,
  act: (signer: ChosenSigner) => Promise<void>,
): Promise<void> {
  const signer = await openSigner({ secrets, ...options });
  try {
    await act(signer);
  } finally {
    await signer.close();
  }
}
