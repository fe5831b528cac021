import { generateKey } from "../src/domain/keys.ts";
import { deriveSecrets, newMasterKey } from "../src/domain/secrets.ts";
import { createWebCryptoSigner } from "../src/signing/webcrypto.ts";
import { type Check, fail, ok, warn } from "./doctor-check.ts";

const measureMs = 200;
const inFlight = 32;
/** Slower than this, a batch of a hundred takes longer than a caller waits. */
const slowPerSecond = 100;

/** Measures the engine that `serve` signs with, on a key that is thrown away. */
export async function checkSigning(): Promise<Check> {
  const name = "signing";
  try {
    const secrets = deriveSecrets(newMasterKey());
    const key = await generateKey(secrets, 2048, Date.now());
    const signer = createWebCryptoSigner(secrets);
    await signer.load({ keys: [key], active: key, pending: key });
    const perSecond = await measure(() => signer.sign(key.kid, "probe"));
    const found = `WebCrypto, ${perSecond} RSA-2048 signatures a second`;
    return perSecond < slowPerSecond
      ? warn(name, found, "give the service more processor time")
      : ok(name, found);
  } catch {
    return fail(
      name,
      "this runtime cannot sign with RSA",
      "use the tvs executable, or a current Bun or Deno",
    );
  }
}

async function measure(sign: () => Promise<string>): Promise<number> {
  await sign();
  const startedAt = performance.now();
  let count = 0;
  async function lane(): Promise<void> {
    while (performance.now() - startedAt < measureMs) {
      await sign();
      count++;
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane));
  return Math.round((count * 1000) / (performance.now() - startedAt));
}
