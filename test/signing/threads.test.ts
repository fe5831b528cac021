import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { configureLog } from "../../src/logger.ts";
import { findLibcrypto } from "../../src/signing/openssl.ts";
import type { SignerOptions } from "../../src/signing/signer.ts";
import { until } from "../harness/eventually.ts";
import { aRing } from "../harness/keys.ts";
import { expectSigned, signerThreads, startThreads, withSigner } from "./machine.ts";

type StartThread = NonNullable<SignerOptions["threads"]>["start"];

let logged: { level: string; message: string }[] = [];

beforeEach(() => {
  logged = [];
  configureLog((line) => logged.push(JSON.parse(line)));
});
afterEach(() => configureLog(() => {}));

describe.if(findLibcrypto() !== undefined)("signer threads", () => {
  test("a signer thread starts when signatures wait; if it is killed, no signature is lost and another one starts", async () => {
    const ring = await aRing("active", "pending");
    const { kid } = ring.active;
    const { options, workers } = signerThreads(2);
    await withSigner({ engine: "openssl", threads: options }, async (signer) => {
      await signer.load(ring);
      await signer.sign(kid, ["alone"]);
      expect(workers).toEqual([]);
      await startThreads(signer, kid, 2);
      const inputs = Array.from({ length: 300 }, (_, i) => `input ${i}`);
      const signing = signer.sign(kid, inputs, { bulk: true });
      await workers[0]?.terminate();
      const signatures = await signing;
      expectSigned(ring, kid, inputs, signatures);
      await startThreads(signer, kid, 2);
      expect([workers.length, signer.threads().deaths]).toEqual([3, 1]);
      expect(signer.threads().lastDeathAt).toBeNumber();
      const message = "a signer thread died; other threads make its signatures";
      expect(logged.filter(({ level }) => level === "ERROR")).toMatchObject([{ message }]);
      // The new thread has the keys.
      const again = await signer.sign(kid, inputs, { bulk: true });
      expect(again).toEqual(signatures);
    });
  });

  test.each<[fault: string, started: (real: StartThread) => ReturnType<StartThread>]>([
    ["end at once", (real) => real({ library: "/nowhere/libcrypto.so.3" })],
    [
      "are refused by the system",
      () => {
        throw new Error("EAGAIN");
      },
    ],
  ])("the calling thread signs when signer threads %s", async (_fault, started) => {
    const ring = await aRing("active", "pending");
    const { options } = signerThreads(1);
    const start = () => started(options.start);
    await withSigner({ engine: "openssl", threads: { ...options, start } }, async (signer) => {
      await signer.load(ring);
      const sign = () => signer.sign(ring.active.kid, ["one", "two", "three"]);
      expect(await sign()).toHaveLength(3);
      await until(() => signer.threads().deaths > 0);
      expect(await sign()).toHaveLength(3);
      expect(signer.threads().running).toBe(0);
    });
  });
});
