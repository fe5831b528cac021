import { Buffer } from "node:buffer";
import type { Signer } from "../domain/envelopes.ts";
import { TvsError } from "../domain/errors.ts";
import { type KeyRing, privateKeyOf } from "../domain/keys.ts";
import type { Secrets } from "../domain/secrets.ts";

/** A signer whose keys follow the ring. */
export type LoadedSigner = Signer & {
  /** Unseals the ring's active and pending keys and forgets all others. */
  load(ring: KeyRing): Promise<void>;
};

const algorithm = "RSASSA-PKCS1-v1_5";

/** Signs with WebCrypto, which both runtimes run on threads of their own. */
export function createWebCryptoSigner(secrets: Secrets): LoadedSigner {
  let keys = new Map<string, CryptoKey>();

  return {
    async load(ring) {
      const wanted = [ring.active, ring.pending];
      const loaded = await Promise.all(
        wanted.map(
          async (key) => [key.kid, keys.get(key.kid) ?? (await privateKeyOf(key, secrets))] as const,
        ),
      );
      keys = new Map(loaded);
    },
    async sign(kid, input) {
      const key = keys.get(kid);
      if (key === undefined)
        throw new TvsError("SIGNER_UNAVAILABLE", "the signing key is not loaded; try again");
      const signature = await crypto.subtle.sign(algorithm, key, new Uint8Array(Buffer.from(input)));
      return Buffer.from(signature).toString("base64url");
    },
  };
}
