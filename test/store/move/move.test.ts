import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { TvsError } from "../../../src/domain/errors.ts";
import type { Driver } from "../../../src/store/driver/driver.ts";
import { openEmbedded } from "../../../src/store/driver/embedded.ts";
import { openRemote } from "../../../src/store/driver/remote.ts";
import { cancelMove } from "../../../src/store/move/cancel.ts";
import type { TableDigest } from "../../../src/store/move/copy.ts";
import { moveRegister, requireFree, requireMovable } from "../../../src/store/move/move.ts";
import { createSettingsStore } from "../../../src/store/settings.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { rejection } from "../../harness/rejection.ts";
import { noServer, startServer, type TestServer } from "../../harness/sqld.ts";
import { largeInteger, makeEveryRow } from "./every-row.ts";

/** Where a database is, and how it is opened. */
type Place = { readonly at: string; open(): Promise<Driver> };
/** What stands between the move and a database. */
type Between = (driver: Driver) => Driver;

const folder = sharedFolder();
let made = 0;
const missing = new TvsError("REGISTER_MISSING", "there is no register");

function aFile(): Place & { file: string } {
  const file = join(folder, `${++made}.db`);
  return { at: `file:${file}`, file, open: () => openEmbedded({ file }) };
}

async function aRegister(): Promise<Place> {
  const place = aFile();
  await makeEveryRow(place.file);
  return place;
}

async function over<T>(place: Place, act: (driver: Driver) => Promise<T>): Promise<T> {
  const driver = await place.open();
  try {
    return await act(driver);
  } finally {
    await driver.close();
  }
}

/** The whole of `tvs migrate --to`, but for the command line. */
function move(from: Place, to: Place, between: Between = (driver) => driver): Promise<TableDigest[]> {
  return over(from, (source) =>
    over(to, async (target) => {
      const names = { from: from.at, to: to.at };
      const movable = await requireMovable(source, { ...names, missing });
      await requireFree(target, { ...movable, ...names });
      const sides = { source: between(source), target: between(target) };
      return moveRegister({ ...sides, ...names, ...movable, now: 1_700_000_000_000, onProgress() {} });
    }),
  );
}

function cancel(from: Place, to: Place | null): Promise<void> {
  return over(from, async (source) => {
    if (to === null) return cancelMove({ source, from: from.at, missing, target: null });
    return over(to, (driver) =>
      cancelMove({ source, from: from.at, missing, target: { driver, to: to.at } }),
    );
  });
}

/** Everything that a database holds, with the type of each value, but for its marks and who serves it. */
function dump(place: Place): Promise<Record<string, unknown>> {
  return over(place, async (driver) => {
    const tables = await driver.query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
    const content: Record<string, unknown> = {};
    for (const { name } of tables) {
      if (["schema_migrations", "nodes", "leases"].includes(String(name))) continue;
      const columns = await driver.query(`SELECT name FROM pragma_table_info('${name}')`);
      const [{ wr } = {}] = await driver.query(`SELECT wr FROM pragma_table_list('${name}')`);
      const all = [...(wr === 0 ? ["rowid"] : []), ...columns.map((row) => String(row.name))];
      const values = all.map((one) => `typeof(${one}) || quote(${one})`).join(" || ',' || ");
      const marks = name === "settings" ? "WHERE name NOT GLOB 'copy_*' AND name NOT GLOB 'moved_*'" : "";
      content[String(name)] = (
        await driver.query(`SELECT ${values} AS v FROM ${name} ${marks} ORDER BY 1`)
      ).map(({ v }) => v);
    }
    return content;
  });
}

/** Whether commands and services would use a database: it holds a register, and says nothing against it. */
function isInUse(place: Place): Promise<boolean> {
  return over(place, async (driver) => {
    const tables = await driver.query("SELECT 1 FROM sqlite_master WHERE name = 'signing_keys'");
    if (tables.length === 0 || (await driver.query("SELECT 1 FROM signing_keys")).length === 0) return false;
    return (await rejection(createSettingsStore(driver).read())) === undefined;
  });
}

