import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { eventTypes } from "../../../src/partner/contract.ts";
import { type Driver, statement } from "../../../src/store/driver/driver.ts";
import { openEmbedded } from "../../../src/store/driver/embedded.ts";
import { migrate, schemaVersion } from "../../../src/store/driver/migrations.ts";
import { createPartnerStore } from "../../../src/store/partners.ts";
import { createTeacherStore } from "../../../src/store/teachers.ts";
import { withTempDir } from "../../harness/folder.ts";
import { rejection } from "../../harness/rejection.ts";
import { aTeacherWrite } from "../../harness/samples.ts";
import { migrateTo } from "./old-database.ts";

function withDrivers(count: number, act: (...drivers: Driver[]) => Promise<void>): Promise<void> {
  return withTempDir(async (folder) => {
    const drivers: Driver[] = [];
    for (let i = 0; i < count; i++) drivers.push(await openEmbedded({ file: `${folder}/tvs.db` }));
    try {
      await act(...drivers);
    } finally {
      for (const driver of drivers) await driver.close();
    }
  });
}

const withDriver = (act: (driver: Driver) => Promise<void>) =>
  withDrivers(1, act as (...drivers: Driver[]) => Promise<void>);
const applied = (driver: Driver) => driver.query("SELECT * FROM schema_migrations ORDER BY version");
const schema = (driver: Driver) => driver.query("SELECT name, sql FROM sqlite_master ORDER BY name");

/** The digest of each migration stands in every database: another comment in one, and no old database opens. */
const frozen = [
  ["001_initial.sql", "d4ff1edf05f9a1bd3c5d0bf0a455a0385f0988b7564252ac761c4c2a29a295ef"],
  ["002_webhooks.sql", "acf8f3321612fc6d3da322daab8775f52950baf07809217631cbf462e061d1fe"],
  ["003_attestation_upkeep.sql", "b7e3dc7861b0029c0d24ba0ef9cc23d1eabf43624e720f86cd249396db8d5590"],
  ["004_quota_windows.sql", "8d573f0782e55cd11d04da60f74c7521e5d5200ac68e4c5f6708a85d21d7dc77"],
  ["005_idempotency_kid.sql", "87679b1d0b3a58a7540d0a635b870e086e3f8b24eff48526e6e49b0d75d5a657"],
  ["006_revocation_origin.sql", "88c2482760f72433f91f97dc1f06523db6d2a1e0209a2de174bd31a5a2531253"],
  ["007_fan_out.sql", "67a5c18d75330663b71d2a7e6829c7e2878b08f28dbb4e7bf4be344a8514c773"],
  ["008_nodes.sql", "bb5eb9d718214a5b6d34190566d44b8cbb42495e4c2c6aec9384f34d6e28b5f1"],
  ["009_evidence_log.sql", "3242e263e8a462222b05fd0ec4863b314ed2ade825b970166375f758daf1d99c"],
  ["010_import_codes.sql", "c8175b9f185186e2bc33242faac634e2497e766c08fcd99d831fd1290832900e"],
  ["011_changes.sql", "b7aa82c6e0e4e17a206fe4762707788d8b2342d1bf2677550384ef2aa33b5d45"],
  ["012_import_fields.sql", "2ea54b8b300a5b05b2d34946f30041e65ac9cee17a85f900724703c24de0569e"],
  ["013_retention_mark.sql", "78fd311c9c5bc0e844d206209064035fd3d1511a96e540d857d1d0840a59d462"],
  ["014_attestation_indexes.sql", "3e156101956a4ed91abf7a7777d5bd0a1cf5890370cac97042dd2f5c0a44a052"],
  ["015_statements.sql", "1b1973b9ea6435fd876ca2659f13322aa2cabb9664d6f2f6aa1e615d3e390238"],
  ["016_status_lists.sql", "4be307135fb79a48bddb83605a067e3fc177f6149f661bab3e8c320fb14f5ed2"],
  ["017_self_service.sql", "40b03e1c9676add4d86cfc883556711e4110f3fafa6afe7c95dcf58f5b6c68fc"],
  ["018_hidden_teachers.sql", "e0484cb1e2855a63917e2aadce338786598fdf891d3a0c098442c1dce1f86f86"],
  ["019_import_losses.sql", "e5bc8b85ef453cadb223b6cef2cbc30712f6bb1c58e20e2d19a907f42aef2a15"],
] as const;

