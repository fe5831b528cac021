import { describe, expect, test } from "bun:test";
import type { KeyRing } from "../../src/domain/keys.ts";
import {
  newSigningBoards,
  openSigningBoard,
  type SigningBoard,
  slotsOfSort,
} from "../../src/signing/board.ts";
import type { Engine } from "../../src/signing/engine.ts";
import { findLibcrypto } from "../../src/signing/libcrypto.ts";
import { openOpenssl } from "../../src/signing/openssl.ts";
import { until } from "../harness/eventually.ts";
import { aRing, verifies } from "../harness/keys.ts";
import { secrets } from "../harness/samples.ts";

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const hash = new Uint8Array(32).fill(7);
const anOffer = { kid: "a key", hash, bulk: false };
const anyKey = () => true;
const signature = new Uint8Array(256).fill(9);

function boards(threads: number): { memory: SharedArrayBuffer; all: SigningBoard[] } {
  const memory = newSigningBoards(threads);
  return { memory, all: range(threads).map((thread) => openSigningBoard(memory, thread)) };
}

describe("a signing board", () => {
  test("carries a key id and a hash to who claims it, and the signature back", () => {
    const [owner, helper] = boards(2).all as [SigningBoard, SigningBoard];
    const slot = owner.offer(anOffer) as number;
    expect([owner.outcome(slot), helper.areOffered(1, anyKey)]).toEqual(["offered", true]);
    const claim = helper.claim(anyKey);
    expect(claim).toEqual({ owner: 0, slot, kid: "a key", hash });
    expect([owner.outcome(slot), owner.takeBack(slot), helper.areOffered(1, anyKey)]).toEqual([
      "claimed",
      false,
      false,
    ]);
    if (claim !== undefined) helper.deliver(claim, signature);
    expect(owner.outcome(slot)).toEqual(signature);
    owner.release(slot);
    expect(helper.claim(anyKey)).toBeUndefined();
  });

  test("gives one offer to one thread only, or back to who made it", () => {
    const [owner, ...others] = boards(4).all as [SigningBoard, ...SigningBoard[]];
    const slots = range(3).map(() => owner.offer(anOffer) as number);
    expect(owner.takeBack(slots[0] as number)).toBe(true);
    const claims = [...others, ...others].map((one) => one.claim(anyKey)?.slot);
    expect(claims.filter((slot) => slot !== undefined)).toEqual(slots.slice(1));
  });

  test("leaves what a thread has no key for to others", () => {
    const [owner, helper, other] = boards(3).all as [SigningBoard, SigningBoard, SigningBoard];
    owner.offer({ ...anOffer, kid: "old" });
    owner.offer({ ...anOffer, kid: "n".repeat(64) });
    const hasNew = (kid: string) => kid === "n".repeat(64);
    expect([helper.claim(hasNew)?.kid, helper.claim(hasNew)]).toEqual(["n".repeat(64), undefined]);
    expect([helper.areOffered(1, hasNew), other.claim(anyKey)?.kid]).toEqual([false, "old"]);
  });

  test("has room for so many of a sort, and none for a key id longer than any of ours", () => {
    const [owner] = boards(2).all as [SigningBoard];
    expect(owner.offer({ ...anOffer, kid: "k".repeat(65) })).toBeUndefined();
    const slots = range(slotsOfSort + 1).map(() => owner.offer(anOffer));
    expect(slots.at(-1)).toBeUndefined();
    expect([owner.hasRoom(false), owner.hasRoom(true)]).toEqual([false, true]);
    expect(new Set(slots.slice(0, -1)).size).toBe(slotsOfSort);
  });

  test("rings one thread that sleeps for each offer, and its owner for each outcome", async () => {
    const [owner, helper, other] = boards(3).all as [SigningBoard, SigningBoard, SigningBoard];
    const rung: string[] = [];
    const stops = [
      owner.listen(() => rung.push("owner")),
      helper.listen(() => rung.push("helper")),
      other.listen(() => rung.push("other")),
    ];
    expect(owner.isAnyoneAsleep()).toBe(false);
    helper.sleep();
    other.sleep();
    owner.offer(anOffer);
    await until(() => rung.length === 1);
    expect([rung, owner.isAnyoneAsleep()]).toEqual([["helper"], true]);
    owner.sleep();
    const claim = helper.claim(anyKey);
    if (claim !== undefined) helper.deliver(claim, null);
    await until(() => rung.length === 2);
    expect(rung).toEqual(["helper", "owner"]);
    for (const stop of stops) stop();
  });

  test("gives back what a thread had claimed that died, and takes from it what it had offered", () => {
    const { memory, all } = boards(3);
    const [owner, dead, main] = all as [SigningBoard, SigningBoard, SigningBoard];
    const slot = owner.offer(anOffer) as number;
    expect(dead.claim(anyKey)?.slot).toBe(slot);
    dead.offer(anOffer);
    const begun = dead.offer(anOffer) as number;
    dead.sleep();
    main.claim(anyKey);
    const claim = main.claim(anyKey);
    expect(claim).toMatchObject({ owner: 1, slot: begun });
    main.abandon(1);
    expect([owner.outcome(slot), owner.isAnyoneAsleep(), main.claim(anyKey)]).toEqual([
      "returned",
      false,
      undefined,
    ]);
    // Who takes its number finds its slots as they are: what somebody still signs is not used anew.
    const next = openSigningBoard(memory, 1);
    const slots = range(slotsOfSort).map(() => next.offer(anOffer));
    expect(slots.filter((one) => one === undefined)).toHaveLength(2);
    if (claim !== undefined) main.deliver(claim, signature);
    expect(next.offer(anOffer)).toBe(begun);
  });
});

