import { describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { inspectBackup, makeBackup } from "../../src/store/backup.ts";
import { openConnection } from "../../src/store/connection.ts";
import { openEmbedded } from "../../src/store/embedded.ts";
import { migrate } from "../../src/store/migrations.ts";
import { createTeacherStore } from "../../src/store/teachers.ts";
import { withTempDir } from "../harness.ts";
import { rejection } from "../rejection.ts";
import { aTeacherWrite } from "./samples.ts";

/** A migrated database with some teachers, still open: what a service works with. */
async function withDatabase(
  act: (world: { folder: string; driver: Awaited<ReturnType<typeof openEmbedded>> }) => Promise<void>,
) {
  await withTempDir(async (folder) => {
    const driver = await openEmbedded({ file: `${folder}/tvs.db` });
    try {
      await migrate(driver, 1);
      await createTeacherStore(driver).apply(["A/B/C/1", "A/B/C/2"].map((regNo) => aTeacherWrite(regNo)));
      await act({ folder, driver });
    } finally {
      await driver.close();
    }
  });
}

describe("a backup", () => {
  test("holds what was committed, in one private file, and leaves nothing beside it", () =>
    withDatabase(async ({ folder, driver }) => {
      mkdirSync(`${folder}/out`);
      const file = `${folder}/out/what?is #this%20.db`;
      const facts = await makeBackup(driver, file);
      expect(facts).toMatchObject({
        schema: expect.any(Number),
        environment: "live",
        masterKeyCheck: null,
        counts: { teachers: 2, partners: 0, signing_keys: 0, attestations: 0, events: 4 },
        newestAttestation: null,
      });
      expect(readdirSync(`${folder}/out`)).toEqual(["what?is #this%20.db"]);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(facts.bytes).toBe(statSync(file).size);
      expect(await inspectBackup(file)).toEqual(facts);
      expect(readdirSync(`${folder}/out`)).toEqual(["what?is #this%20.db"]);
    }));

  test("is consistent while another connection writes", () =>
    withDatabase(async ({ folder, driver }) => {
      const writer = await openConnection(`${folder}/tvs.db`);
      writer.exec("CREATE TABLE pairs (a INTEGER, b INTEGER)");
      let writing = true;
      const writes = (async () => {
        for (let n = 0; writing; n++) {
          const args = [n];
          writer.transaction([
            { sql: "INSERT INTO pairs (a) VALUES (?)", args },
            { sql: "UPDATE pairs SET b = a WHERE a = ?", args },
          ]);
          await new Promise((done) => setImmediate(done));
        }
      })();
      for (let round = 0; round < 5; round++) await makeBackup(driver, `${folder}/b${round}.db`);
      writing = false;
      await writes;
      writer.close();
      const copy = await openConnection(`${folder}/b4.db`);
      expect(copy.all("SELECT count(*) AS n FROM pairs WHERE b IS NOT a")).toEqual([{ n: 0 }]);
      copy.close();
    }));

  test("never overwrites, and does not meet another one that is being written", () =>
    withDatabase(async ({ folder, driver }) => {
      writeFileSync(`${folder}/taken`, "mine");
      expect(await rejection(makeBackup(driver, `${folder}/taken`))).toMatchObject({ code: "REFUSED" });
      expect(readFileSync(`${folder}/taken`, "utf8")).toBe("mine");
      writeFileSync(`${folder}/b.db.partial`, "");
      expect(await rejection(makeBackup(driver, `${folder}/b.db`))).toMatchObject({ code: "REFUSED" });
      expect(existsSync(`${folder}/b.db.partial`)).toBe(true);
      expect(await rejection(makeBackup(driver, `${folder}/none/b.db`))).toMatchObject({ code: "REFUSED" });
    }));

  test("of another program's database is refused and leaves nothing", () =>
    withTempDir(async (folder) => {
      const driver = await openEmbedded({ file: `${folder}/other.db` });
      await driver.batch([{ sql: "CREATE TABLE t (a)", args: [] }]);
      expect(await rejection(makeBackup(driver, `${folder}/b.db`))).toMatchObject({ code: "STORE_CORRUPT" });
      await driver.close();
      expect(readdirSync(folder).filter((name) => name.startsWith("b."))).toEqual([]);
    }));
});

describe("looking into a file", () => {
  async function verdict(file: string): Promise<unknown> {
    return ((await rejection(inspectBackup(file))) as { code?: string } | undefined)?.code;
  }

  test("tells what is no backup of this program", () =>
    withTempDir(async (folder) => {
      writeFileSync(`${folder}/text`, "not a database, but longer than a header would have to be ".repeat(5));
      writeFileSync(`${folder}/empty`, "");
      mkdirSync(`${folder}/dir`);
      expect(await verdict(`${folder}/text`)).toBe("STORE_CORRUPT");
      expect(await verdict(`${folder}/empty`)).toBe("STORE_CORRUPT");
      expect(await verdict(`${folder}/dir`)).toBe("INPUT_UNREADABLE");
      expect(await verdict(`${folder}/none`)).toBe("INPUT_UNREADABLE");
    }));

  test("finds damage and a file that was cut short", () =>
    withDatabase(async ({ folder, driver }) => {
      await makeBackup(driver, `${folder}/b.db`);
      const whole = readFileSync(`${folder}/b.db`);
      writeFileSync(`${folder}/cut`, whole.subarray(0, whole.length - 8192));
      const damaged = Uint8Array.from(whole);
      damaged.fill(0xff, 4096 * 3, 4096 * 12);
      writeFileSync(`${folder}/damaged`, damaged);
      expect(await verdict(`${folder}/cut`)).toBe("STORE_CORRUPT");
      expect(await verdict(`${folder}/damaged`)).toBe("STORE_CORRUPT");
    }));

  test("refuses one of a newer program, and one whose schema this program did not make", () =>
    withDatabase(async ({ folder, driver }) => {
      await driver.batch([{ sql: "INSERT INTO schema_migrations VALUES (99, 'x', 1)", args: [] }]);
      await driver.copyTo(`${folder}/newer.db`);
      expect(await verdict(`${folder}/newer.db`)).toBe("DATABASE_TOO_NEW");
      await driver.batch([{ sql: "DELETE FROM schema_migrations WHERE version = 99", args: [] }]);
      await driver.batch([{ sql: "UPDATE schema_migrations SET sha256 = 'x'", args: [] }]);
      await driver.copyTo(`${folder}/foreign.db`);
      expect(await verdict(`${folder}/foreign.db`)).toBe("STORE_CORRUPT");
    }));

  test("refuses a database file that was copied by hand, whose log may be missing", () =>
    withDatabase(async ({ folder }) => {
      copyFileSync(`${folder}/tvs.db`, `${folder}/by-hand.db`);
      const error = await rejection(inspectBackup(`${folder}/by-hand.db`));
      expect(error).toMatchObject({ code: "STORE_CORRUPT", message: expect.stringContaining("by hand") });
      expect(readdirSync(folder).filter((name) => name.startsWith("by-hand"))).toEqual(["by-hand.db"]);
    }));
});
