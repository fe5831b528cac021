import { describe, expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import type { Worker } from "node:worker_threads";
import { systemClock } from "../../src/domain/clock.ts";
import { findLibcrypto } from "../../src/signing/openssl.ts";
import type { SignerOptions } from "../../src/signing/signer.ts";
import { createSignerThreads } from "../../src/signing/threads.ts";
import { until } from "../harness/eventually.ts";
import { catchError } from "../harness/rejection.ts";
import { collectLog, expectSigned, signerThreads, startThreads, withSigner } from "./machine.ts";

type StartThread = NonNullable<SignerOptions["threads"]>["start"];

const logged = collectLog();

describe.if(findLibcrypto() !== undefined)("signer threads", () => {
  test("a signer thread starts when signatures wait; if it is killed, no signature is lost and another one starts", () => {
    const { options, workers } = signerThreads(2);
    return withSigner({ engine: "openssl", threads: options }, async (signer, ring) => {
      const { kid } = ring.active;
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
  ])("the calling thread signs when signer threads %s", (_fault, started) => {
    const { options } = signerThreads(1);
    const threads = { ...options, start: () => started(options.start) };
    return withSigner({ engine: "openssl", threads }, async (signer, ring) => {
      const sign = () => signer.sign(ring.active.kid, ["one", "two", "three"]);
      expect(await sign()).toHaveLength(3);
      await until(() => signer.threads().deaths > 0);
      expect(await sign()).toHaveLength(3);
      expect(signer.threads().running).toBe(0);
    });
  });
});

/** Opens one signer thread, with a worker that the test plays. */
function playThread() {
  const worker = Object.assign(new EventEmitter(), { postMessage() {}, async terminate() {} });
  const start = () => worker as unknown as Worker;
  const { helpers } = createSignerThreads({ count: 1, start, data: {}, clock: systemClock, keys: () => [] });
  const [helper] = helpers;
  if (helper === undefined) throw new Error("there is no thread");
  return { worker, helper };
}

const hashesOf = (count: number) =>
  Array.from({ length: count }, () => ({ input: "", hash: new Uint8Array(32) }));

test("a signer thread's replies are cut into the signatures of each group, in order", async () => {
  const { worker, helper } = playThread();
  expect(helper.slots()).toBe(0);
  worker.emit("message", "ready");
  expect(helper.slots()).toBe(3);
  const groups = [helper.sign("k", hashesOf(3)), helper.sign("k", hashesOf(1))];
  for (const signatures of [Uint8Array.of(1, 1, 2, 2, 3, 3), Uint8Array.of(4, 4)])
    worker.emit("message", { signatures, signatureMs: 7 });
  const lists = (await Promise.all(groups)).map(({ signatures }) => signatures.map(String));
  expect(lists).toEqual([["1,1", "2,2", "3,3"], ["4,4"]]);
});

test("a late message of a signer thread that has ended is ignored", async () => {
  const { worker, helper } = playThread();
  helper.slots();
  worker.emit("message", "ready");
  const lost = helper.sign("k", hashesOf(1));
  worker.emit("exit");
  worker.emit("message", "ready");
  expect(helper.slots()).toBe(0);
  expect(await catchError(lost)).toMatchObject({ message: "the thread ended" });
});