test.each(frozen)("%s is never edited, not by a letter of a comment", (name, sha256) => {
  const text = readFileSync(new URL(`../../../src/store/driver/migrations/${name}`, import.meta.url), "utf8");
  expect(createHash("sha256").update(text).digest("hex")).toBe(sha256);
});

test("every migration has its digest written down", () => {
  expect(frozen).toHaveLength(schemaVersion);
});

describe("a database without tables", () => {
  test("gets this program's schema, with the digest of each migration and its time", () =>
    withDriver(async (driver) => {
      await migrate(driver, 1_772_355_000_000);
      const rows = await applied(driver);
      expect(rows.map((row) => Number(row.version))).toEqual(
        Array.from({ length: schemaVersion }, (_, i) => i + 1),
      );
      const text = readFileSync(
        new URL("../../../src/store/driver/migrations/001_initial.sql", import.meta.url),
        "utf8",
      );
      expect(rows[0]).toMatchObject({
        sha256: createHash("sha256").update(text).digest("hex"),
        applied_at: 1_772_355_000_000,
      });
      expect((await driver.query("SELECT count(*) AS n FROM teachers"))[0]?.n).toBe(0);
    }));

  test("is migrated once, also when two programs start together", () =>
    withDrivers(2, async (one, other) => {
      await Promise.all([migrate(one, 1), migrate(other, 2)]);
      expect(await applied(one)).toHaveLength(schemaVersion);
      expect(await schema(one)).toEqual(await schema(other));
      expect((await one.query("SELECT value FROM revision"))[0]?.value).toBe(1);
    }));

  test("whose migration was cut off before its end has none of it", () =>
    withDriver(async (driver) => {
      const half: Driver = {
        ...driver,
        batch: (all) => driver.batch(all.length < 3 ? all : [...all.slice(0, -3), statement("nonsense")]),
      };
      expect(await rejection(migrate(half, 1))).toMatchObject({ name: "TvsError" });
      expect((await schema(driver)).map((row) => row.name)).toEqual(["schema_migrations"]);
      await migrate(driver, 2);
      expect(await applied(driver)).toHaveLength(schemaVersion);
    }));
});

test("a command of an older program that is still running can store no event that nobody is told of", () =>
  withDrivers(2, async (older, newer) => {
    await migrateTo(older, 6);
    const insert =
      "INSERT INTO events (event_id, event_type, occurred_at, body) VALUES (?, 'license.revoked', 1, '{}')";
    const change = (id: string) => [
      { sql: "UPDATE revision SET value = value + 1", args: [] },
      { sql: insert, args: [id] },
    ];
    await older.batch(change("before"));
    await migrate(newer, 1);
    const stored = () => newer.query("SELECT event_id, (SELECT value FROM revision) AS revision FROM events");
    const before = await stored();
    expect(before).toMatchObject([{ event_id: "before" }]);
    expect(await rejection(older.batch(change("after")))).toMatchObject({ name: "TvsError" });
    expect(await stored()).toEqual(before);
  }));

