import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { generateKey, type KeyRing, keyRing } from "../../src/domain/keys.ts";
import { deriveSecrets, newMasterKey, type Secrets } from "../../src/domain/secrets.ts";
import { createLoad, type Load } from "../../src/signing/admission.ts";
import { newSigningBoards, openSigningBoard } from "../../src/signing/board.ts";
import type { Engine } from "../../src/signing/engine.ts";
import { findLibcrypto } from "../../src/signing/libcrypto.ts";
import { openOpenssl } from "../../src/signing/openssl.ts";
import { openWebCrypto } from "../../src/signing/webcrypto.ts";
import { aRing, fixtureKey, signOne, verifies } from "../harness/keys.ts";
import { rejection } from "../harness/rejection.ts";
import { secrets } from "../harness/samples.ts";
import { cryptoMbFile } from "./machine.ts";

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const noKey = { code: "SIGNER_UNAVAILABLE" };

type Opened = { readonly engine: Engine; readonly load: Load };

const engines = [
  {
    name: "OpenSSL",
    isHere: findLibcrypto() !== undefined,
    unreadableKey: noKey,
    async open(unsealing: Secrets): Promise<Opened> {
      const board = openSigningBoard(newSigningBoards(1), 0);
      return { engine: await openOpenssl({ secrets: unsealing, board }), load: board };
    },
  },
  {
    name: "crypto_mb",
    isHere: cryptoMbFile !== undefined,
    unreadableKey: noKey,
    async open(unsealing: Secrets): Promise<Opened> {
      const board = openSigningBoard(newSigningBoards(1), 0);
      const cryptoMb = { file: cryptoMbFile, isInsisted: true };
      return { engine: await openOpenssl({ secrets: unsealing, board, cryptoMb }), load: board };
    },
  },
  {
    name: "WebCrypto",
    isHere: true,
    unreadableKey: { name: "DataError" },
    async open(unsealing: Secrets): Promise<Opened> {
      const load = createLoad(1);
      return { engine: await openWebCrypto({ secrets: unsealing, load }), load };
    },
  },
];

