import { expect, test } from "bun:test";
import { compactVerify, importJWK } from "jose";
import {
  type ConfigurationDependencies,
  createConfiguration,
  maxStaleMs,
} from "../../src/domain/configuration.ts";
import { storedSettings } from "../../src/domain/settings.ts";
import { aClock } from "../harness/clock.ts";
import { fillRing, fixtureKey } from "../harness/keys.ts";
import { rejection } from "../harness/rejection.ts";
import { aSettings, secrets } from "../harness/samples.ts";
import { type TestStores, withStores } from "../harness/store.ts";

const now = Date.parse("2026-03-01T12:00:00Z");
const defaults = aSettings;

async function open(stores: TestStores, changes: Partial<ConfigurationDependencies> = {}) {
  const ring = await fillRing(stores.keys, now);
  const clock = aClock("2026-03-01T12:00:00Z");
  const configuration = await createConfiguration({ ...stores, secrets, clock, defaults, ...changes });
  return { configuration, ...ring };
}

test("the configuration has the stored settings, and defaults for the others", () =>
  withStores(async (stores) => {
    await stores.settings.write({ issuer: "https://other.example", time_zone: "Pacific/Auckland" });
    const { configuration } = await open(stores);
    const { settings, calendar } = configuration.current();
    const told = { issuer: "https://other.example", timeZone: "Pacific/Auckland" };
    expect(settings).toEqual({ ...defaults, ...told });
    expect(calendar.dateAt(now)).toBe("2026-03-02");
  }));

test("the configuration stays the same object while nothing changes", () =>
  withStores(async (stores) => {
    const { configuration } = await open(stores);
    const before = configuration.current();
    expect(await configuration.refresh()).toBe(before);
    await stores.settings.write({});
    expect(await configuration.refresh()).toBe(before);
  }));

test("the configuration is stale when a change could not be read for a second, until the change can be read", () =>
  withStores(async (stores) => {
    const clock = aClock("2026-03-01T12:00:00Z");
    const { configuration } = await open(stores, { clock });
    await stores.settings.write({ policy: "{" });
    for (const isStale of [false, true]) {
      expect(await rejection(configuration.refresh())).toMatchObject({ code: "CONFIG_INVALID" });
      expect(configuration.isStale()).toBe(isStale);
      clock.add(maxStaleMs);
    }
    await stores.settings.write(storedSettings(defaults));
    await configuration.refresh();
    expect(configuration.isStale()).toBe(false);
  }));

test("recent() reads the configuration again after a second", () =>
  withStores(async (stores) => {
    const clock = aClock("2026-03-01T12:00:00Z");
    const { configuration } = await open(stores, { clock });
    await stores.settings.write({ issuer: "https://moved.example" });
    expect((await configuration.recent()).settings.issuer).toBe("https://teachers.example");
    clock.add(maxStaleMs);
    expect((await configuration.recent()).settings.issuer).toBe("https://moved.example");
    await stores.settings.write({ policy: "{" });
    clock.add(maxStaleMs);
    expect((await configuration.recent()).settings.issuer).toBe("https://moved.example");
  }));

test("the configuration follows a change when it is refreshed, and is never changed in place", () =>
  withStores(async (stores) => {
    const { configuration } = await open(stores);
    const before = configuration.current();
    await stores.settings.write({ issuer: "https://moved.example" });
    expect(configuration.current()).toBe(before);
    expect((await configuration.refresh()).settings.issuer).toBe("https://moved.example");
    expect(configuration.current().settings.issuer).toBe("https://moved.example");
    expect(before.settings.issuer).toBe("https://teachers.example");
  }));

test("a rotation changes active key, JWKS and history in one step, after the signer has the keys", () =>
  withStores(async (stores) => {
    const told: string[] = [];
    const inUse: string[] = [];
    const { configuration, active, pending } = await open(stores, {
      async onKeys(ring) {
        told.push(ring.active.kid);
        if (told.length > 1) inUse.push(configuration.current().keys.active.kid);
      },
    });
    const next = await fixtureKey("stranger", now);
    await stores.keys.rotate({ active: active.kid, pending: pending.kid, next, at: now });
    const after = await configuration.refresh();
    expect(told).toEqual([active.kid, pending.kid]);
    expect(inUse).toEqual([active.kid]);
    expect(after.keys.active.kid).toBe(pending.kid);
    expect(JSON.parse(after.jwks).keys).toHaveLength(3);
    await compactVerify(after.keyHistory, await importJWK(pending.jwk, "RS256"));
  }));

test("ten refreshes at the same time read once", () =>
  withStores(async (stores) => {
    let reads = 0;
    const read = () => {
      reads++;
      return stores.settings.read();
    };
    const settings = { ...stores.settings, read };
    const { configuration } = await open(stores, { settings });
    await stores.settings.write({ issuer: "https://moved.example" });
    reads = 0;
    const snapshots = await Promise.all(Array.from({ length: 10 }, () => configuration.refresh()));
    expect(reads).toBe(1);
    expect(new Set(snapshots).size).toBe(1);
  }));

test("a refresh misses no change that comes while it reads", () =>
  withStores(async (stores) => {
    let slip = async () => {};
    const partners = {
      ...stores.partners,
      async certificates() {
        const found = await stores.partners.certificates();
        await slip();
        return found;
      },
    };
    const { configuration } = await open(stores, { partners });
    slip = async () => {
      slip = async () => {};
      await stores.settings.write({ issuer: "https://second.example" });
    };
    await stores.settings.write({ issuer: "https://first.example" });
    await configuration.refresh();
    expect((await configuration.refresh()).settings.issuer).toBe("https://second.example");
  }));
