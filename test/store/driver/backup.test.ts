import { expect, test } from "bun:test";
import * as fs from "node:fs";
import { inspectBackup, lockPartialFile, makeBackup } from "../../../src/store/driver/backup.ts";
import { openConnection } from "../../../src/store/driver/connection.ts";
import { bind, type Driver } from "../../../src/store/driver/driver.ts";
import { openDatabaseFile } from "../../../src/store/driver/file.ts";
import { catchError } from "../../harness/rejection.ts";
import { withStores } from "../../harness/store.ts";

/** Runs a function with an open register of two teachers. */
function withDatabase(act: (world: { folder: string; driver: Driver }) => Promise<void>): Promise<void> {
  return withStores(async ({ folder, driver, putMany }) => {
    await putMany(["A/B/C/1", "A/B/C/2"]);
    await act({ folder, driver });
  });
}

test("a backup contains all committed data in one private file, and leaves no other file", () =>
  withDatabase(async ({ folder, driver }) => {
    fs.mkdirSync(`${folder}/out`);
    const file = `${folder}/out/what?is #this%20.db`;
    const facts = await makeBackup(driver, file);
    expect(facts).toMatchObject({
      schema: expect.any(Number),
      environment: "live",
      masterKeyCheck: null,
      counts: { teachers: 2, partners: 0, signing_keys: 0, attestations: 0, events: 4 },
      newestAttestation: null,
    });
    expect(fs.readdirSync(`${folder}/out`)).toEqual(["what?is #this%20.db"]);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    expect(facts.bytes).toBe(fs.statSync(file).size);
    expect(await inspectBackup(file)).toEqual(facts);
    expect(fs.readdirSync(`${folder}/out`)).toEqual(["what?is #this%20.db"]);
  }));

test("a backup is consistent while another connection writes", () =>
  withDatabase(async ({ folder, driver }) => {
    const writer = await openDatabaseFile({ file: `${folder}/tvs.db` });
    let writing = true;
    const writes = (async () => {
      for (let n = 0; writing; n++) {
        const sql = "INSERT INTO settings (name, value) VALUES (?, ?)";
        await writer.batch([bind(sql, [`a${n}`, `b${n}`]), bind(sql, [`b${n}`, "second of a pair"])]);
        await new Promise((done) => setImmediate(done));
      }
    })();
    for (let round = 0; round < 5; round++) await makeBackup(driver, `${folder}/b${round}.db`);
    writing = false;
    await writes;
    await writer.close();
    const copy = await openConnection(`${folder}/b4.db`);
    const [pairs] = copy.all(`SELECT count(*) AS whole, (SELECT count(*) FROM settings) AS written
      FROM settings AS a JOIN settings AS b ON b.name = a.value`);
    expect(Number(pairs?.written)).toBeGreaterThan(0);
    expect(Number(pairs?.written)).toBe(2 * Number(pairs?.whole));
    copy.close();
  }));

test("a backup never overwrites a file, nor a backup that another process is writing", () =>
  withDatabase(async ({ folder, driver }) => {
    fs.writeFileSync(`${folder}/taken`, "mine");
    expect(await catchError(makeBackup(driver, `${folder}/taken`))).toMatchObject({ code: "REFUSED" });
    expect(fs.readFileSync(`${folder}/taken`, "utf8")).toBe("mine");
    const other = await lockPartialFile(`${folder}/b.db`);
    fs.writeFileSync(other.path, "theirs");
    expect(await catchError(makeBackup(driver, `${folder}/b.db`))).toMatchObject({ code: "REFUSED" });
    expect(fs.readFileSync(other.path, "utf8")).toBe("theirs");
    await other.release();
    // The file is now like one that a killed backup left.
    expect(await makeBackup(driver, `${folder}/b.db`)).toMatchObject({ counts: { teachers: 2 } });
    expect(fs.readdirSync(folder).filter((name) => name.startsWith("b.db"))).toEqual(["b.db"]);
    expect(await catchError(makeBackup(driver, `${folder}/none/b.db`))).toMatchObject({ code: "REFUSED" });
  }));