/** The count of the source's own mark stays with it, so that only the copy has the counter that the source had. */
function withoutRevision({ revision: _revision, ...others }: Record<string, unknown>) {
  return others;
}

describe.skipIf(noServer !== undefined)("a register that goes from a file to a server and back", () => {
  let server: TestServer;
  let remote: Place;

  beforeAll(async () => {
    server = await startServer();
    remote = { at: server.url, open: () => openRemote({ url: server.url }) };
  });
  afterAll(() => server.stop());

  test("arrives unchanged to the byte, with the same digests on each way", async () => {
    const first = await aRegister();
    const before = await dump(first);
    expect(JSON.stringify(before)).toContain(largeInteger);
    for (const [name, rows] of Object.entries(before))
      expect([name, (rows as string[]).length > 0]).toEqual([name, true]);
    const there = await move(first, remote);
    expect(await dump(remote)).toEqual(before);
    const last = aFile();
    const back = await move(remote, last);
    expect(await dump(last)).toEqual(before);
    expect(back).toEqual(there);
    expect(there.map(({ name }) => name).sort()).toEqual(Object.keys(before).sort());
    expect(await Promise.all([first, remote, last].map(isInUse))).toEqual([false, false, true]);
    expect(await rejection(move(last, remote))).toMatchObject({
      message: expect.stringMatching(/holds a register already/),
    });
  }, 30_000);
});

test("row ids that nobody gave are kept, because what is old is found by them", async () => {
  const [from, to] = [await aRegister(), aFile()];
  await move(from, to);
  const ids = await over(to, (driver) =>
    driver.query("SELECT rowid AS id, hex(id) AS name FROM idempotency ORDER BY 1"),
  );
  expect(ids).toEqual([
    { id: 4, name: "02" },
    { id: 5, name: "00" },
  ]);
});

class Killed extends Error {}

/** Ends after so many commits, as a kill does: nothing comes after. */
function killedAfter(commits: number): Between {
  let left = commits;
  return (driver) => ({
    ...driver,
    query: (sql, args) => (left < 0 ? Promise.reject(new Killed()) : driver.query(sql, args)),
    async batch(statements) {
      if (--left < 0) throw new Killed();
      return driver.batch(statements);
    },
  });
}

/** How many commits a whole move makes. */
async function commitsOf(register: string): Promise<number> {
  const [from, to] = [await aCopyOf(register), aFile()];
  let commits = 0;
  await move(from, to, (driver) => ({
    ...driver,
    batch(statements) {
      commits++;
      return driver.batch(statements);
    },
  }));
  return commits;
}

async function aCopyOf(register: string): Promise<Place> {
  const copy = aFile();
  await over({ at: "", open: () => openEmbedded({ file: register }) }, (driver) => driver.copyTo(copy.file));
  return copy;
}

