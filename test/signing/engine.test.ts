import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { keyRingOf } from "../../src/domain/keys.ts";
import { findLibcrypto } from "../../src/signing/openssl.ts";
import { openSigner, type SignerOptions } from "../../src/signing/signer.ts";
import { aRing, fixtureKey, isSignedBy, signOne } from "../harness/keys.ts";
import { catchError } from "../harness/rejection.ts";
import { secrets } from "../harness/samples.ts";
import { cryptoMbFile, expectSigned, signerThreads, startThreads, withSigner } from "./machine.ts";

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const noKey = { code: "SIGNER_UNAVAILABLE" };

type Engine = Omit<SignerOptions, "secrets">;

const openssl: Engine = { engine: "openssl" };
const cryptoMb: Engine = { engine: "crypto_mb", cryptoMbFile };
const threads = signerThreads(2).options;
const hasOpenssl = findLibcrypto() !== undefined;
const hasCryptoMb = cryptoMbFile !== undefined;
const engines: readonly (readonly [
  name: string,
  isHere: boolean,
  options: Engine,
  unreadableKey?: object,
])[] = [
  ["OpenSSL", hasOpenssl, openssl],
  ["OpenSSL in two signer threads", hasOpenssl, { ...openssl, threads }],
  ["crypto_mb", hasCryptoMb, cryptoMb],
  ["crypto_mb in two signer threads", hasCryptoMb, { ...cryptoMb, threads }],
  ["WebCrypto", true, { engine: "webcrypto" }, { name: "DataError" }],
];

for (const [name, isHere, options, unreadableKey = noKey] of engines) {
  describe.if(isHere)(`signing with ${name}`, () => {
    const withStartedSigner = (act: Parameters<typeof withSigner>[1]) =>
      withSigner(options, async (signer, ring) => {
        await startThreads(signer, ring.active.kid, options.threads?.count ?? 0);
        await act(signer, ring);
      });

    test("the signer signs with the key that the call names, active or pending", () =>
      withStartedSigner(async (signer, ring) => {
        const kids = [ring.active.kid, ring.pending.kid] as const;
        for (const [kid, other] of [kids, kids.toReversed() as [string, string]]) {
          const signature = await signOne(signer, kid, "input");
          expect(signature).toMatch(/^[\w-]{342}$/);
          expect(isSignedBy(ring, kid, { input: "input", signature })).toBe(true);
          expect(isSignedBy(ring, other, { input: "input", signature })).toBe(false);
        }
      }));

    test("each of many callers gets the signatures of its own inputs, in order", () =>
      withStartedSigner(async (signer, ring) => {
        const asked = range(60).map((call) => {
          const { kid } = call % 3 === 0 ? ring.pending : ring.active;
          const bulk = call % 2 === 0;
          return { kid, bulk, inputs: range(bulk ? 1 + (call % 20) : 1).map((i) => `input ${call}.${i}`) };
        });
        const signing = asked.map(({ kid, inputs, bulk }) => signer.sign(kid, inputs, { bulk }));
        const signed = await Promise.all(signing);
        for (const [call, { kid, inputs }] of asked.entries()) expectSigned(ring, kid, inputs, signed[call]);
        expect(signed.map(({ length }) => length)).toEqual(asked.map(({ inputs }) => inputs.length));
        expect(await signer.sign(ring.active.kid, [])).toEqual([]);
      }));

    test("a call that waits during a rotation is signed with the old key, and later calls for that key are refused", () =>
      withStartedSigner(async (signer, before) => {
        const after = await aRing("pending", "stranger");
        const asked = range(200).map((i) => `before ${i}`);
        const waiting = asked.map((input) => signOne(signer, before.active.kid, input, { bulk: true }));
        const batch = signer.sign(before.active.kid, asked, { bulk: true });
        await signer.load(after);
        expect(await catchError(signer.sign(before.active.kid, ["late"]))).toMatchObject(noKey);
        expectSigned(before, before.active.kid, asked, await Promise.all(waiting));
        expectSigned(before, before.active.kid, asked, await batch);
        const late = range(40).map((i) => `after ${i}`);
        const signed = await signer.sign(after.active.kid, late, { bulk: true });
        expectSigned(after, after.active.kid, late, signed);
      }));

    test("a call that waits during two rotations is signed, although the calls before an earlier load are done", () =>
      withStartedSigner(async (signer, first) => {
        const asked = range(200).map((i) => `input ${i}`);
        const sign = (ring: typeof first) => signer.sign(ring.active.kid, asked, { bulk: true });
        const second = await aRing("pending", "stranger");
        const done = signer.sign(first.active.kid, ["done"]);
        await signer.load(first);
        const ofFirst = sign(first);
        await signer.load(second);
        const ofSecond = sign(second);
        await signer.load(await aRing("stranger", "retired"));
        expectSigned(first, first.active.kid, ["done"], await done);
        expectSigned(first, first.active.kid, asked, await ofFirst);
        expectSigned(second, second.active.kid, asked, await ofSecond);
      }));

    test("the signer refuses a key that is not loaded", () =>
      withStartedSigner(async (signer, ring) => {
        expect(await catchError(signOne(signer, "another", "x"))).toMatchObject(noKey);
        const empty = await openSigner({ secrets, ...options });
        expect(await catchError(signOne(empty, ring.active.kid, "x"))).toMatchObject(noKey);
        await empty.close();
      }));

    test("the signer keeps the old keys if the new keys cannot be decrypted", () =>
      withStartedSigner(async (signer, before) => {
        const broken = { ...(await fixtureKey("stranger", 0)), sealed: null };
        const destroyed = keyRingOf([{ ...before.pending, state: "active" }, broken]);
        expect(await catchError(signer.load(destroyed))).toMatchObject({ code: "INTERNAL" });
        const sealed = secrets.seal(new Uint8Array(Buffer.from("no key at all")), broken.kid);
        const unreadable = keyRingOf([before.active, { ...broken, sealed }]);
        expect(await catchError(signer.load(unreadable))).toMatchObject(unreadableKey);
        expect(await signOne(signer, before.active.kid, "x")).toHaveLength(342);
      }));
  });
}

// signer.test.ts tests the fallback of a machine without OpenSSL 3.
test.if(hasOpenssl)("OpenSSL makes the same signatures as WebCrypto, for inputs of any length", () =>
  withSigner({ engine: "webcrypto" }, (webCrypto, { active: { kid } }) =>
    withSigner(openssl, async (signer) => {
      const inputs = [0, 1, 700, 16_385, 100_000].map((length) => "a1".repeat(length).slice(0, length));
      expect(await signer.sign(kid, inputs)).toEqual(await webCrypto.sign(kid, inputs));
    }),
  ),
);