describe("a database that is not this program's", () => {
  const afterChange = (sql: string) => async (driver: Driver) => {
    await migrate(driver, 1);
    await driver.batch([statement(sql)]);
    const before = await schema(driver);
    const refusal = await rejection(migrate(driver, 2));
    expect(await schema(driver)).toEqual(before);
    return refusal as { code: string; message: string };
  };

  test("is refused when a migration was edited after it was applied", () =>
    withDriver(async (driver) => {
      const edited = `UPDATE schema_migrations SET sha256 = '${"0".repeat(64)}' WHERE version = 1`;
      const message = "schema 1 of the database is not the one this program made";
      expect(await afterChange(edited)(driver)).toMatchObject({ code: "STORE_CORRUPT", message });
    }));

  test("is refused when a newer program has migrated it, saying what to do", () =>
    withDriver(async (driver) => {
      const newer = `INSERT INTO schema_migrations VALUES (${schemaVersion + 1}, 'x', 0)`;
      const refusal = await afterChange(newer)(driver);
      expect(refusal.code).toBe("DATABASE_TOO_NEW");
      expect(refusal.message).toContain(`schema ${schemaVersion + 1}, this program knows ${schemaVersion}`);
      expect(refusal.message).toContain("restore a backup");
    }));

  test("is refused and left alone when it belongs to another program", () =>
    withDriver(async (driver) => {
      await driver.batch([statement("CREATE TABLE customers (id INTEGER)")]);
      expect(await rejection(migrate(driver, 1))).toMatchObject({ code: "STORE_CORRUPT" });
      expect((await schema(driver)).map((row) => row.name)).toEqual(["customers"]);
    }));
});

test("who verified whom is told of a log from before it had an upkeep, and its indexes are there again", () =>
  withDriver(async (driver) => {
    await migrateTo(driver, 2);
    const insert = `INSERT INTO attestations (verification_id, partner_id, issued_at, kid, endpoint, purpose,
      policy_version, teacher_id, reference, status, eligible, credential, request_id, jws)
      VALUES (?, ?, 1, 'k', 'batch', 'p', '1', ?, 'r', 'VALID', 1, 'c', 'q', 'j')`;
    const asked: [string, number | null][] = [
      ["a", 0],
      ["a", 61],
      ["a", 62],
      ["a", 61],
      ["b", 125],
      ["b", null],
    ];
    await driver.batch(asked.map(([partner, id], n) => statement(insert, [`v${n}`, partner, id])));
    await migrate(driver, 1);
    const verified = await driver.query("SELECT partner_id, teacher_id FROM verified_before ORDER BY 2, 1");
    expect(verified.map((row) => [row.partner_id, Number(row.teacher_id)])).toEqual([
      ["a", 0],
      ["a", 61],
      ["a", 62],
      ["b", 125],
    ]);
    expect(await driver.query("SELECT * FROM attestation_upkeep")).toEqual([
      { id: 1, kept_from: null, pruned: 0, mark: null },
    ]);
    const indexes = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'attestations'";
    expect((await driver.query(indexes)).map(({ name }) => name)).toEqual([
      "sqlite_autoindex_attestations_1",
      "attestations_by_partner",
      "attestations_by_teacher",
      "attestations_by_nin",
    ]);
  }));

test("what was used of a quota, and who signed a stored answer, is still known", () =>
  withDriver(async (driver) => {
    await migrateTo(driver, 3);
    const record = "INSERT INTO idempotency VALUES (?, X'00', 1, ?, ?)";
    await driver.batch([
      statement("INSERT INTO quota_windows VALUES ('a', 'minute', 60000, 7)"),
      statement(record, [new Uint8Array([1]), '{"X-Signature-Kid":"one"}', '{"signatureKid":"one"}']),
      statement(record, [
        new Uint8Array([2]),
        "{}",
        '{"count":2,"results":[{"signatureKid":"two"},{"signatureKid":"two"}]}',
      ]),
    ]);
    await migrate(driver, 1);
    const [window] = await driver.query("SELECT * FROM quota_windows");
    expect(window).toMatchObject({ partner_id: "a", kind: "minute", used: 7 });
    expect(Number(window?.starts_at)).toBe(60_000);
    const kids = await driver.query("SELECT kid FROM idempotency ORDER BY id");
    expect(kids.map(({ kid }) => kid)).toEqual(["one", "two"]);
  }));

