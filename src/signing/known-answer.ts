import { Buffer } from "node:buffer";
import { hash } from "node:crypto";

/**
 * A fixed key, input and signature. RS256 is deterministic (RFC 8017, 8.2.1), so an engine either gives these very
 * bytes or must not sign. The key was made for this test, is public with the source, and signs nothing else.
 */
const pkcs8Base64url = [
  "MIIEvwIBADANBgkqhkiG9w0BAQEFAASCBKkwggSlAgEAAoIBAQDRGGxeNXGYxUNSgBSOg6e8N69PlrB6OnhN1xM1C0KD6O_JjyNw",
  "Loua4J2ASXv5dMEJ3cY2UFV-zAsox6aB_dzp_C_inUt4HkU-Wh3MmLQ0d_YiE0JPomaMf033jKzaBhakjf4c-ZaEypf1fKdYR69w",
  "r6PZqBb0eG4T71_VV7B0O3HpC4cAsHnK-LglU5Usaa-EQnR5qsxKdS5cQppY0StWHOhW2fSlGq8KeBSXOq-rjTkarRv9NMQVSNeP",
  "vm66RUxLSy9slfEmFfJyxvbD0HCrKwkO1MEaEJtXBZnUrY3xOExzS3lRaDf1oMTeaPIdy11XkXT3X5tVfi1N70s72AaDAgMBAAEC",
  "ggEAHY1Mn6IBDJzwr2PPw_aiicz6944uIhBKeYHowon1XCxbW4rh8NR7Qaf2Sq_YGEEimVDhV0LSWonfF-PjyiKFiwJsCCTAClmI",
  "4s-cv5Jjgbjkrhs3t4aV5MyHSfH1ahkLMTWqURELb3gssvLruePjzVLdnwENQX8V27ZsvnvWwg51V_k6HATzSewZ25PdnAvTWClh",
  "0rq7GvDfspOLllTaWE-MEzyBgJYe4H_CvpPUnb0e2yFkFD7IYV_HUKhanj02n5-zx6Ds5xgZtDPdbnbrl0Q2B-cAyVARMgL7-PkG",
  "qruAVBbntOMKF__WfT87oLCBgFUjzjkwGs3w1AYi9zPxcQKBgQDsu8ubEfOV0R-bYl64fHVcFGDGX49VTHhy8HtJQTeD26JkdTvX",
  "o-ge-of9aNaXxFCgK84QQZc9QCyNxBcrq5ZQIP-rysWf0njegA1RzetZPFWfYBwTN9IG3L4PI9GDMRZwNAnNU4FFF_6_VyMl3U2p",
  "qX0xjBp9tT0X-B2MfJEkcwKBgQDiHM2NSskgNBI_MafXuoqq6aZXTPzqS2OSDD1wPnYbQDhPilHaQWzzIOdrURa9_m67DzqbFs_T",
  "MVzjO0CT88EwS6xOZ8SAXdNrotzBUnk7Pz70k2ZlDEza3suK9-rvaLiuVlsQM0ddk4XKE3ZAVcTS5uZPkeGDDxGf6i7Nu0khsQKB",
  "gQC_hetiiLJ2CZs1ne8d-GsGVOI6e4M9skFcVByaFm4wele2SHZirpOTxIKSzOeYH1ZPT0FGO5p9Dlc9VmCcjxRrvVa7iLA77g6l",
  "jBm6jgsSxdJLv3jXP3jm3l3RZ9wP9H2_xwoLGLzjxlbuPDQOZS14zsufc0bXXvKPWselKf5O6wKBgQCERZkxaGhTwGJUOXYYSvXH",
  "mbtHIrBpVwS-cQ6X1NI-isjmLuJHLTLQ35TBQMRvDKI2J2h_RU76Gsxd2VGju1puKDZ5_1YCSeDd_H3rUZW9xPfNF1U1E4b6Go8z",
  "kmgK-VXgFoBa78R1x1Dir5PjeskTHyPntE0Z3_zNca9DhqX3YQKBgQCKKGdxCQ2yO4dEu1k6Yq1JHhUBWgGp2qksSIbXxBc9bP9I",
  "tBK83y7QRiR4sa1sa9VPiDd2Wy46nSLzfohUcmR4h5PiUILrbiPH8Pi4QRAYNHuBP9qm3b9nGLSHQ6-aoqbQ03_V2TYHmjqK-Tg2",
  "9Mu8qAi_HDbKszL83W6iA9UKmQ",
].join("");

export const knownInput = "tvs signing known answer";
export const knownHash = hash("sha256", knownInput, "buffer");
export const knownSignature = [
  "yDESlGuq4M5occttsSkm_UjZWy-AB92s_-kASMQ4535fQK9PB6tu0o4NWMGJSKp24lfrW6SYszmfMCnPOxH_EbpJo1od-HeCS-8-",
  "azHuluwz8FMRilvvEWbz7jTawfCoL4ofa8gaed5lbe_2oX41f6bvcvaGwb-J7p3uGFln1hVr8EKgiHeXzcYa42aESf9MYguRK4wf",
  "fEuxeX4DSd4M8hSWYfb_GD7IPYBMcszOUFPbQqgN9mwHaa1pY73HDoZXiLX2og0eAg5vOBCvK4US2fhAkzUcXrWRofB01Gqu0lxV",
  "Z-cvwS_mS9eF3Oqss6Kq47g2D7lfvWyQMUOI1HQcJg",
].join("");

/** The key of the known answer, PKCS #8 DER. A fresh copy, because who loads a key overwrites the bytes. */
export function knownKey(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(pkcs8Base64url, "base64url"));
}

const trialCount = 9;

/**
 * Proves an engine: makes the known signature several times.
 * @param name what the engine is called in the error
 * @param sign makes the signature, base64url
 * @returns how long one takes, in milliseconds: the quickest, since others on the machine only ever lengthen it
 * @throws Error when one is not the known signature
 */
export async function proveSigning(name: string, sign: () => string | Promise<string>): Promise<number> {
  let quickest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < trialCount; i++) {
    const startedAt = performance.now();
    const signature = await sign();
    quickest = Math.min(quickest, performance.now() - startedAt);
    if (signature !== knownSignature)
      throw new Error(`${name} gave a wrong signature in the known-answer test`);
  }
  return quickest;
}
