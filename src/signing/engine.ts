import type { Signer } from "../domain/envelopes.ts";
import { TvsError } from "../domain/errors.ts";
import type { KeyRing } from "../domain/keys.ts";

/** A signer whose keys follow the ring. */
export type LoadedSigner = Signer & {
  /**
   * Unseals the ring's active and pending keys and forgets all others. When one of them cannot be loaded, those
   * that were loaded before stay. What was asked for before is still signed with the key it was asked for.
   */
  load(ring: KeyRing): Promise<void>;
};

/** One implementation of signing. */
export type Engine = LoadedSigner & {
  readonly name: "openssl" | "webcrypto" | "crypto_mb";
  /** In words, for the operator, such as `OpenSSL 3.0.13, 2 threads`. */
  readonly description: string;
  /** How long one signature took when the engine proved itself, in milliseconds. */
  readonly signatureMs: number;
  /** Refuses what waits, and forgets the keys. */
  close(): Promise<void>;
};

/** The error for a kid that is not in the ring, or has just left it. */
export function keyNotLoaded(): TvsError {
  return new TvsError("SIGNER_UNAVAILABLE", "the signing key is not loaded; try again");
}
