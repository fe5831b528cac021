import { describe, expect, test } from "bun:test";
import { generateKey, type KeyRing, keyRing } from "../../src/domain/keys.ts";
import type { Engine } from "../../src/signing/engine.ts";
import { findLibcrypto } from "../../src/signing/libcrypto.ts";
import { openOpenssl } from "../../src/signing/openssl.ts";
import { openWebCrypto } from "../../src/signing/webcrypto.ts";
import { aRing, fixtureKey, signOne, verifies } from "../harness/keys.ts";
import { secrets } from "../harness/samples.ts";

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

async function withEngine(ring: KeyRing | null, act: (engine: Engine) => Promise<void>): Promise<void> {
  const engine = await openOpenssl({ secrets });
  try {
    if (ring !== null) await engine.load(ring);
    await act(engine);
  } finally {
    await engine.close();
  }
}

// Where there is no OpenSSL 3, signer.test.ts shows what happens then.
describe.if(findLibcrypto() !== undefined)("signing with OpenSSL in the thread that asks", () => {
  test("gives the very bytes that WebCrypto gives, whatever the length of the input", async () => {
    const ring = await aRing("active", "pending");
    const webCrypto = await openWebCrypto({ secrets });
    await webCrypto.load(ring);
    await withEngine(ring, async (engine) => {
      // 16384 is the longest that OpenSSL is handed whole; of what is longer it is handed the hash.
      for (const length of [0, 1, 700, 16_383, 16_384, 16_385, 100_000]) {
        const input = "a1".repeat(length).slice(0, length);
        for (const { kid } of [ring.active, ring.pending]) {
          expect(await signOne(engine, kid, input)).toBe(await signOne(webCrypto, kid, input));
        }
      }
    });
  });

  test("takes keys of 4096 bits", async () => {
    const big = await generateKey(secrets, 4096, 0);
    const ring = keyRing([{ ...big, state: "active" }, await fixtureKey("pending", 0)]);
    await withEngine(ring, async (engine) => {
      const signature = await signOne(engine, big.kid, "input");
      expect(signature).toHaveLength(683);
      expect(verifies(ring, big.kid, { input: "input", signature })).toBe(true);
    });
  });

  test("lets a single check go before a batch, and batches go on beside single checks", async () => {
    const ring = await aRing("active", "pending");
    const { kid } = ring.active;
    await withEngine(ring, async (engine) => {
      const order: string[] = [];
      const ask = (name: string, bulk: boolean) =>
        engine.sign(kid, [name], { bulk }).then(() => order.push(name));
      const batches = range(100).map((i) => ask(`batch ${i}`, true));
      const singles = range(40).map((i) => ask(`single ${i}`, false));
      await Promise.all([...batches, ...singles]);
      const lastSingle = order.indexOf("single 39");
      // Every fourth is a batch's while both wait.
      expect(order.slice(0, lastSingle).filter((name) => name.startsWith("batch"))).toHaveLength(13);
      const sorted = (sort: string) => order.filter((name) => name.startsWith(sort));
      expect(sorted("single")).toEqual(range(40).map((i) => `single ${i}`));
      expect(sorted("batch")).toEqual(range(100).map((i) => `batch ${i}`));
    });
  });

  test("leaves the event loop to others after a turn", async () => {
    const ring = await aRing("active", "pending");
    await withEngine(ring, async (engine) => {
      let isSigned = false;
      let turns = 0;
      const signing = engine.sign(ring.active.kid, range(100).map(String), { bulk: true }).then(() => {
        isSigned = true;
      });
      for (; !isSigned; turns++) await new Promise((resolve) => setImmediate(resolve));
      await signing;
      // At a millisecond a turn these are a quarter of a second on a slow machine, and never a handful of turns.
      expect(turns).toBeGreaterThanOrEqual(5);
    });
  });
});
