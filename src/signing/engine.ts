import { TvsError } from "../domain/errors.ts";

/** What is to be signed, in two forms. */
export type Message = {
  /** The JWS signing input, ASCII. */
  readonly input: string;
  /** SHA-256 of the input. */
  readonly hash: Uint8Array;
};

/** One implementation of RS256, with the keys that it was given. */
export type Engine = {
  readonly name: "openssl" | "crypto_mb" | "webcrypto";
  /** In words, for the operator, such as `OpenSSL 3.0.13`. */
  readonly description: string;
  /** How long one signature took when the engine proved itself, in milliseconds. */
  readonly signatureMs: number;
  /** How many signatures the engine makes together at most. */
  readonly groupSize: number;
  /**
   * Adds a key.
   * @param pkcs8 its PKCS #8 DER, which is overwritten
   * @throws TvsError SIGNER_UNAVAILABLE, or the runtime's error, when the bytes are no key
   */
  load(kid: string, pkcs8: Uint8Array<ArrayBuffer>): Promise<void>;
  /** Overwrites and forgets all keys but these. */
  keep(kids: ReadonlySet<string>): void;
  /**
   * Signs messages with one key: in the thread that calls, or in threads of the runtime.
   * @returns the signatures, in the order of the messages
   * @throws TvsError SIGNER_UNAVAILABLE
   */
  sign(kid: string, messages: readonly Message[]): Uint8Array[] | Promise<Uint8Array[]>;
};

/** An engine that signs hashes in the thread that calls. */
export type HashEngine = Omit<Engine, "sign"> & {
  sign(kid: string, messages: readonly Pick<Message, "hash">[]): Uint8Array[];
};

/** The error for a kid that is not in the ring, or has just left it. */
export function keyNotLoaded(): TvsError {
  return new TvsError("SIGNER_UNAVAILABLE", "the signing key is not loaded; try again");
}
