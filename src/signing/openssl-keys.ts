import { Buffer } from "node:buffer";
import { TvsError } from "../domain/errors.ts";
import { type KeyRing, pkcs8Of, type SigningKey } from "../domain/keys.ts";
import type { Secrets } from "../domain/secrets.ts";
import { log } from "../logger.ts";
import type { CryptoMb, LaneKey } from "./crypto-mb.ts";
import { knownHash } from "./known-answer.ts";
import type { Libcrypto, LoadedKey } from "./libcrypto.ts";

/** A key in this thread's OpenSSL, and in its crypto_mb. Who uses it over more than one turn counts itself in `users`. */
export type OpensslKey = { readonly loaded: LoadedKey; lanes: LaneKey | null; users: number };

/** The keys that this thread signs with. */
export function createOpensslKeys(libcrypto: Libcrypto, cryptoMb: CryptoMb | null, secrets: Secrets) {
  let keys = new Map<string, OpensslKey>();
  /** Keys that have left the ring, and that somebody still uses. */
  let leaving: OpensslKey[] = [];

  function loadKey(key: SigningKey): OpensslKey {
    const pkcs8 = pkcs8Of(key, secrets);
    try {
      const loaded = libcrypto.loadKey(pkcs8);
      if (loaded === null) {
        throw new TvsError("SIGNER_UNAVAILABLE", "OpenSSL does not read the signing key");
      }
      return { loaded, lanes: cryptoMb && lanesOf(cryptoMb, loaded), users: 0 };
    } finally {
      pkcs8.fill(0);
    }
  }

  /** Frees the keys that are not found any more, and that nobody uses. */
  function freeUnused(): void {
    for (const key of leaving) if (key.users === 0) free(key);
    leaving = leaving.filter(({ users }) => users > 0);
  }

  return {
    find: (kid: string) => keys.get(kid),
    /**
     * Makes the ring's active and pending keys those that are found; null for none. When one cannot be loaded, those
     * from before stay.
     * @throws TvsError SIGNER_UNAVAILABLE when OpenSSL does not take one, and what opening a sealed key throws
     */
    change(ring: KeyRing | null): void {
      const wanted = ring === null ? [] : [ring.active, ring.pending];
      const next = new Map<string, OpensslKey>();
      try {
        for (const key of wanted) next.set(key.kid, keys.get(key.kid) ?? loadKey(key));
      } catch (error) {
        for (const [kid, key] of next) if (!keys.has(kid)) free(key);
        throw error;
      }
      leaving.push(...[...keys].filter(([kid]) => !next.has(kid)).map(([, key]) => key));
      keys = next;
      freeUnused();
    },
    freeUnused,
  };
}

function free({ loaded, lanes }: OpensslKey): void {
  lanes?.free();
  loaded.free();
}

/** @returns null when crypto_mb does not take the key, or signs with it otherwise than OpenSSL */
export function lanesOf(cryptoMb: CryptoMb, loaded: LoadedKey): LaneKey | null {
  const lanes = cryptoMb.loadKey(loaded);
  const [made] = lanes?.sign([knownHash]) ?? [];
  if (made !== undefined && Buffer.compare(made, loaded.sign(knownHash) ?? new Uint8Array()) === 0)
    return lanes;
  lanes?.free();
  log.info("crypto_mb does not sign with this key; OpenSSL does", { bits: loaded.bytes * 8 });
  return null;
}
