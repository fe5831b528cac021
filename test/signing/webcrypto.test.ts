import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { createPublicKey, createVerify } from "node:crypto";
import { type KeyRing, keyRing } from "../../src/domain/keys.ts";
import { deriveSecrets, newMasterKey } from "../../src/domain/secrets.ts";
import { createWebCryptoSigner } from "../../src/signing/webcrypto.ts";
import { secrets } from "../domain/samples.ts";
import { fixtureKey } from "../domain/store-world.ts";
import { rejection } from "../rejection.ts";

const input = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0";

async function aRing(
  activeName: Parameters<typeof fixtureKey>[0],
  pendingName: Parameters<typeof fixtureKey>[0],
): Promise<KeyRing> {
  const active = { ...(await fixtureKey(activeName, 0)), state: "active" as const };
  return keyRing([active, await fixtureKey(pendingName, 0)]);
}

/** Checks with OpenSSL and not with WebCrypto. */
function verifies(ring: KeyRing, kid: string, signature: string): boolean {
  const jwk = ring.keys.find((key) => key.kid === kid)?.jwk;
  const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
  return createVerify("RSA-SHA256").update(input).verify(key, Buffer.from(signature, "base64url"));
}

describe("the signer", () => {
  test("signs with the key that is named: the active one, and the pending one whose turn may come", async () => {
    const ring = await aRing("active", "pending");
    const signer = createWebCryptoSigner(secrets);
    await signer.load(ring);
    for (const [kid, other] of [
      [ring.active.kid, ring.pending.kid],
      [ring.pending.kid, ring.active.kid],
    ] as const) {
      const signature = await signer.sign(kid, input);
      expect(signature).toMatch(/^[\w-]{342}$/);
      expect(verifies(ring, kid, signature)).toBe(true);
      expect(verifies(ring, other, signature)).toBe(false);
    }
  });

  test("signs many at once, each its own", async () => {
    const ring = await aRing("active", "pending");
    const signer = createWebCryptoSigner(secrets);
    await signer.load(ring);
    const signatures = await Promise.all(
      Array.from({ length: 50 }, (_, i) => signer.sign(ring.active.kid, i % 2 === 0 ? input : `${i}`)),
    );
    expect(signatures.map((one) => verifies(ring, ring.active.kid, one))).toEqual(
      signatures.map((_, i) => i % 2 === 0),
    );
  });

  test("refuses a key that it was not given", async () => {
    const ring = await aRing("active", "pending");
    const signer = createWebCryptoSigner(secrets);
    expect(await rejection(signer.sign(ring.active.kid, input))).toMatchObject({
      code: "SIGNER_UNAVAILABLE",
    });
    await signer.load(ring);
    expect(await rejection(signer.sign("another", input))).toMatchObject({ code: "SIGNER_UNAVAILABLE" });
  });

  test("forgets a key once it has left the ring", async () => {
    const [before, after] = [await aRing("active", "pending"), await aRing("pending", "stranger")];
    const signer = createWebCryptoSigner(secrets);
    await signer.load(before);
    await signer.load(after);
    expect(await rejection(signer.sign(before.active.kid, input))).toMatchObject({
      code: "SIGNER_UNAVAILABLE",
    });
    expect(verifies(after, after.active.kid, await signer.sign(after.active.kid, input))).toBe(true);
  });

  test("that cannot open the new keys keeps the old ones", async () => {
    const before = await aRing("active", "pending");
    const signer = createWebCryptoSigner(secrets);
    await signer.load(before);
    const broken = { ...(await fixtureKey("stranger", 0)), sealed: null };
    const destroyed = keyRing([{ ...before.pending, state: "active" }, broken]);
    expect(await rejection(signer.load(destroyed))).toMatchObject({ code: "INTERNAL" });
    expect(verifies(before, before.active.kid, await signer.sign(before.active.kid, input))).toBe(true);
  });

  test("under another master key opens nothing", async () => {
    const signer = createWebCryptoSigner(deriveSecrets(newMasterKey()));
    expect(await rejection(signer.load(await aRing("active", "pending")))).toMatchObject({
      code: "MASTER_KEY_WRONG",
    });
  });
});
