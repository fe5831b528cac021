import { describe, expect, test } from "bun:test";
import type { Worker } from "node:worker_threads";
import { keyRing } from "../../src/domain/keys.ts";
import { findLibcrypto } from "../../src/signing/libcrypto.ts";
import { bulkRoom, singleRoom } from "../../src/signing/shared-queue.ts";
import { createWebCryptoSigner } from "../../src/signing/webcrypto.ts";
import { until } from "../harness/eventually.ts";
import { aRing, fixtureKey, signOne, verifies } from "../harness/keys.ts";
import { rejection } from "../harness/rejection.ts";
import { secrets } from "../harness/samples.ts";
import { start, withPool } from "./with-pool.ts";

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const noKey = { code: "SIGNER_UNAVAILABLE" };

// Where there is no OpenSSL 3 there is no pool either, and signer.test.ts shows what happens then.
describe.if(findLibcrypto() !== undefined)("the signing pool", () => {
  test("gives the very bytes that WebCrypto gives, whatever the length of the input", async () => {
    const ring = await aRing("active", "pending");
    const webCrypto = createWebCryptoSigner(secrets);
    await webCrypto.load(ring);
    await withPool({}, async ({ pool }) => {
      await pool.load(ring);
      // 4096 is the longest that crosses over whole; what is longer crosses over as a hash.
      for (const length of [0, 1, 700, 4095, 4096, 4097, 100_000]) {
        const input = "a1".repeat(length).slice(0, length);
        for (const { kid } of [ring.active, ring.pending]) {
          expect(await signOne(pool, kid, input)).toBe(await signOne(webCrypto, kid, input));
        }
      }
    });
  });

  test("keeps the signatures of many callers apart, single ones and a batch's", async () => {
    const ring = await aRing("active", "pending");
    await withPool({}, async ({ pool }) => {
      await pool.load(ring);
      const asked = range(400).map((i) => {
        const { kid } = i % 3 === 0 ? ring.pending : ring.active;
        return { kid, input: `input ${i}`, bulk: i % 2 === 0 };
      });
      const signatures = await Promise.all(
        asked.map(({ kid, input, bulk }) => signOne(pool, kid, input, { bulk })),
      );
      const wrong = asked.filter(({ kid, input }, i) => {
        return !verifies(ring, kid, { input, signature: signatures[i] ?? "" });
      });
      expect(wrong).toEqual([]);
    });
  });

  test("takes keys of 4096 bits", async () => {
    const big = await import("../../src/domain/keys.ts").then((keys) => keys.generateKey(secrets, 4096, 0));
    const ring = keyRing([{ ...big, state: "active" }, await fixtureKey("pending", 0)]);
    await withPool({ threadCount: 1 }, async ({ pool }) => {
      await pool.load(ring);
      const signature = await signOne(pool, big.kid, "input");
      expect(signature).toHaveLength(683);
      expect(verifies(ring, big.kid, { input: "input", signature })).toBe(true);
    });
  });

  test("refuses beyond its bound, keeps the lanes apart, and recovers", async () => {
    const ring = await aRing("active", "pending");
    const { kid } = ring.active;
    await withPool({ threadCount: 1, waitAtMost: 5 }, async ({ pool }) => {
      await pool.load(ring);
      const outcomeOf = (bulk: boolean) => signOne(pool, kid, "x", { bulk }).catch((error) => error.code);
      // Asked for in one go: what the thread does meanwhile is far less than what is too much.
      const batches = range(3 * bulkRoom).map(() => outcomeOf(true));
      // A full lane of batches leaves the single checks theirs.
      const few = range(singleRoom).map(() => outcomeOf(false));
      const many = range(2 * singleRoom).map(() => outcomeOf(false));
      const refused = (outcomes: string[]) => outcomes.filter((one) => one === "OVERLOADED").length;
      expect(refused(await Promise.all(few))).toBe(0);
      expect(refused(await Promise.all(batches))).toBeGreaterThan(bulkRoom);
      expect(refused(await Promise.all(many))).toBeGreaterThan(singleRoom);
      expect(new Set(await Promise.all([...batches, ...many])).size).toBe(2);
      expect(await signOne(pool, kid, "x")).toHaveLength(342);
    });
  });

  test("lets a single check go before a batch, and batches go on beside single checks", async () => {
    const ring = await aRing("active", "pending");
    const { kid } = ring.active;
    await withPool({ threadCount: 1 }, async ({ pool }) => {
      await pool.load(ring);
      const order: string[] = [];
      const ask = (name: string, bulk: boolean) =>
        signOne(pool, kid, name, { bulk }).then(() => order.push(name));
      const batches = range(200).map((i) => ask(`batch ${i}`, true));
      await Promise.race(batches);
      const singles = range(40).map((i) => ask(`single ${i}`, false));
      await Promise.all([...batches, ...singles]);
      const lastSingle = order.findLastIndex((name) => name.startsWith("single"));
      // The thread holds a share of the batch before the single checks come; what matters is that most of it waits.
      expect(order.slice(0, lastSingle).filter((name) => name.startsWith("batch")).length).toBeLessThan(120);
      const firstSingles = order.indexOf("single 30");
      expect(
        order.slice(order.indexOf("single 0"), firstSingles).some((name) => name.startsWith("batch")),
      ).toBe(true);
    });
  });

  test("does the jobs of a thread that dies again, in a new thread with the same keys", async () => {
    const ring = await aRing("active", "pending");
    const { kid } = ring.active;
    await withPool({ threadCount: 2 }, async ({ pool, replaced, broken }) => {
      await pool.load(ring);
      const inputs = range(300).map((i) => `input ${i}`);
      const signing = inputs.map((input, i) => signOne(pool, kid, input, { bulk: i % 2 === 0 }));
      await Promise.race(signing);
      pool.threads()[0]?.terminate();
      const signatures = await Promise.all(signing);
      expect(
        inputs.filter((input, i) => !verifies(ring, kid, { input, signature: signatures[i] ?? "" })),
      ).toEqual([]);
      expect({ replaced: replaced.length, broken }).toEqual({ replaced: 1, broken: [] });
      await until(() => pool.threads().length === 2);
      expect(await Promise.all(range(20).map(() => signOne(pool, kid, "again")))).toHaveLength(20);
    });
  });

  test("with its only thread dead, waits for the next one", async () => {
    const ring = await aRing("active", "pending");
    await withPool({ threadCount: 1 }, async ({ pool }) => {
      await pool.load(ring);
      pool.threads()[0]?.terminate();
      const input = "asked while nobody lives";
      const signature = await signOne(pool, ring.active.kid, input);
      expect(verifies(ring, ring.active.kid, { input, signature })).toBe(true);
    });
  });

  test("that keeps dying gives what it has not signed to another engine, and says so once", async () => {
    const ring = await aRing("active", "pending");
    await withPool({ threadCount: 1 }, async ({ pool, broken, takenOver, replaced }) => {
      await pool.load(ring);
      for (let death = 0; death < 4; death++) {
        await until(() => pool.threads().length > 0);
        pool.threads()[0]?.terminate();
        await until(() => pool.threads().length === 0);
      }
      expect({ broken: broken.length, replaced: replaced.length }).toEqual({ broken: 1, replaced: 3 });
      void signOne(pool, ring.active.kid, "later");
      expect(takenOver.map(({ input }) => input)).toEqual(["later"]);
    });
  });

  test("rotates under load: every signature is of the key that was asked for, or is refused", async () => {
    const before = await aRing("active", "pending");
    const after = await aRing("pending", "stranger");
    await withPool({}, async ({ pool }) => {
      await pool.load(before);
      const signed: { kid: string; input: string; signature: string }[] = [];
      const refused: unknown[] = [];
      let isOver = false;
      const lane = async (name: number) => {
        for (let i = 0; !isOver; i++) {
          const { kid } = i % 2 === 0 ? before.active : before.pending;
          const input = `${name}.${i}`;
          const signature = await signOne(pool, kid, input, { bulk: name % 2 === 0 }).catch((error) => {
            refused.push({ kid, code: error.code });
          });
          if (signature !== undefined) signed.push({ kid, input, signature });
        }
      };
      const lanes = range(24).map(lane);
      await signOne(pool, before.active.kid, "before");
      await pool.load(after);
      await signOne(pool, after.pending.kid, "after");
      isOver = true;
      await Promise.all(lanes);
      const wrong = signed.filter((one) => !verifies(before, one.kid, one));
      expect(wrong).toEqual([]);
      expect(signed.some(({ kid }) => kid === before.active.kid)).toBe(true);
      expect(refused.length).toBeGreaterThan(0);
      for (const one of refused) expect(one).toEqual({ kid: before.active.kid, code: "SIGNER_UNAVAILABLE" });
    });
  });

  test("refuses a key that it was not given, and one that has left the ring", async () => {
    const [before, after] = [await aRing("active", "pending"), await aRing("pending", "stranger")];
    await withPool({ threadCount: 1 }, async ({ pool }) => {
      expect(await rejection(signOne(pool, before.active.kid, "x"))).toMatchObject(noKey);
      await pool.load(before);
      await pool.load(after);
      expect(await rejection(signOne(pool, before.active.kid, "x"))).toMatchObject(noKey);
      expect(await signOne(pool, after.active.kid, "x")).toHaveLength(342);
    });
  });

  test("that cannot open the new keys keeps the old ones", async () => {
    const before = await aRing("active", "pending");
    await withPool({ threadCount: 1 }, async ({ pool }) => {
      await pool.load(before);
      const broken = { ...(await fixtureKey("stranger", 0)), sealed: null };
      const destroyed = keyRing([{ ...before.pending, state: "active" }, broken]);
      expect(await rejection(pool.load(destroyed))).toMatchObject({ code: "INTERNAL" });
      const sealed = secrets.seal(new Uint8Array(Buffer.from("no key at all")), broken.kid);
      const unreadable = keyRing([before.active, { ...broken, sealed }]);
      expect(await rejection(pool.load(unreadable))).toMatchObject(noKey);
      expect(await signOne(pool, before.active.kid, "x")).toHaveLength(342);
    });
  });

  test("leaves no private key in the memory that the threads share", async () => {
    const ring = await aRing("active", "pending");
    const memories: SharedArrayBuffer[] = [];
    const spying = (data: Parameters<typeof start>[0]): Worker => {
      memories.push(data.memory);
      return start(data);
    };
    const { pkcs8Of } = await import("../../src/domain/keys.ts");
    const keys = [ring.active, ring.pending].map((key) => Buffer.from(pkcs8Of(key, secrets)));
    const holdsAKey = () => {
      const shared = memories.map((memory) => Buffer.from(new Uint8Array(memory).slice()));
      // Any stretch of the key would do, so the middle one is looked for, where the primes are.
      return shared.some((bytes) => keys.some((key) => bytes.includes(key.subarray(600, 632))));
    };
    await withPool({ start: spying }, async ({ pool }) => {
      await pool.load(ring);
      await signOne(pool, ring.active.kid, "not secret");
      expect(memories.length).toBeGreaterThan(0);
      expect(holdsAKey()).toBe(false);
    });
    expect(memories.every((memory) => new Uint8Array(memory).every((byte) => byte === 0))).toBe(true);
  });

  test("ends with what it had not begun refused", async () => {
    const ring = await aRing("active", "pending");
    const outcomes = await withPool({ threadCount: 1 }, async ({ pool }) => {
      await pool.load(ring);
      const signing = range(500).map((i) =>
        signOne(pool, ring.active.kid, `${i}`).catch((error) => error.code),
      );
      await pool.close();
      return Promise.all(signing);
    });
    expect(outcomes).toHaveLength(500);
    expect(outcomes.at(-1)).toBe("SIGNER_UNAVAILABLE");
  });
});
