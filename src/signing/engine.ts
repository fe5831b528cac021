import type { Signer } from "../domain/envelopes.ts";
import { TvsError } from "../domain/errors.ts";
import type { KeyRing } from "../domain/keys.ts";

/** A signer whose keys follow the ring. */
export type LoadedSigner = Signer & {
  /**
   * Unseals the ring's active and pending keys and forgets all others. When one of them cannot be loaded, those
   * that were loaded before stay.
   */
  load(ring: KeyRing): Promise<void>;
};

/** One implementation of signing. */
export type Engine = LoadedSigner & {
  readonly name: "openssl" | "webcrypto";
  /** In words, for the operator: `OpenSSL 3.0.13, 2 threads`. */
  readonly description: string;
  /** Forgets the keys and ends what it started. */
  close(): Promise<void>;
};

/** The answer for a kid that is not in the ring, or has just left it. */
export function keyNotLoaded(): TvsError {
  return new TvsError("SIGNER_UNAVAILABLE", "the signing key is not loaded; try again");
}
