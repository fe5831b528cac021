import { describe, expect, test } from "bun:test";
import { type KeyRing, keyRing } from "../../src/domain/keys.ts";
import { deriveSecrets, newMasterKey } from "../../src/domain/secrets.ts";
import { createWebCryptoSigner, tryWebCrypto } from "../../src/signing/webcrypto.ts";
import { aRing, fixtureKey, signOne, verifies as verifiesInput } from "../harness/keys.ts";
import { rejection } from "../harness/rejection.ts";
import { secrets } from "../harness/samples.ts";

const input = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0";

const verifies = (ring: KeyRing, kid: string, signature: string) =>
  verifiesInput(ring, kid, { input, signature });

describe("signing with WebCrypto", () => {
  test("signs with the key that is named: the active one, and the pending one whose turn may come", async () => {
    const ring = await aRing("active", "pending");
    const signer = createWebCryptoSigner(secrets);
    await signer.load(ring);
    for (const [kid, other] of [
      [ring.active.kid, ring.pending.kid],
      [ring.pending.kid, ring.active.kid],
    ] as const) {
      const signature = await signOne(signer, kid, input);
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
      Array.from({ length: 50 }, (_, i) => signOne(signer, ring.active.kid, i % 2 === 0 ? input : `${i}`)),
    );
    expect(signatures.map((one) => verifies(ring, ring.active.kid, one))).toEqual(
      signatures.map((_, i) => i % 2 === 0),
    );
  });

  test("refuses a key that it was not given", async () => {
    const ring = await aRing("active", "pending");
    const signer = createWebCryptoSigner(secrets);
    expect(await rejection(signOne(signer, ring.active.kid, input))).toMatchObject({
      code: "SIGNER_UNAVAILABLE",
    });
    await signer.load(ring);
    expect(await rejection(signOne(signer, "another", input))).toMatchObject({ code: "SIGNER_UNAVAILABLE" });
  });

  test("forgets a key once it has left the ring", async () => {
    const [before, after] = [await aRing("active", "pending"), await aRing("pending", "stranger")];
    const signer = createWebCryptoSigner(secrets);
    await signer.load(before);
    await signer.load(after);
    expect(await rejection(signOne(signer, before.active.kid, input))).toMatchObject({
      code: "SIGNER_UNAVAILABLE",
    });
    expect(verifies(after, after.active.kid, await signOne(signer, after.active.kid, input))).toBe(true);
  });

  test("that cannot open the new keys keeps the old ones", async () => {
    const before = await aRing("active", "pending");
    const signer = createWebCryptoSigner(secrets);
    await signer.load(before);
    const broken = { ...(await fixtureKey("stranger", 0)), sealed: null };
    const destroyed = keyRing([{ ...before.pending, state: "active" }, broken]);
    expect(await rejection(signer.load(destroyed))).toMatchObject({ code: "INTERNAL" });
    expect(verifies(before, before.active.kid, await signOne(signer, before.active.kid, input))).toBe(true);
  });

  test("under another master key opens nothing", async () => {
    const signer = createWebCryptoSigner(deriveSecrets(newMasterKey()));
    expect(await rejection(signer.load(await aRing("active", "pending")))).toMatchObject({
      code: "MASTER_KEY_WRONG",
    });
  });

  test("proves itself with the known answer", async () => {
    expect(await tryWebCrypto()).toBeGreaterThan(0);
  });

  test("refuses beyond its bound, and recovers", async () => {
    const ring = await aRing("active", "pending");
    const signer = createWebCryptoSigner(secrets, { waitAtMost: 5 });
    await signer.load(ring);
    for (const bulk of [true, false]) {
      const asked = Array.from({ length: 3000 }, () => signOne(signer, ring.active.kid, input, { bulk }));
      const outcomes = await Promise.all(asked.map((one) => one.catch((error) => error.code)));
      expect(new Set(outcomes)).toEqual(
        new Set(["OVERLOADED", await signOne(signer, ring.active.kid, input)]),
      );
    }
  });

  test("signs after a rotation what was asked before it", async () => {
    const [before, after] = [await aRing("active", "pending"), await aRing("pending", "stranger")];
    const signer = createWebCryptoSigner(secrets);
    await signer.load(before);
    const asked = Array.from({ length: 300 }, () =>
      signOne(signer, before.active.kid, input, { bulk: true }),
    );
    await signer.load(after);
    const signatures = new Set(await Promise.all(asked));
    expect([...signatures].map((one) => verifies(before, before.active.kid, one))).toEqual([true]);
  });
});