test("what no migration of ours can be made of is told, and stops the upgrade where it is", () =>
  withDriver(async (driver) => {
    await migrateTo(driver, 3);
    await driver.batch([
      statement("PRAGMA ignore_check_constraints = ON"),
      statement("INSERT INTO quota_windows VALUES ('a', 'week', 0, 7)"),
      statement("PRAGMA ignore_check_constraints = OFF"),
    ]);
    const message = expect.stringContaining("to schema 4: what is stored contradicts it");
    expect(await rejection(migrate(driver, 1))).toMatchObject({ code: "STORE_CORRUPT", message });
    expect(await applied(driver)).toHaveLength(3);
    await driver.batch([statement("DELETE FROM quota_windows")]);
    await migrate(driver, 1);
    expect(await applied(driver)).toHaveLength(schemaVersion);
  }));

test("a partner is told of what its endpoint was, and one without an endpoint of all", () =>
  withDriver(async (driver) => {
    await migrateTo(driver, 16);
    const partner = "INSERT INTO partners VALUES (?, 'n', '[]', '[]', 1, 1, 'call', 1, NULL)";
    await driver.batch([
      ...["bare", "hooked"].map((id) => statement(partner, [id])),
      statement(
        `INSERT INTO webhook_endpoints (partner_id, url, events, teachers, secret, created_at)
          VALUES ('hooked', 'https://a.example/', '["license.revoked"]', 'verified', x'00', 1)`,
      ),
    ]);
    await migrate(driver, 1);
    const told = (await createPartnerStore(driver).partners()).map((one) => [one.told, one.watchLimit]);
    expect(told).toEqual([
      [{ events: [...eventTypes], teachers: "all" }, 100_000],
      [{ events: ["license.revoked"], teachers: "verified" }, 100_000],
    ]);
  }));

describe("a revocation from before its origin was kept is the operator's", () => {
  type Line = [action: string, licenseFrom: string | null, licenseTo: string];
  const added: Line = ["import", null, "VALID"];
  const revoked: Line = ["revoke", "VALID", "REVOKED"];
  const histories: [string, Line[], string][] = [
    ["when the command stands in the history", [added, revoked], "operator"],
    ["of a deactivated teacher too", [["import", null, "NOT_FOUND"], ["revoke", "NOT_FOUND", "NOT_FOUND"]], "operator"],
    ["when extracts came after it", [added, revoked, ["import", "REVOKED", "NOT_FOUND"], ["import", "NOT_FOUND", "REVOKED"]], "operator"],
    ["when nothing is known of it", [], "operator"],
    ["but not when an extract brought it along", [["import", null, "REVOKED"]], "extract"],
    ["but not when the command's was taken back before", [added, revoked, ["reinstate", "REVOKED", "VALID"], ["import", "VALID", "REVOKED"]], "extract"],
  ]; // biome-ignore format: a history in one line

  test.each(histories)("%s", (_name, lines, expected) =>
    withDriver(async (driver) => {
      await migrateTo(driver, 3);
      const teacher = `INSERT INTO teachers (id, reg_no, name, source, certificate_status, license_revoked_on,
        announced_status, version, updated_at) VALUES (?, ?, 'Ada', 'legacy', 'CLAIMED', ?, 'REVOKED', 1, 1)`;
      const line = `INSERT INTO history (teacher_id, at, action, actor, license_from, license_to)
        VALUES (1, 1, ?, 'test', ?, ?)`;
      await driver.batch([
        statement(teacher, [1, "A/B/C/1", "2026-01-01"]),
        statement(teacher, [2, "A/B/C/2", null]),
        ...lines.map((values) => statement(line, values)),
      ]);
      await migrate(driver, 1);
      const rows = await driver.query("SELECT license_revoked_by AS origin FROM teachers ORDER BY id");
      expect(rows.map(({ origin }) => origin)).toEqual([expected, null]);
    }),
  );

  test("when a program that does not know of origins has written it since", () =>
    withDriver(async (driver) => {
      await migrate(driver, 1);
      const teachers = createTeacherStore(driver);
      await teachers.apply([aTeacherWrite("A/B/C/1")]);
      await driver.batch([statement("UPDATE teachers SET license_revoked_on = '2026-01-01'")]);
      const teacher = await teachers.findStored({ by: "regNo", value: "A/B/C/1" });
      expect(teacher).toMatchObject({ licenseRevokedOn: "2026-01-01", licenseRevokedBy: "operator" });
    }));
});
