import { describe, expect, test } from "bun:test";
import { type KeyRing, keyRing } from "../../src/domain/keys.ts";
import { deriveSecrets, newMasterKey } from "../../src/domain/secrets.ts";
import { createLoad } from "../../src/signing/admission.ts";
import { openWebCrypto } from "../../src/signing/webcrypto.ts";
import { aRing, fixtureKey, signOne, verifies as verifiesInput } from "../harness/keys.ts";
import { rejection } from "../harness/rejection.ts";
import { secrets } from "../harness/samples.ts";

const input = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0";

const verifies = (ring: KeyRing, kid: string, signature: string) =>
  verifiesInput(ring, kid, { input, signature });

describe("signing with WebCrypto", () => {
  test("signs with the key that is named: the active one, and the pending one whose turn may come", async () => {
    const ring = await aRing("active", "pending");
    const signer = await openWebCrypto({ secrets });
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
    const signer = await openWebCrypto({ secrets });
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
    const signer = await openWebCrypto({ secrets });
    expect(await rejection(signOne(signer, ring.active.kid, input))).toMatchObject({
      code: "SIGNER_UNAVAILABLE",
    });
    await signer.load(ring);
    expect(await rejection(signOne(signer, "another", input))).toMatchObject({ code: "SIGNER_UNAVAILABLE" });
  });

  test("forgets a key once it has left the ring", async () => {
    const [before, after] = [await aRing("active", "pending"), await aRing("pending", "stranger")];
    const signer = await openWebCrypto({ secrets });
    await signer.load(before);
    await signer.load(after);
    expect(await rejection(signOne(signer, before.active.kid, input))).toMatchObject({
      code: "SIGNER_UNAVAILABLE",
    });
    expect(verifies(after, after.active.kid, await signOne(signer, after.active.kid, input))).toBe(true);
  });

  test("that cannot open the new keys keeps the old ones", async () => {
    const before = await aRing("active", "pending");
    const signer = await openWebCrypto({ secrets });
    await signer.load(before);
    const broken = { ...(await fixtureKey("stranger", 0)), sealed: null };
    const destroyed = keyRing([{ ...before.pending, state: "active" }, broken]);
    expect(await rejection(signer.load(destroyed))).toMatchObject({ code: "INTERNAL" });
    expect(verifies(before, before.active.kid, await signOne(signer, before.active.kid, input))).toBe(true);
  });

  test("under another master key opens nothing", async () => {
    const signer = await openWebCrypto({ secrets: deriveSecrets(newMasterKey()) });
    expect(await rejection(signer.load(await aRing("active", "pending")))).toMatchObject({
      code: "MASTER_KEY_WRONG",
    });
  });

  test("proves itself with the known answer", async () => {
    expect((await openWebCrypto({ secrets })).signatureMs).toBeGreaterThan(0);
  });

  test("refuses a call that would wait too long as a whole, and recovers", async () => {
    const ring = await aRing("active", "pending");
    const load = createLoad(1);
    const signer = await openWebCrypto({ secrets, load });
    await signer.load(ring);
    const others = Math.ceil(3_000 / signer.signatureMs);
    load.count(false, others);
    const asked = signer.sign(ring.active.kid, ["one", "two"]);
    expect(await rejection(asked)).toMatchObject({ code: "OVERLOADED" });
    expect(load.waiting(false)).toBe(others);
    load.count(false, -others);
    expect(await signer.sign(ring.active.kid, ["one", "two"])).toHaveLength(2);
    expect(load.waiting(false)).toBe(0);
  });

  test("gives the signatures of a call in the order of its inputs", async () => {
    const ring = await aRing("active", "pending");
    const signer = await openWebCrypto({ secrets });
    await signer.load(ring);
    const inputs = Array.from({ length: 100 }, (_, i) => `input ${i}`);
    const signatures = await signer.sign(ring.active.kid, inputs, { bulk: true });
    const wrong = inputs.filter((one, i) => {
      return !verifiesInput(ring, ring.active.kid, { input: one, signature: signatures[i] ?? "" });
    });
    expect(wrong).toEqual([]);
  });

  test("signs after a rotation what was asked before it", async () => {
    const [before, after] = [await aRing("active", "pending"), await aRing("pending", "stranger")];
    const signer = await openWebCrypto({ secrets });
    await signer.load(before);
    const asked = Array.from({ length: 300 }, () =>
      signOne(signer, before.active.kid, input, { bulk: true }),
    );
    await signer.load(after);
    const signatures = new Set(await Promise.all(asked));
    expect([...signatures].map((one) => verifies(before, before.active.kid, one))).toEqual([true]);
  });
});