describe("a move that is killed", () => {
  let register: string;
  let before: Record<string, unknown>;
  let commits: number;

  beforeAll(async () => {
    const place = aFile();
    register = place.file;
    await makeEveryRow(register);
    before = await dump(place);
    commits = await commitsOf(register);
  });

  test("after any of its commits never leaves the register in use twice, and the same command ends it", async () => {
    const states: string[] = [];
    // The target's schema, the first page of a table after the other: of what is alike a few are enough.
    const isTried = (done: number) => done % 8 === 0 || (done > 8 && done < 13) || done > commits - 3;
    for (let done = 0; done <= commits; done++) {
      if (!isTried(done)) continue;
      const [from, to] = [await aCopyOf(register), aFile()];
      const failure = await rejection(move(from, to, killedAfter(done)));
      const state = [await isInUse(from), await isInUse(to)].join();
      if (state !== states.at(-1)) states.push(state);
      if (done === commits) expect(failure).toBeUndefined();
      else {
        expect(failure).toBeInstanceOf(Killed);
        await move(from, to);
      }
      expect([await isInUse(from), await isInUse(to)]).toEqual([false, true]);
      expect(await dump(to)).toEqual(before);
    }
    // Between the last two commits nobody may use either of them.
    expect(states).toEqual(["true,false", "false,false", "false,true"]);
  }, 60_000);

  test("between its last two commits can be taken back", async () => {
    const [from, to] = [await aCopyOf(register), aFile()];
    await rejection(move(from, to, killedAfter(commits - 1)));
    expect([await isInUse(from), await isInUse(to)]).toEqual([false, false]);
    await cancel(from, to);
    expect([await isInUse(from), await isInUse(to)]).toEqual([true, false]);
    const now = await dump(from);
    await move(from, to);
    expect(await dump(to)).toEqual(now);
  }, 60_000);

  test("goes on where it was, and copies nothing twice", async () => {
    const begun = (place: Place) =>
      over(place, async (driver) => Number((await driver.query("SELECT count(*) AS n FROM teachers"))[0]?.n));
    let [from, to] = [await aCopyOf(register), aFile()];
    for (let done = 12; ; done++) {
      await rejection(move(from, to, killedAfter(done)));
      if ((await begun(to)) > 0) break;
      [from, to] = [await aCopyOf(register), aFile()];
    }
    const copied = await begun(to);
    expect(copied).toBe(500);
    const written: string[] = [];
    await move(from, to, (driver) => ({
      ...driver,
      batch(statements) {
        for (const one of statements)
          if ("insert" in one && one.insert.table === "teachers") written.push(one.rows);
        return driver.batch(statements);
      },
    }));
    expect(written.flatMap((rows) => JSON.parse(rows)).length).toBe(1500 - copied);
  }, 60_000);
});

describe("a move finds", () => {
  test("a row that is not alike, names it, and copies everything anew the next time", async () => {
    for (const [tamper, said] of [
      ["UPDATE teachers SET name = 'x' WHERE id = 30", /table teachers has another row with the key 30;/],
      [
        "DELETE FROM delivery_attempts WHERE delivery = 2 AND number = 1",
        /delivery_attempts has not the row with the key 2, 1;/,
      ],
      [
        "INSERT INTO settings VALUES ('zzz', '')",
        /settings has a row with the key zzz that the source has not;/,
      ],
    ] as const) {
      const [from, to] = [await aRegister(), aFile()];
      const before = await dump(from);
      let isDone = false;
      const tampered: Between = (driver) => ({
        ...driver,
        async query(sql, args) {
          // The first table is read twice as often as it is copied: from then on it is compared.
          if (!isDone && /FROM delivery_revision/.test(sql) && /octet_length/.test(sql)) {
            isDone = true;
            await over(to, (other) => other.batch([{ sql: tamper, args: [] }]));
          }
          return driver.query(sql, args);
        },
      });
      const failure = await rejection(move(from, to, tampered));
      expect(failure).toMatchObject({ code: "REFUSED", message: expect.stringMatching(said) });
      expect([await isInUse(from), await isInUse(to)]).toEqual([true, false]);
      await move(from, to);
      expect(await dump(to)).toEqual(before);
    }
  }, 30_000);

  test("a change of the source that came meanwhile, and leaves it where it is", async () => {
    const [from, to] = [await aRegister(), aFile()];
    let isDone = false;
    const changed: Between = (driver) => ({
      ...driver,
      async query(sql, args) {
        if (!isDone && /FROM imports\b/.test(sql) && /octet_length/.test(sql)) {
          isDone = true;
          const sql = "INSERT INTO history (teacher_id, at, action, actor) VALUES (3, 9, 'revoke', 'cli:b')";
          await over(from, (other) => other.batch([{ sql, args: [] }]));
        }
        return driver.query(sql, args);
      },
    });
    expect(await rejection(move(from, to, changed))).toMatchObject({ code: "REFUSED" });
    expect([await isInUse(from), await isInUse(to)]).toEqual([true, false]);
    await move(from, to);
    expect(withoutRevision(await dump(to))).toEqual(withoutRevision(await dump(from)));
  }, 30_000);
});

