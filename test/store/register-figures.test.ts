import { beforeAll, expect, test } from "bun:test";
import { createStores } from "../../cli/open.ts";
import { createTimeZoneCalendar } from "../../src/domain/clock.ts";
import { countTeachers, readFigures } from "../../src/domain/status.ts";
import { bind, type Driver } from "../../src/store/driver/driver.ts";
import { schemaVersion } from "../../src/store/driver/schema.ts";
import { lastIdBeforeSql } from "../../src/store/evidence/attestations.ts";
import { createRegisterFigures } from "../../src/store/register-figures.ts";
import { describeDrivers } from "../harness/drivers.ts";
import { attest } from "../harness/evidence.ts";
import { anApiKey, anAttestation, aPartner, aSigningKey, aTeacherWrite } from "../harness/samples.ts";
import { withStores } from "../harness/store.ts";

const now = Date.parse("2026-06-15T12:00:00Z");
const calendar = createTimeZoneCalendar("Africa/Lagos");
/** In the service's time zone the day began at 23:00 UTC. */
const startOfDay = Date.parse("2026-06-14T23:00:00Z");

describeDrivers("figures", (_kind, database) => {
  let driver: Driver;

  beforeAll(async () => {
    driver = database.driver();
    const { keys, partners, teachers } = database.stores();
    await keys.create(aSigningKey("active", "active"), aSigningKey("pending", "pending"));
    await teachers.apply([
      ...["1", "2", "3", "4"].map((n) => aTeacherWrite(`V/A/L/${n}`)),
      aTeacherWrite("E/X/P/1", { licenseExpiryDate: "2026-06-14" }),
      aTeacherWrite("E/X/P/2", { licenseExpiryDate: "2026-06-15" }),
      aTeacherWrite("R/E/V/1", { licenseRevokedOn: "2026-01-01" }),
      aTeacherWrite("D/E/A/1", { active: false, licenseRevokedOn: "2026-01-01" }),
      aTeacherWrite("L/A/T/1", { licenseIssueDate: "2026-06-16" }),
      aTeacherWrite("N/O/N/1", { licenseIssueDate: null, licenseExpiryDate: null }),
    ]);
    const times = [now - 86_400_000 * 3, startOfDay - 1_000, startOfDay, now - 3_600_000, now - 60_000, now];
    const issued = times.map((time) => ({ kid: "active", issuedAt: Math.floor(time / 1000) }));
    await attest(
      driver,
      issued.map((changes, n) => anAttestation(n, changes)),
    );
    await partners.add(aPartner("even"), anApiKey("even", "k1"));
    await partners.add(aPartner("odd"), anApiKey("odd", "k2"));
    await partners.add(aPartner("keys"), anApiKey("keys", "first"));
    await partners.disable("odd", 5);
  });

  test("the register's figures count the stored data; the day is that of the service's time zone", async () => {
    const figures = await readFigures({ ...createStores(driver), calendar, clock: { now: () => now } });
    expect(figures.teachers).toEqual({
      total: 10,
      active: 9,
      licensed: 7,
      byLicenseStatus: { VALID: 5, EXPIRED: 1, NOT_FOUND: 3, REVOKED: 1 },
      approximate: false,
    });
    expect(figures.partners).toEqual({ total: 3, disabled: 1 });
    const newestAt = new Date(now).toISOString();
    expect(figures.attestations).toEqual({ total: 6, today: 4, lastHour: 3, newestAt });
    expect(figures.keys.active).toMatchObject({ kid: "active", since: "1970-01-01T00:00:00.001Z" });
    expect(figures).toMatchObject({ idempotencyRecords: 0, lastImport: null });
    expect(await createRegisterFigures(driver).schemaVersion()).toBe(schemaVersion);
  });

  test("the estimate of licences reads only every fourth record", async () => {
    const counts = await createRegisterFigures(driver).licenses("2026-06-15", 4);
    // Records 1, 5 and 9: valid, expired yesterday, beginning tomorrow.
    expect(counts).toEqual({ VALID: 1, EXPIRED: 1, NOT_FOUND: 1, REVOKED: 0, inactive: 0 });
  });

  test("idempotency records are counted without reading all of them", async () => {
    const insert =
      "INSERT INTO idempotency (id, fingerprint, created_at, headers, body) VALUES (?, ?, 1, '{}', '')";
    const ids = [1, 2, 3].map((n) => new Uint8Array([n]));
    await driver.batch(ids.map((id) => bind(insert, [id, id])));
    await driver.batch([bind("DELETE FROM idempotency WHERE id = ?", ids.slice(0, 1))]);
    expect(await createRegisterFigures(driver).idempotencyRecords()).toBe(2);
    await driver.batch([bind("DELETE FROM idempotency")]);
  });

  test("lastIdBeforeSql finds the last attestation before a given time, or 0", async () => {
    const find = async (ms: number) =>
      Number((await driver.query(`SELECT ${lastIdBeforeSql("?1")} AS id`, [ms / 1000]))[0]?.id);
    expect(await find(0)).toBe(0);
    expect(await find(startOfDay)).toBe(2);
    expect(await find(startOfDay + 1_000)).toBe(3);
    expect(await find(now)).toBe(5);
    expect(await find(now + 1_000)).toBe(6);
  });

  test("the store refuses a third live key of a partner, and then does not shorten the first key's life", async () => {
    const { partners } = database.stores();
    const add = (keyId: string, expiresAt: number) =>
      partners.addKey(anApiKey("keys", keyId), { shortened: { keyId: "first", expiresAt }, maxLive: 2 });
    const [second, third] = await Promise.all([add("second", 500), add("third", 400)]);
    expect([second, third].filter((added) => added)).toHaveLength(1);
    const first = (await partners.apiKeys()).find((key) => key.keyId === "first");
    expect(first?.expiresAt).toBe(second ? 500 : 400);
  });
});

test("the licence counts of more than 100,000 teachers are an estimate that adds up to the total", () =>
  withStores(async ({ driver }) => {
    // Every fourth licence has expired; all others are valid.
    const sql = `WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 100003)
      INSERT INTO teachers (reg_no, name, source, certificate_status, license_expiry_date, announced_status, version, updated_at)
      SELECT 'A/B/C/' || i, 'x', 'legacy', 'CLAIMED', iif(i % 4 = 0, '2020-01-01', '2030-01-01'), 'VALID', 1, 1 FROM s`;
    await driver.batch([bind(sql)]);
    const split = await countTeachers(createRegisterFigures(driver), "2026-06-15");
    const { total, byLicenseStatus, approximate } = split;
    expect({ total, approximate }).toEqual({ total: 100_003, approximate: true });
    expect(byLicenseStatus.VALID + byLicenseStatus.EXPIRED).toBe(total);
  }));
