import { Buffer } from "node:buffer";
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { TvsError } from "./errors.ts";

const masterKeyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** The keys derived from the master key, one for each use (HKDF, RFC 5869), and the functions that use them. */
export type Secrets = ReturnType<typeof deriveSecrets>;

/** Makes a master key, as text for `master.key` or `TVS_MASTER_KEY`. */
export function generateMasterKey(): string {
  return randomBytes(masterKeyBytes).toString("base64url");
}

/** Derives the keys from the master key. @param text 32 bytes in base64url. @throws TvsError MASTER_KEY_INVALID */
export function deriveSecrets(text: string) {
  const master = Buffer.from(text.trim(), "base64url");
  if (master.length !== masterKeyBytes || master.toString("base64url") !== text.trim()) {
    const message =
      "the master key must be 43 base64url characters; restore the master.key that belongs to this database";
    throw new TvsError("MASTER_KEY_INVALID", message);
  }
  const derive = (use: string) => new Uint8Array(hkdfSync("sha256", master, "", `tvs/${use}/v1`, 32));
  const sealingKey = derive("sealing");
  const macKeys = {
    "api-key": derive("api-key"),
    idempotency: derive("idempotency"),
    "console-link": derive("console-link"),
    retention: derive("retention"),
    log: derive("log"),
  };
  return {
    blindIndexKey: derive("blind-index"),
    statusListKey: derive("status-list"),
    /** Computes the HMAC-SHA-256 of a value with the key for `use`. */
    mac: (use: keyof typeof macKeys, value: string) =>
      new Uint8Array(createHmac("sha256", macKeys[use]).update(value).digest()),
    /** Encrypts by AES-256-GCM. Only `open` with the same `name` decrypts the result: nonce, ciphertext and tag. */
    seal: (plain: Uint8Array, name: string) => seal(sealingKey, plain, name),
    /** Decrypts a value of `seal`. @throws TvsError MASTER_KEY_WRONG, also for another `name` or an altered value */
    open: (sealed: Uint8Array, name: string) => open(sealingKey, sealed, name),
    /** A value that the database stores, so that a wrong master key is noticed. */
    check: Buffer.from(derive("check")).toString("base64url"),
  };
}

function seal(key: Uint8Array, plain: Uint8Array, name: string): Uint8Array {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(name));
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return new Uint8Array(Buffer.concat([nonce, body, cipher.getAuthTag()]));
}

function open(key: Uint8Array, sealed: Uint8Array, name: string): Uint8Array {
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, nonceBytes));
    decipher.setAAD(Buffer.from(name)).setAuthTag(sealed.subarray(sealed.length - tagBytes));
    const body = decipher.update(sealed.subarray(nonceBytes, sealed.length - tagBytes));
    return new Uint8Array(Buffer.concat([body, decipher.final()]));
  } catch (cause) {
    const message = "the master key does not open the secrets of this database";
    throw new TvsError("MASTER_KEY_WRONG", message, { cause });
  }
}

/** Compares in constant time, so that the time shows nothing about a secret. */
export function areBytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