describe.if(findLibcrypto() !== undefined)("threads that share a board", () => {
  /** Engines that share a board: that they run in one thread here changes nothing. */
  async function withEngines(
    rings: readonly (KeyRing | null)[],
    act: (engines: Engine[], all: SigningBoard[], helped: number[]) => Promise<void>,
  ): Promise<void> {
    const helped: number[] = [];
    // One more than engines: the number of a thread that the test plays.
    const all = boards(rings.length + 1).all.map((board, thread) => ({
      ...board,
      deliver(...delivered: Parameters<SigningBoard["deliver"]>) {
        if (delivered[1] !== null) helped.push(thread);
        board.deliver(...delivered);
      },
    }));
    const engines = await Promise.all(rings.map((_, i) => openOpenssl({ secrets, board: all[i] })));
    try {
      for (const [i, ring] of rings.entries()) if (ring !== null) await engines[i]?.load(ring);
      await act(engines, all, helped);
    } finally {
      await Promise.all(engines.map((engine) => engine.close()));
    }
  }

  async function signsRight(engine: Engine, ring: KeyRing, inputs: string[]): Promise<void> {
    const { kid } = ring.active;
    const signed = await engine.sign(kid, inputs, { bulk: true });
    const wrong = inputs.filter((input, i) => !verifies(ring, kid, { input, signature: signed[i] ?? "" }));
    expect(wrong).toEqual([]);
  }

  const inputs = range(40).map((i) => `input ${i}`);

  test("make one call's signatures together, each with the keys that it has", async () => {
    const [ring, other] = [await aRing("active", "pending"), await aRing("stranger", "pending")];
    const cases: (KeyRing | null)[][] = [[ring], [null], [other], [other, ring]];
    for (const helpers of cases) {
      await withEngines([ring, ...helpers], async ([engine], all, helped) => {
        const ready = helpers.filter((one) => one !== null).length;
        await until(() => ready === 0 || (all.at(-1) as SigningBoard).isAnyoneAsleep());
        await signsRight(engine as Engine, ring, inputs);
        await signsRight(engine as Engine, ring, ["x".repeat(20_000), ...inputs]);
        // Only who has the key signs with it.
        expect([...new Set(helped)]).toEqual(helpers.includes(ring) ? [helpers.indexOf(ring) + 1] : []);
      });
    }
  });

  test("get back what one of them had begun when it died", async () => {
    const ring = await aRing("active", "pending");
    await withEngines([ring], async ([engine], all) => {
      const dying = all[1] as SigningBoard;
      dying.sleep();
      const signing = signsRight(engine as Engine, ring, inputs);
      await until(() => dying.claim(anyKey) !== undefined);
      // All but the one that is claimed are signed; the call waits for that one.
      await until(() => dying.waiting(true) === 1);
      dying.abandon(1);
      await signing;
    });
  });

  test("forget what they offered for a call that was refused at the end", async () => {
    const ring = await aRing("active", "pending");
    await withEngines([ring], async ([engine], all) => {
      const helper = all[1] as SigningBoard;
      helper.sleep();
      const refused = (engine as Engine).sign(ring.active.kid, inputs).catch((error) => error.code);
      await until(() => helper.areOffered(1, anyKey));
      await engine?.close();
      expect(await refused).toBe("SIGNER_UNAVAILABLE");
      expect(helper.waiting(false)).toBe(0);
    });
  });
});