for (const { name, isHere, unreadableKey, open } of engines) {
  async function withEngine(ring: KeyRing | null, act: (opened: Opened) => Promise<void>): Promise<void> {
    const opened = await open(secrets);
    try {
      if (ring !== null) await opened.engine.load(ring);
      await act(opened);
    } finally {
      await opened.engine.close();
    }
  }

  describe.if(isHere)(`signing with ${name}`, () => {
    test("is by the key that is named: the active one, and the pending one whose turn may come", async () => {
      const ring = await aRing("active", "pending");
      await withEngine(ring, async ({ engine }) => {
        for (const [kid, other] of [
          [ring.active.kid, ring.pending.kid],
          [ring.pending.kid, ring.active.kid],
        ] as const) {
          const signature = await signOne(engine, kid, "input");
          expect(signature).toMatch(/^[\w-]{342}$/);
          expect(verifies(ring, kid, { input: "input", signature })).toBe(true);
          expect(verifies(ring, other, { input: "input", signature })).toBe(false);
        }
      });
    });

    test("keeps the signatures of many callers apart, single ones and a batch's, each call's in order", async () => {
      const ring = await aRing("active", "pending");
      await withEngine(ring, async ({ engine, load }) => {
        const asked = range(60).map((call) => {
          const { kid } = call % 3 === 0 ? ring.pending : ring.active;
          const bulk = call % 2 === 0;
          return { kid, bulk, inputs: range(bulk ? 1 + (call % 20) : 1).map((i) => `input ${call}.${i}`) };
        });
        const signed = await Promise.all(
          asked.map(({ kid, inputs, bulk }) => engine.sign(kid, inputs, { bulk })),
        );
        const wrong = asked.filter(({ kid, inputs }, call) => {
          return inputs.some(
            (input, i) => !verifies(ring, kid, { input, signature: signed[call]?.[i] ?? "" }),
          );
        });
        expect(wrong).toEqual([]);
        expect(signed.map(({ length }) => length)).toEqual(asked.map(({ inputs }) => inputs.length));
        expect(await engine.sign(ring.active.kid, [])).toEqual([]);
        expect([load.waiting(false), load.waiting(true)]).toEqual([0, 0]);
      });
    });

    test("after a rotation is still by the key that was asked for before it, which is then refused", async () => {
      const before = await aRing("active", "pending");
      const after = await aRing("pending", "stranger");
      await withEngine(before, async ({ engine }) => {
        const asked = range(200).map((i) => `before ${i}`);
        const waiting = asked.map((input) => signOne(engine, before.active.kid, input, { bulk: true }));
        const batch = engine.sign(before.active.kid, asked, { bulk: true });
        await engine.load(after);
        expect(await rejection(engine.sign(before.active.kid, ["late"]))).toMatchObject(noKey);
        const signatures = [...(await Promise.all(waiting)), ...(await batch)];
        const wrong = [...asked, ...asked].filter((input, i) => {
          return !verifies(before, before.active.kid, { input, signature: signatures[i] ?? "" });
        });
        expect(wrong).toEqual([]);
        const signature = await signOne(engine, after.active.kid, "after");
        expect(verifies(after, after.active.kid, { input: "after", signature })).toBe(true);
      });
    });

    test("is refused by a key that was not given", async () => {
      const ring = await aRing("active", "pending");
      await withEngine(null, async ({ engine }) => {
        expect(await rejection(signOne(engine, ring.active.kid, "x"))).toMatchObject(noKey);
        await engine.load(ring);
        expect(await rejection(signOne(engine, "another", "x"))).toMatchObject(noKey);
      });
    });

    test("goes on by the old keys when the new ones cannot be opened", async () => {
      const before = await aRing("active", "pending");
      await withEngine(before, async ({ engine }) => {
        const broken = { ...(await fixtureKey("stranger", 0)), sealed: null };
        const destroyed = keyRing([{ ...before.pending, state: "active" }, broken]);
        expect(await rejection(engine.load(destroyed))).toMatchObject({ code: "INTERNAL" });
        const sealed = secrets.seal(new Uint8Array(Buffer.from("no key at all")), broken.kid);
        const unreadable = keyRing([before.active, { ...broken, sealed }]);
        expect(await rejection(engine.load(unreadable))).toMatchObject(unreadableKey);
        expect(await signOne(engine, before.active.kid, "x")).toHaveLength(342);
      });
    });

    test("opens nothing under another master key", async () => {
      const { engine } = await open(deriveSecrets(newMasterKey()));
      const loading = engine.load(await aRing("active", "pending"));
      expect(await rejection(loading)).toMatchObject({ code: "MASTER_KEY_WRONG" });
      await engine.close();
    });

    test("refuses a call that would wait too long as a whole, and recovers", async () => {
      const ring = await aRing("active", "pending");
      await withEngine(ring, async ({ engine, load }) => {
        const others = Math.ceil(3_000 / engine.signatureMs);
        load.count(false, others);
        const asked = engine.sign(ring.active.kid, ["one", "two"]);
        expect(await rejection(asked)).toMatchObject({ code: "OVERLOADED" });
        expect(load.waiting(false)).toBe(others);
        load.count(false, -others);
        expect(await engine.sign(ring.active.kid, ["one", "two"])).toHaveLength(2);
        expect(load.waiting(false)).toBe(0);
      });
    });
  });
}

async function withOpenssl(ring: KeyRing | null, act: (engine: Engine) => Promise<void>): Promise<void> {
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
    await withOpenssl(ring, async (engine) => {
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
    await withOpenssl(ring, async (engine) => {
      const signature = await signOne(engine, big.kid, "input");
      expect(signature).toHaveLength(683);
      expect(verifies(ring, big.kid, { input: "input", signature })).toBe(true);
    });
  });

  test("lets a single check go before a batch, and batches go on beside single checks", async () => {
    const ring = await aRing("active", "pending");
    const { kid } = ring.active;
    await withOpenssl(ring, async (engine) => {
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
    await withOpenssl(ring, async (engine) => {
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
