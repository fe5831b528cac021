import { expect, test } from "bun:test";
import { minKeyPublicationMs, rotateSigningKeys } from "../../src/domain/rotation.ts";
import { attest } from "../harness/evidence.ts";
import { fillRing } from "../harness/keys.ts";
import { catchError } from "../harness/rejection.ts";
import { anAttestation, secrets } from "../harness/samples.ts";
import { type TestStores, withStores } from "../harness/store.ts";

const now = Date.parse("2026-03-01T12:00:00.250Z");
const dayMs = 86_400_000;
const rotation = { bits: 2048, immediately: false, now: now + dayMs };

const statesOf = async ({ keys }: TestStores) =>
  Object.fromEntries((await keys.list()).map((key) => [key.kid, key.state]));

test("a rotation is refused while the pending key has been public for less than a day", () =>
  withStores(async (world) => {
    await fillRing(world.keys, now);
    const before = await statesOf(world);
    const early = rotateSigningKeys(world.keys, secrets, { ...rotation, now: now + minKeyPublicationMs - 1 });
    const refusal = await catchError(early);
    expect(refusal).toMatchObject({ code: "REFUSED" });
    expect(String(refusal)).toContain("2026-03-02T12:00:00.250Z");
    expect(await statesOf(world)).toEqual(before);
    expect(minKeyPublicationMs).toBe(dayMs);
  }));

test("a rotation makes the pending key active, retires the old key and deletes its private half", () =>
  withStores(async (world) => {
    const { active, pending } = await fillRing(world.keys, now);
    const rotated = await rotateSigningKeys(world.keys, secrets, rotation);
    expect(rotated).toMatchObject({ activeKid: pending.kid, previousKid: active.kid, early: false });
    const stored = new Map((await world.keys.list()).map((key) => [key.kid, key]));
    expect(stored.size).toBe(3);
    const [at, before] = [now + dayMs, now];
    expect(stored.get(active.kid)).toMatchObject({ state: "retired", sealed: null, retiredAt: at });
    expect(stored.get(pending.kid)).toMatchObject({ state: "active", activatedAt: at, publishedAt: before });
    expect(stored.get(rotated.pendingKid)).toMatchObject({ state: "pending" });
  }));

test("the old key of a rotation is retired at the second of its last signature, if that second is later than the rotation", () =>
  withStores(async ({ keys, driver }) => {
    const { active, pending } = await fillRing(keys, now);
    const signed = async (kid: string, at: number) =>
      expect(await attest(driver, [anAttestation(1, { kid, issuedAt: at / 1000 })])).not.toBeNull();
    const lastSecond = Date.parse("2026-03-02T12:00:03Z");
    await signed(active.kid, lastSecond);
    // Another key signed while the clock was a year ahead for a moment.
    await signed("an earlier key", lastSecond + 365 * dayMs);
    await rotateSigningKeys(keys, secrets, rotation);
    const stored = await keys.list();
    expect(stored.find(({ kid }) => kid === active.kid)?.retiredAt).toBe(lastSecond);
    expect(stored.find(({ kid }) => kid === pending.kid)?.activatedAt).toBe(rotation.now);
  }));

test("one of two simultaneous rotations is refused", () =>
  withStores(async ({ keys }) => {
    await fillRing(keys, now);
    const rotate = () => rotateSigningKeys(keys, secrets, rotation);
    const both = await Promise.allSettled([rotate(), rotate()]);
    expect(both.map((one) => one.status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(both.find((one) => one.status === "rejected")).toMatchObject({ reason: { code: "REFUSED" } });
    expect(await keys.list()).toHaveLength(3);
  }));
