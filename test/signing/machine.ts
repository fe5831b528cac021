import { type CryptoMb, findCryptoMb, openCryptoMb } from "../../src/signing/crypto-mb.ts";

const file = process.env.TVS_CRYPTO_MB ?? findCryptoMb();

/** crypto_mb, where the library is on this machine and its processor can use it. */
export const cryptoMb: CryptoMb | null =
  file === undefined ? null : await openCryptoMb(file).catch(() => null);

/** Its path, where it can be used. */
export const cryptoMbFile = cryptoMb === null ? undefined : file;
