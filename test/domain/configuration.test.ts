import { expect, spyOn, test } from "bun:test";
import { compactVerify, importJWK } from "jose";
import type { ConfigurationDependencies } from "../../src/domain/configuration.ts";
import { createConfiguration, maxSnapshotAgeMs } from "../../src/domain/configuration.ts";
import { serializeSettings } from "../../src/domain/settings.ts";
import { aClock } from "../harness/clock.ts";
import { fillRing, fixtureKey } from "../harness/keys.ts";
import { catchError } from "../harness/rejection.ts";
import { aSettings, secrets } from "../harness/samples.ts";
import { type TestStores, withStores } from "../harness/store.ts";

const start = "2026-03-01T12:00:00Z";
const now = Date.parse(start);

async function open(stores: TestStores, changes: Partial<ConfigurationDependencies> = {}) {
  const ring = await fillRing(stores.keys, now);
  const clock = aClock(start);
  const dependencies = { ...stores, secrets, clock, defaults: aSettings, ...changes };
  return { configuration: await createConfiguration(dependencies), clock, ...ring };
}

test("the configuration has the stored settings, and the default of each setting that is not stored", () =>
  withStores(async (stores) => {
    await stores.settings.write({ issuer: "https://other.example", time_zone: "Pacific/Auckland" });
    const { configuration } = await open(stores);
    const { settings, calendar } = configuration.current();
    const stored = { issuer: "https://other.example", timeZone: "Pacific/Auckland" };
    expect(settings).toEqual({ ...aSettings, ...stored });
    expect(calendar.dateAt(now)).toBe("2026-03-02");
  }));

test("the configuration's snapshot is replaced when a change is read, and never modified", () =>
  withStores(async (stores) => {
    const { configuration } = await open(stores);
    const before = configuration.current();
    await stores.settings.write({});
    expect(await configuration.refresh()).toBe(before);
    await stores.settings.write({ issuer: "https://moved.example" });
    expect(configuration.current()).toBe(before);
    const moved = await configuration.refresh();
    expect(configuration.current()).toBe(moved);
    expect(moved.settings.issuer).toBe("https://moved.example");
    expect(before.settings.issuer).toBe("https://teachers.example");
  }));

test("the configuration is stale after a second of failed reads, until a read succeeds", () =>
  withStores(async (stores) => {
    const { configuration, clock } = await open(stores);
    await stores.settings.write({ policy: "{" });
    for (const isStale of [false, true]) {
      expect(await catchError(configuration.refresh())).toMatchObject({ code: "CONFIG_INVALID" });
      expect(configuration.isStale()).toBe(isStale);
      clock.add(maxSnapshotAgeMs);
    }
    await stores.settings.write(serializeSettings(aSettings));
    await configuration.refresh();
    expect(configuration.isStale()).toBe(false);
  }));

test("recent() reads a configuration older than a second again, and returns the old one if the read fails", () =>
  withStores(async (stores) => {
    const { configuration, clock } = await open(stores);
    await stores.settings.write({ issuer: "https://moved.example" });
    expect((await configuration.recent()).settings.issuer).toBe("https://teachers.example");
    clock.add(maxSnapshotAgeMs);
    expect((await configuration.recent()).settings.issuer).toBe("https://moved.example");
    await stores.settings.write({ policy: "{" });
    clock.add(maxSnapshotAgeMs);
    expect((await configuration.recent()).settings.issuer).toBe("https://moved.example");
  }));

test("a rotation changes the active key, the JWKS and the key history in one step, after the signer loaded the keys", () =>
  withStores(async (stores) => {
    const loaded: string[] = [];
    const inUse: string[] = [];
    const { configuration, active, pending } = await open(stores, {
      async onKeys(ring) {
        loaded.push(ring.active.kid);
        if (loaded.length > 1) inUse.push(configuration.current().keys.active.kid);
      },
    });
    const next = await fixtureKey("stranger", now);
    await stores.keys.rotate({ active: active.kid, pending: pending.kid, next, at: now });
    const after = await configuration.refresh();
    expect(loaded).toEqual([active.kid, pending.kid]);
    expect(inUse).toEqual([active.kid]);
    expect(after.keys.active.kid).toBe(pending.kid);
    expect(JSON.parse(after.jwks).keys).toHaveLength(3);
    await compactVerify(after.keyHistory, await importJWK(pending.jwk, "RS256"));
  }));

test("ten simultaneous refreshes read the configuration once", () =>
  withStores(async (stores) => {
    const { configuration } = await open(stores);
    await stores.settings.write({ issuer: "https://moved.example" });
    const read = spyOn(stores.settings, "read");
    const snapshots = await Promise.all(Array.from({ length: 10 }, () => configuration.refresh()));
    expect(read).toHaveBeenCalledTimes(1);
    expect(new Set(snapshots).size).toBe(1);
  }));

test("a second refresh finds a change that was committed while the first refresh read the tables", () =>
  withStores(async (stores) => {
    const { configuration } = await open(stores);
    const { certificates } = stores.partners;
    spyOn(stores.partners, "certificates").mockImplementationOnce(async () => {
      const found = await certificates();
      await stores.settings.write({ issuer: "https://second.example" });
      return found;
    });
    await stores.settings.write({ issuer: "https://first.example" });
    await configuration.refresh();
    expect((await configuration.refresh()).settings.issuer).toBe("https://second.example");
  }));