test("a backup does not write into a file or link that another process puts at its path", () =>
  withDatabase(async ({ folder, driver }) => {
    const [file, theirs, nowhere] = ["b.db", "theirs", "nowhere"].map((name) => `${folder}/${name}`);
    if (file === undefined || theirs === undefined || nowhere === undefined) throw new Error("three names");
    const partial = await lockPartialFile(file);
    const puts = [() => fs.writeFileSync(partial.path, ""), () => fs.symlinkSync(nowhere, partial.path)];
    for (const put of puts) {
      put();
      expect(() => partial.make()).toThrow(`${partial.path} was put there by somebody else`);
      partial.remove();
    }
    await partial.release();
    const copyTo = async (path: string) => {
      fs.renameSync(path, `${folder}/ours`);
      fs.writeFileSync(theirs, "");
      fs.linkSync(theirs, path);
      await driver.copyTo(path);
    };
    const refused = await catchError(makeBackup({ ...driver, copyTo }, file));
    expect(refused).toMatchObject({ code: "REFUSED", message: expect.stringContaining("somebody else") });
    expect([fs.existsSync(file), fs.existsSync(nowhere)]).toEqual([false, false]);
  }));

const expectRefusal = async (file: string, code: string, message = "") =>
  expect(await catchError(inspectBackup(file))).toMatchObject({
    code,
    message: expect.stringContaining(message),
  });

test("inspectBackup finds a damaged backup and a truncated one", () =>
  withDatabase(async ({ folder, driver }) => {
    await makeBackup(driver, `${folder}/b.db`);
    const whole = fs.readFileSync(`${folder}/b.db`);
    fs.writeFileSync(`${folder}/cut`, whole.subarray(0, whole.length - 8192));
    const damaged = Uint8Array.from(whole);
    damaged.fill(0xff, 4096 * 3, 4096 * 12);
    fs.writeFileSync(`${folder}/damaged`, damaged);
    for (const name of ["cut", "damaged"]) await expectRefusal(`${folder}/${name}`, "STORE_CORRUPT");
  }));

test("inspectBackup refuses the backup of a newer program, and one with another program's schema", () =>
  withDatabase(async ({ folder, driver }) => {
    await driver.batch([bind("INSERT INTO schema_steps VALUES (99)")]);
    await driver.copyTo(`${folder}/newer.db`);
    await expectRefusal(`${folder}/newer.db`, "DATABASE_TOO_NEW");
    await driver.batch([bind("DELETE FROM schema_steps")]);
    await driver.copyTo(`${folder}/foreign.db`);
    await expectRefusal(`${folder}/foreign.db`, "STORE_CORRUPT");
  }));

test("inspectBackup refuses an unknown index before the integrity check evaluates it", () =>
  withDatabase(async ({ folder, driver }) => {
    const file = `${folder}/foreign.db`;
    await makeBackup(driver, file);
    const copy = await openConnection(file);
    copy.exec("CREATE INDEX trap ON teachers (abs(id))");
    copy.exec("PRAGMA journal_mode = DELETE");
    copy.close();
    const message = "was changed by another program: the index trap is not one";
    await expectRefusal(file, "STORE_CORRUPT", message);
  }));

test("inspectBackup refuses a database file that was copied by hand, because its write-ahead log may be missing", () =>
  withDatabase(async ({ folder }) => {
    fs.copyFileSync(`${folder}/tvs.db`, `${folder}/by-hand.db`);
    await expectRefusal(`${folder}/by-hand.db`, "STORE_CORRUPT", "by hand");
    expect(fs.readdirSync(folder).filter((name) => name.startsWith("by-hand"))).toEqual(["by-hand.db"]);
  }));
