import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { WindowStarts } from "../../src/domain/quota.ts";
import type { UniqueKey } from "../../src/domain/teachers.ts";
import { createCommits } from "../../src/store/driver/commits.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { migrate } from "../../src/store/driver/migrations.ts";
import { createKeyStore } from "../../src/store/keys.ts";
import { createOutbox } from "../../src/store/outbox.ts";
import { createPartnerStore } from "../../src/store/partners.ts";
import { createQuotaStore } from "../../src/store/quota.ts";
import { createSettingsStore } from "../../src/store/settings.ts";
import { createTeacherStore } from "../../src/store/teachers.ts";
import { createWebhookStore } from "../../src/store/webhooks.ts";
import { driverKinds } from "../harness/drivers.ts";
import { until } from "../harness/eventually.ts";
import { rejection } from "../harness/rejection.ts";
import { anApiKey, aPartner, aSigningKey, aTeacherWrite } from "../harness/samples.ts";

/** What every driver must do, and what the stores must do over every driver. */
for (const kind of driverKinds) {
  describe.skipIf(kind.unavailable !== undefined)(`driver: ${kind.name}`, () => {
    let database: Awaited<ReturnType<typeof kind.create>>;
    let driver: Driver;

    beforeAll(async () => {
      database = await kind.create();
      driver = await database.open();
      await migrate(driver, 1_700_000_000_000);
      await driver.batch([
        { sql: "CREATE TABLE probe (k TEXT PRIMARY KEY, n INTEGER, b BLOB, t TEXT)", args: [] },
      ]);
    });
    afterAll(async () => {
      await driver.close();
      await database.destroy();
    });

    /** Runs over a database of its own: the table of the other tests is none of this program's. */
    async function withOwn(act: (own: Driver) => Promise<void>): Promise<void> {
      const other = await kind.create();
      const own = await other.open();
      try {
        await migrate(own, 1_700_000_000_000);
        await act(own);
      } finally {
        await own.close();
        await other.destroy();
      }
    }

    test("gives back what was stored, of every type", async () => {
      const bytes = new Uint8Array([0, 1, 255]);
      const insert = "INSERT INTO probe VALUES (?, ?, ?, ?) RETURNING n";
      const [rows] = await driver.batch([
        { sql: insert, args: ["types", 9_007_199_254_740_991, bytes, "é/\u{1F600}"] },
      ]);
      expect(Number(rows?.[0]?.n)).toBe(9_007_199_254_740_991);
      const [row] = await driver.query("SELECT * FROM probe WHERE k = ?", ["types"]);
      expect(new Uint8Array(row?.b as ArrayBuffer)).toEqual(bytes);
      expect(row?.t).toBe("é/\u{1F600}");
    });

    test("binds an integer as an integer, not as 6.0", async () => {
      const [row] = await driver.query("SELECT json_array(?) AS j, typeof(?) AS t", [6, 6]);
      expect(row).toMatchObject({ j: "[6]", t: "integer" });
    });

    test("binds booleans and refuses text that would come back cut", async () => {
      const [row] = await driver.query("SELECT ? AS yes, ? AS no", [true, false]);
      expect([Number(row?.yes), Number(row?.no)]).toEqual([1, 0]);
      expect(await rejection(driver.query("SELECT ? AS t", ["a\0b"]))).toBeInstanceOf(Error);
    });

    test("never answers with the parameters of an earlier call", async () => {
      const insert = "INSERT INTO probe (k, n) VALUES (?, ?)";
      await driver.batch([
        { sql: insert, args: ["one", 1] },
        { sql: insert, args: ["two", 2] },
      ]);
      const ask = async (key: string) => (await driver.query("SELECT n FROM probe WHERE k = ?", [key]))[0]?.n;
      expect(
        [await ask("one"), await ask("none"), await ask("two"), await ask("none")].map((n) => n && Number(n)),
      ).toEqual([1, undefined, 2, undefined]);
    });

    test("does all of a batch or nothing", async () => {
      const insert = "INSERT INTO probe (k) VALUES (?)";
      const twice = [
        { sql: insert, args: ["twice"] },
        { sql: insert, args: ["twice"] },
      ];
      expect(await rejection(driver.batch(twice))).toMatchObject({ code: "STORE_CONSTRAINT" });
      expect(await driver.query("SELECT 1 FROM probe WHERE k = 'twice'")).toEqual([]);
      await driver.batch([{ sql: insert, args: ["after a failure"] }]);
    });

    test("a statement can depend on the change before it", async () => {
      const chain = (key: string) => [
        { sql: "UPDATE probe SET n = 5 WHERE k = ? RETURNING k", args: [key] },
        { sql: "INSERT INTO probe (k) SELECT 'child of ' || ? WHERE changes() = 1", args: [key] },
        { sql: "INSERT INTO probe (k) SELECT 'grandchild of ' || ? WHERE changes() = 1", args: [key] },
      ];
      await driver.batch([
        { sql: "INSERT INTO probe (k) VALUES ('parent')", args: [] },
        ...chain("parent"),
        ...chain("nobody"),
      ]);
      const rows = await driver.query("SELECT k FROM probe WHERE k LIKE '%child of%' ORDER BY k");
      expect(rows.map((row) => row.k)).toEqual(["child of parent", "grandchild of parent"]);
    });

    test("acts in flight share a commit, and a bad one fails alone", async () => {
      const commit = createCommits(driver);
      const insert = (key: string) =>
        commit([{ sql: "INSERT INTO probe (k) VALUES (?) RETURNING k", args: [key] }]);
      const outcomes = await Promise.allSettled([insert("g1"), insert("g2"), insert("g1"), insert("g3")]);
      expect(outcomes.map((one) => one.status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    });

    test("two connections write side by side", async () => {
      const other = await database.open();
      const write = (through: Driver, from: number) =>
        Promise.all(
          Array.from({ length: 50 }, (_, i) =>
            through.batch([{ sql: "INSERT INTO probe (k) VALUES (?)", args: [`side ${from + i}`] }]),
          ),
        );
      await Promise.all([write(driver, 0), write(other, 50)]);
      await other.close();
      const [row] = await driver.query("SELECT count(*) AS n FROM probe WHERE k LIKE 'side %'");
      expect(Number(row?.n)).toBe(100);
    });

    test("only one service at a time holds the database", async () => {
      const first = await database.open();
      const second = await database.open();
      await first.lockService();
      expect(await rejection(second.lockService())).toMatchObject({ code: "DATABASE_IN_USE" });
      await first.close();
      await second.lockService();
      await second.close();
    });

    // A file is claimed by a lock of the operating system, which nobody can take over.
    const testTakenOver = kind.kind === "remote" ? test : undefined;
    testTakenOver?.("a service whose claim was taken over answers nothing more", async () => {
      const service = await database.open();
      await service.lockService();
      const sql = "UPDATE service_claim SET holder = 'elsewhere:1:x', expires_at = ?";
      await driver.batch([{ sql, args: [Date.now() + 60_000] }]);
      const ask = () => rejection(service.query("SELECT 1"));
      await until(async () => (await ask()) !== undefined);
      expect(await ask()).toMatchObject({ code: "STORE_UNAVAILABLE" });
      expect(await rejection(service.batch([{ sql: "SELECT 1", args: [] }]))).toMatchObject({
        code: "STORE_UNAVAILABLE",
      });
      await service.close();
      expect(await driver.query("SELECT holder FROM service_claim")).toMatchObject([
        { holder: "elsewhere:1:x" },
      ]);
      await driver.batch([{ sql: "DELETE FROM service_claim", args: [] }]);
    });

    test("migrating again changes nothing, and a newer schema is refused", () =>
      withOwn(async (own) => {
        await migrate(own, 1);
        const [before] = await own.query("SELECT max(version) AS v FROM schema_migrations");
        await own.batch([{ sql: "INSERT INTO schema_migrations VALUES (1000, 'x', 0)", args: [] }]);
        expect(await rejection(migrate(own, 1))).toMatchObject({ code: "DATABASE_TOO_NEW" });
        await own.batch([{ sql: "DELETE FROM schema_migrations WHERE version = 1000", args: [] }]);
        const [after] = await own.query("SELECT max(version) AS v FROM schema_migrations");
        expect(after).toEqual(before);
      }));

    test("what somebody else has put into the schema is refused, and so is what was altered or is gone", () =>
      withOwn(async (own) => {
        const verdictAfter = async (sql: string, undo: string) => {
          await own.batch([{ sql, args: [] }]);
          const refusal = (await rejection(migrate(own, 1))) as { code: string; message: string } | undefined;
          await own.batch([{ sql: undo, args: [] }]);
          return `${refusal?.code} ${/: the (.*?);/.exec(refusal?.message ?? "")?.[1]}`;
        };
        const undoing = `CREATE TRIGGER undo AFTER UPDATE ON teachers BEGIN
        UPDATE teachers SET license_revoked_on = NULL WHERE id = NEW.id; END`;
        const foreign: [string, string, string][] = [
          [undoing, "DROP TRIGGER undo", "trigger undo is none that tvs makes"],
          ["CREATE VIEW eyes AS SELECT 1", "DROP VIEW eyes", "view eyes is none that tvs makes"],
          ["CREATE TABLE more (a)", "DROP TABLE more", "table more is none that tvs makes"],
          ["CREATE INDEX fast ON teachers (name)", "DROP INDEX fast", "index fast is none that tvs makes"],
          [
            'CREATE TABLE "a\u001b[2J\'" (a)',
            'DROP TABLE "a\u001b[2J\'"',
            "table a??2J? is none that tvs makes",
          ],
          [
            "ALTER TABLE partners ADD COLUMN x TEXT",
            "ALTER TABLE partners DROP COLUMN x",
            "table partners was altered",
          ],
        ];
        for (const [sql, undo, found] of foreign)
          expect(await verdictAfter(sql, undo)).toBe(`STORE_CORRUPT ${found}`);
        const [stored] = await own.query("SELECT sql FROM sqlite_master WHERE name = 'one_active_key'");
        const gone = await verdictAfter("DROP INDEX one_active_key", String(stored?.sql));
        expect(gone).toBe("STORE_CORRUPT index one_active_key is missing");
        // Statistics are SQLite's own business; a libSQL server does not take the statement.
        if (own.kind === "embedded") await own.batch([{ sql: "ANALYZE", args: [] }]);
        await migrate(own, 1);
      }));

    test("settings, partners and keys move the revision", async () => {
      const settings = createSettingsStore(driver);
      const partners = createPartnerStore(driver);
      const revisions = [await settings.revision()];
      await settings.write({ issuer: "https://one.example" });
      revisions.push(await settings.revision());
      await partners.add(aPartner("mover"), anApiKey("mover", "k1"));
      revisions.push(await settings.revision());
      await partners.update({ ...aPartner("mover"), perMinute: 5 });
      revisions.push(await settings.revision());
      expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
      expect((await partners.partners()).find((one) => one.partnerId === "mover")?.perMinute).toBe(5);
      await settings.write({ issuer: "https://one.example" });
      expect(await settings.revision()).toBe(revisions.at(-1) as number);
      expect(await rejection(partners.add(aPartner("mover"), anApiKey("mover", "k2")))).toMatchObject({
        code: "REFUSED",
      });
    });

    test("the key ring has one active and one pending key at any time", async () => {
      const keys = createKeyStore(driver);
      await keys.create(aSigningKey("A", "active"), aSigningKey("B", "pending"));
      await keys.create(aSigningKey("X", "active"), aSigningKey("Y", "pending"));
      await keys.rotate({ active: "A", pending: "B", next: aSigningKey("C", "pending"), at: 10 });
      const again = keys.rotate({ active: "A", pending: "B", next: aSigningKey("D", "pending"), at: 11 });
      expect(await rejection(again)).toMatchObject({ code: "REFUSED" });
      await keys.compromise({ kid: "B", since: 5, at: 12, next: aSigningKey("E", "pending") });
      const states = Object.fromEntries((await keys.list()).map((key) => [key.kid, key.state]));
      expect(states).toEqual({ A: "retired", B: "compromised", C: "active", E: "pending" });
      expect((await keys.list()).find((key) => key.kid === "A")?.sealed).toBeNull();
    });

    test("quota is added to its own window, whichever came last, and forgotten when it is old", async () => {
      const quota = createQuotaStore(driver, createCommits(driver));
      const charge = (startsAt: number, used: number) =>
        quota.charge([{ partnerId: "q", kind: "minute", startsAt, used }]);
      const used = async (starts?: WindowStarts) =>
        Object.fromEntries(
          (await quota.windows(starts))
            .filter((one) => one.partnerId === "q")
            .map((one) => [one.startsAt, one.used]),
        );
      await charge(600_000, 1);
      await charge(600_000, 2);
      await charge(660_000, 1);
      await charge(600_000, 1);
      await charge(60_000, 4);
      expect(await used()).toEqual({ 60000: 4, 600000: 4, 660000: 1 });
      expect(await used({ minute: 660_000, day: 0 })).toEqual({ 660000: 1 });
      await quota.prune({ minute: 600_000, day: 0 });
      expect(await used()).toEqual({ 600000: 4, 660000: 1 });
    });

    test("a teacher's change, its history and its events are stored together or not at all", async () => {
      const teachers = createTeacherStore(driver);
      const write = aTeacherWrite("A/1/B/1");
      expect(await teachers.apply([write])).toEqual([true]);
      expect(await teachers.apply([write])).toEqual([false]);
      const stored = await teachers.findStored({ by: "regNo", value: "A/1/B/1" });
      expect(stored?.version).toBe(1);
      const id = stored?.id ?? 0;
      expect((await teachers.events(id)).map((event) => event.eventType)).toEqual([
        "license.verified",
        "certificate.verified",
      ]);
      const stale = { ...aTeacherWrite("A/1/B/1"), replaces: { id, version: 7 } };
      expect(await teachers.apply([stale])).toEqual([false]);
      expect((await teachers.history(id)).length).toBe(1);
      expect((await teachers.events(id)).length).toBe(2);
    });

    test("a contact that belongs to two teachers names neither", async () => {
      const teachers = createTeacherStore(driver);
      const emailIndex = new Uint8Array(16).fill(7);
      await teachers.apply([
        aTeacherWrite("C/1/B/1", { emailIndex }),
        aTeacherWrite("C/1/B/2", { emailIndex }),
      ]);
      expect(await teachers.find({ by: "email", value: emailIndex })).toBeNull();
    });

    test("many look-ups at once name the same teachers as each by itself", async () => {
      const teachers = createTeacherStore(driver);
      const ninIndex = new Uint8Array(16).map((_, i) => i * 16);
      await teachers.apply([
        aTeacherWrite("D/1/B/1", { tId: Number.MAX_SAFE_INTEGER, ninIndex }),
        aTeacherWrite('D/"1/\\/2', { tId: 0, profile: { qualifications: ["B.Ed."] } as never }),
      ]);
      const keys: UniqueKey[] = [
        { by: "tId", value: 0 },
        { by: "regNo", value: 'D/"1/\\/2' },
        { by: "regNo", value: "D/1/B/9" },
        { by: "nin", value: ninIndex },
        { by: "nin", value: new Uint8Array(16) },
        { by: "tId", value: Number.MAX_SAFE_INTEGER },
        { by: "tId", value: Number.MAX_SAFE_INTEGER - 1 },
        { by: "regNo", value: "D/1/B/1" },
        { by: "regNo", value: "D/1/B/1" },
      ];
      const each = await Promise.all(keys.map((key) => teachers.find(key)));
      expect(each.map((teacher) => teacher?.tId ?? null)).toEqual([
        0,
        0,
        null,
        Number.MAX_SAFE_INTEGER,
        null,
        Number.MAX_SAFE_INTEGER,
        null,
        Number.MAX_SAFE_INTEGER,
        Number.MAX_SAFE_INTEGER,
      ]);
      expect(await teachers.findEach(keys)).toEqual(each);
      expect(await teachers.findEach([])).toEqual([]);
    });

    test("an event and its deliveries are stored together, and finished only by the holder of the lease", async () => {
      const webhooks = createWebhookStore(driver);
      const outbox = createOutbox(driver, createCommits(driver));
      await createPartnerStore(driver).add(aPartner("hooked"), anApiKey("hooked", "hooked-key"));
      const secret = new Uint8Array([0, 1, 255]);
      const url = "https://hooks.example/";
      const terms = { partnerId: "hooked", url, events: null, teachers: null, secret, at: 1 };
      expect(await webhooks.set(terms)).toMatchObject({ secret, teachers: "all", disabledAt: null });
      const before = await outbox.revision();
      expect(await createTeacherStore(driver).apply([aTeacherWrite("W/1/B/1")])).toEqual([true]);
      expect(await outbox.revision()).not.toBe(before);
      expect((await outbox.open()).find((one) => one.partnerId === "hooked")?.nextDueAt).toBe(0);

      const requests = [{ partnerId: "hooked", limit: 5, except: [] }];
      const leases = await outbox.lease(requests, { token: "first", now: 1_000, until: 2_000 });
      expect(leases.map((one) => one.eventType)).toEqual(["license.verified", "certificate.verified"]);
      expect(JSON.parse(leases[0]?.body ?? "")).toMatchObject({ eventId: leases[0]?.eventId });
      const taken = await outbox.lease(requests, { token: "second", now: 2_000, until: 3_000 });
      await outbox.release(taken.slice(1), 2_000);
      const finish = (
        delivery: (typeof leases)[number] | undefined,
        next: "delivered" | { dueAt: number },
      ) => {
        if (delivery === undefined) throw new Error("nothing was leased");
        const error = next === "delivered" ? null : "BAD_STATUS";
        return outbox.finish({
          delivery,
          url,
          at: 2_000,
          finishedAt: 2_001,
          status: 200,
          error,
          durationMs: 1,
          next,
          isGone: false,
        });
      };
      expect(await finish(leases[0], "delivered")).toBe(false);
      expect(await finish(taken[0], { dueAt: 9_000 })).toBe(true);
      expect(await finish(taken[0], "delivered")).toBe(false);
      const list = await webhooks.deliveries({ partnerId: "hooked", limit: 10 });
      expect(
        list.map(({ state, attempts, leased, lastError }) => ({ state, attempts, leased, lastError })),
      ).toEqual([
        { state: "pending", attempts: 0, leased: false, lastError: null },
        { state: "pending", attempts: 1, leased: false, lastError: "BAD_STATUS" },
      ]);
      expect(await webhooks.endpoint("hooked")).toMatchObject({
        failingSince: 2_001,
        lastError: "BAD_STATUS 200",
      });
      expect(await webhooks.makeDue("hooked", 3_000)).toBe(1);
      const backlog = await webhooks.backlog(3_000);
      expect(backlog.filter(({ partnerId }) => partnerId === "hooked")).toMatchObject([
        { partnerId: "hooked", pending: 2, dead: 0, heldBy: null },
      ]);
      expect(await webhooks.remove("hooked")).toBe(true);
      expect(await webhooks.markDead("hooked", 4_000)).toBe(2);
    });

    test("a new owner of the database gives back every lease, and no retry comes early by it", async () => {
      const webhooks = createWebhookStore(driver);
      const outbox = createOutbox(driver, createCommits(driver));
      await createPartnerStore(driver).add(aPartner("taken"), anApiKey("taken", "taken-key"));
      const url = "https://hooks.example/";
      const terms = {
        partnerId: "taken",
        url,
        events: null,
        teachers: null,
        secret: new Uint8Array([1]),
        at: 1,
      };
      await webhooks.set(terms);
      await createTeacherStore(driver).apply([aTeacherWrite("W/2/B/1"), aTeacherWrite("W/2/B/2")]);
      const leaseFrom = (limit: number, token: string, now: number) =>
        outbox.lease([{ partnerId: "taken", limit, except: [] }], { token, now, until: now + 60_000 });
      const [first, second, third] = await leaseFrom(3, "dead", 1_000);
      if (first === undefined || second === undefined || third === undefined) throw new Error("no lease");
      const end = {
        url,
        at: 1_000,
        finishedAt: 1_001,
        status: 500,
        error: "BAD_STATUS",
        durationMs: 1,
        isGone: false,
      };
      await outbox.finish({ ...end, delivery: first, next: { dueAt: 90_000 } });
      await outbox.finish({ ...end, delivery: second, next: { dueAt: 1_500 } });
      expect((await leaseFrom(1, "dead", 2_000)).map(({ id }) => id)).toEqual([second.id]);

      const before = await outbox.revision();
      await outbox.releaseAll(3_000);
      expect(await outbox.revision()).not.toBe(before);
      expect(await outbox.finish({ ...end, delivery: third, next: "delivered" })).toBe(false);
      const taken = await leaseFrom(10, "living", 3_000);
      expect(taken.sort((one, other) => one.id - other.id).map(({ id, attempts }) => [id, attempts])).toEqual(
        [
          [second.id, 1],
          [third.id, 0],
          [third.id + 1, 0],
        ],
      );
      await outbox.releaseAll(4_000);
      expect(await leaseFrom(10, "later", 4_000)).toHaveLength(3);
      expect(await webhooks.remove("taken")).toBe(true);
      expect(await webhooks.markDead("taken", 4_000)).toBe(4);
    });
  });
}
