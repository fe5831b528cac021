import { describe, expect, test } from "bun:test";
import type { Node } from "../../src/domain/nodes.ts";
import { publishAheadMs, rotateKeys, untilRotatable } from "../../src/domain/rotation.ts";
import { fillRing } from "../harness/keys.ts";
import { rejection } from "../harness/rejection.ts";
import { aNode, secrets } from "../harness/samples.ts";
import { type TestStores, withStores } from "../harness/store.ts";

const now = Date.parse("2026-03-01T12:00:00.250Z");
const dayMs = 86_400_000;
const rotation = { bits: 2048, immediately: false, now: now + dayMs };

const statesOf = async ({ keys }: TestStores) =>
  Object.fromEntries((await keys.list()).map((key) => [key.kid, key.state]));

describe("rotation", () => {
  test("is refused while the pending key has been public for less than a day, and changes nothing", () =>
    withStores(async (world) => {
      await fillRing(world.keys, now);
      const before = await statesOf(world);
      const early = rotateKeys(world, secrets, { ...rotation, now: now + publishAheadMs - 1 });
      const refusal = await rejection(early);
      expect(refusal).toMatchObject({ code: "REFUSED" });
      expect(String(refusal)).toContain("2026-03-02T12:00:00.250Z");
      expect(await statesOf(world)).toEqual(before);
      expect(publishAheadMs).toBe(dayMs);
    }));

  test("promotes the pending key, retires the active one and destroys its private half", () =>
    withStores(async (world) => {
      const { active, pending } = await fillRing(world.keys, now);
      const rotated = await rotateKeys(world, secrets, rotation);
      expect(rotated).toMatchObject({ activeKid: pending.kid, previousKid: active.kid, early: false });
      expect(await statesOf(world)).toEqual({
        [active.kid]: "retired",
        [pending.kid]: "active",
        [rotated.pendingKid]: "pending",
      });
      const stored = await world.keys.list();
      expect(stored.find((key) => key.kid === active.kid)).toMatchObject({
        sealed: null,
        retiredAt: now + dayMs,
      });
      expect(stored.find((key) => key.kid === pending.kid)).toMatchObject({
        activatedAt: now + dayMs,
        publishedAt: now,
      });
    }));

  test("covers what the old key signed meanwhile, and begins the new key's time with itself", () =>
    withStores(async (world) => {
      const { keys, driver } = world;
      const { active, pending } = await fillRing(keys, now);
      const signed = async (kid: string, at: number) => {
        const sql = `INSERT INTO attestations (verification_id, partner_id, issued_at, kid, endpoint, purpose,
          policy_version, reference, status, eligible, credential, request_id, jws)
          VALUES (?, 'p', ?, ?, 'batch', 'x', '1', 'nin', 'VALID', 1, 'k', 'r', 'j')`;
        await driver.batch([{ sql, args: [`${kid} ${at}`, at / 1000, kid] }]);
      };
      const lastSecond = Date.parse("2026-03-02T12:00:03Z");
      await signed(active.kid, lastSecond);
      // A clock that was a year ahead for a moment, while another key was active.
      await signed("an earlier key", lastSecond + 365 * dayMs);
      await rotateKeys(world, secrets, rotation);
      const stored = await keys.list();
      expect(stored.find(({ kid }) => kid === active.kid)?.retiredAt).toBe(lastSecond);
      expect(stored.find(({ kid }) => kid === pending.kid)?.activatedAt).toBe(rotation.now);
    }));

  test("twice at the same time happens once", () =>
    withStores(async (world) => {
      const { keys } = world;
      await fillRing(keys, now);
      const both = await Promise.allSettled([
        rotateKeys(world, secrets, rotation),
        rotateKeys(world, secrets, rotation),
      ]);
      expect(both.map((one) => one.status).sort()).toEqual(["fulfilled", "rejected"]);
      expect(both.find((one) => one.status === "rejected")).toMatchObject({ reason: { code: "REFUSED" } });
      expect(await keys.list()).toHaveLength(3);
    }));
});

describe("rotation over nodes", () => {
  const [first, second] = [
    aNode({ nodeId: "01890000-0000-7000-8000-000000000001", url: "http://one:8080" }),
    aNode({ nodeId: "01890000-0000-7000-8000-000000000002", url: "http://two:8080" }),
  ];
  const atOnce = { forMs: 0, everyMs: 1 };
  const soon = { forMs: 60_000, everyMs: 1 };

  /** A ring, and the two nodes in the list of a service that runs, with the pending key that each has loaded. */
  async function nodesWith(
    world: TestStores,
    loaded: readonly ["pending" | "active" | null, "pending" | null],
  ) {
    const ring = await fillRing(world.keys, now);
    const say = async (node: Node, state: "pending" | "active" | null) =>
      world.nodes.beat({ ...node, pendingKid: state === null ? null : ring[state].kid });
    await say(first, loaded[0]);
    await say(second, loaded[1]);
    return { ...ring, say };
  }

  test("is refused, naming those that live and have not loaded the pending key, and changes nothing", () =>
    withStores(async (world) => {
      await world.driver.lockService();
      const { say, pending } = await nodesWith(world, ["active", null]);
      const before = await statesOf(world);
      const refused = () => rejection(rotateKeys(world, secrets, { ...rotation, wait: atOnce }));
      const refusal = await refused();
      expect(refusal).toMatchObject({ code: "REFUSED" });
      expect(String(refusal)).toContain(`${pending.kid} is not loaded by http://one:8080, http://two:8080:`);
      await say(first, "pending");
      expect(String(await refused())).toContain("is not loaded by http://two:8080:");
      expect(await statesOf(world)).toEqual(before);
      await say(second, "pending");
      expect(await rotateKeys(world, secrets, { ...rotation, wait: atOnce })).toMatchObject({
        activeKid: pending.kid,
      });
    }));

  test("waits for them, says once for which, and goes on when the last has loaded it or has ended", () =>
    withStores(async (world) => {
      await world.driver.lockService();
      const { say } = await nodesWith(world, [null, "pending"]);
      const waits: string[][] = [];
      const done = await untilRotatable(world, {
        ...rotation,
        wait: soon,
        onWait(nodes) {
          waits.push(nodes.map(({ url }) => url));
          void say(first, "pending");
        },
      });
      expect([waits, done.early]).toEqual([[["http://one:8080"]], false]);
      await say(first, null);
      const onWait = () => void world.nodes.leave(first.nodeId);
      expect(await untilRotatable(world, { ...rotation, wait: soon, onWait })).toEqual(done);
    }));

  test("waits for nobody over a file whose service does not run", () =>
    withStores(async (world) => {
      await nodesWith(world, [null, null]);
      const onWait = () => {
        throw new Error("nobody is to be waited for");
      };
      await rotateKeys(world, secrets, { ...rotation, wait: soon, onWait });
    }));
});