describe("a move is refused", () => {
  async function refusal(from: Place, to: Place): Promise<unknown> {
    const before = existsSync(to.at.slice("file:".length)) ? await dump(to) : null;
    const failure = await rejection(move(from, to));
    if (before !== null) expect(await dump(to)).toEqual(before);
    return failure;
  }
  const run = (place: Place, sql: string) => over(place, (driver) => driver.batch([{ sql, args: [] }]));

  test("into a register, a copy of another one, and somebody else's database", async () => {
    const [from, other] = [await aRegister(), await aRegister()];
    expect(await refusal(from, other)).toMatchObject({
      code: "REFUSED",
      message: expect.stringMatching(/holds a register already/),
    });
    const copy = aFile();
    await rejection(move(other, copy, killedAfter(20)));
    expect(await refusal(from, copy)).toMatchObject({
      code: "REFUSED",
      message: expect.stringMatching(/unfinished copy of file:/),
    });
    expect(await refusal(copy, aFile())).toMatchObject({ code: "REGISTER_MISSING" });
    const foreign = aFile();
    await run(foreign, "CREATE TABLE mine (a)");
    expect(await rejection(move(from, foreign))).toMatchObject({
      code: "STORE_CORRUPT",
      message: expect.stringMatching(/another program/),
    });
    expect(await isInUse(from)).toBe(true);
  });

  test("of what is no register, was moved, or has an import that is not finished", async () => {
    expect(await refusal(aFile(), aFile())).toBe(missing);
    const [from, to] = [await aRegister(), aFile()];
    await run(from, "UPDATE imports SET finished_at = NULL");
    expect(await refusal(from, to)).toMatchObject({
      code: "REFUSED",
      message: expect.stringMatching(/import into this register/),
    });
    await run(from, "UPDATE imports SET finished_at = 2");
    await move(from, to);
    expect(await refusal(from, aFile())).toMatchObject({
      code: "REFUSED",
      message: expect.stringMatching(/was moved to file:.* at 2023-/),
    });
    expect(await refusal(from, to)).toMatchObject({
      code: "REFUSED",
      message: expect.stringMatching(/already; go on there/),
    });
  });

  test("while a service uses either database", async () => {
    const [from, to] = [await aRegister(), aFile()];
    for (const place of [from, to]) {
      const served = await place.open();
      await served.lockService();
      if (place === to) await rejection(move(from, to, killedAfter(3)));
      expect(await rejection(move(from, to))).toMatchObject({ code: "DATABASE_IN_USE" });
      await served.close();
    }
    expect(await isInUse(from)).toBe(true);
    await move(from, to);
  });
});

describe("a move is taken back", () => {
  test("as long as the register was not changed in its new place", async () => {
    const [from, to] = [await aRegister(), aFile()];
    const before = await dump(from);
    await move(from, to);
    await cancel(from, to);
    expect([await isInUse(from), await isInUse(to)]).toEqual([true, false]);
    expect(withoutRevision(await dump(from))).toEqual(withoutRevision(before));
    await move(from, to);
    await over(to, (driver) => createSettingsStore(driver).write({ issuer: "https://two.example" }));
    expect(await rejection(cancel(from, to))).toMatchObject({
      code: "REFUSED",
      message: expect.stringMatching(/was changed since/),
    });
    expect([await isInUse(from), await isInUse(to)]).toEqual([false, true]);
  });

  test("without a look at the new place only when none is named", async () => {
    const [from, to, other] = [await aRegister(), aFile(), await aRegister()];
    expect(await rejection(cancel(from, to))).toMatchObject({
      code: "REFUSED",
      message: expect.stringMatching(/was not moved/),
    });
    await move(from, to);
    expect(await rejection(cancel(from, other))).toMatchObject({
      code: "REFUSED",
      message: expect.stringMatching(/not to/),
    });
    await cancel(from, null);
    expect(await isInUse(from)).toBe(true);
  });
});
