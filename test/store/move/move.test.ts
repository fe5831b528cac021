import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { openRemote } from "../../../src/store/server/remote.ts";
import { rejection } from "../../harness/rejection.ts";
import { noServer, startServer, type TestServer } from "../../harness/sqld.ts";
import { largeInteger } from "./every-row.ts";
import {
  aFile,
  aRegister,
  type Between,
  dump,
  isInUse,
  killedAfter,
  missing,
  move,
  over,
  type Place,
  refusal,
  usePlaces,
  withoutRevision,
} from "./places.ts";

usePlaces();

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
  });
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
      expect(failure).toMatchObject(refusal(said));
      expect([await isInUse(from), await isInUse(to)]).toEqual([true, false]);
      await move(from, to);
      expect(await dump(to)).toEqual(before);
    }
  });

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
  });
});

describe("a move is refused", () => {
  async function refuse(from: Place, to: Place): Promise<unknown> {
    const before = existsSync(to.at.slice("file:".length)) ? await dump(to) : null;
    const failure = await rejection(move(from, to));
    if (before !== null) expect(await dump(to)).toEqual(before);
    return failure;
  }
  const run = (place: Place, sql: string) => over(place, (driver) => driver.batch([{ sql, args: [] }]));

  test("into a register, a copy of another one, and somebody else's database", async () => {
    const [from, other] = [await aRegister(), await aRegister()];
    expect(await refuse(from, other)).toMatchObject(refusal(/holds a register already/));
    const copy = aFile();
    await rejection(move(other, copy, killedAfter(3)));
    expect(await refuse(from, copy)).toMatchObject(refusal(/unfinished copy of file:/));
    expect(await refuse(copy, aFile())).toMatchObject({ code: "REGISTER_MISSING" });
    const foreign = aFile();
    await run(foreign, "CREATE TABLE mine (a)");
    expect(await rejection(move(from, foreign))).toMatchObject({
      code: "STORE_CORRUPT",
      message: expect.stringMatching(/another program/),
    });
    expect(await isInUse(from)).toBe(true);
  });

  test("of what is no register, was moved, or has an import that is not finished", async () => {
    expect(await refuse(aFile(), aFile())).toBe(missing);
    const [from, to] = [await aRegister(), aFile()];
    await run(from, "UPDATE imports SET finished_at = NULL");
    expect(await refuse(from, to)).toMatchObject(refusal(/import into this register/));
    await run(from, "UPDATE imports SET finished_at = 2");
    await move(from, to);
    expect(await refuse(from, aFile())).toMatchObject(refusal(/was moved to file:.* at 2023-/));
    expect(await refuse(from, to)).toMatchObject(refusal(/already; go on there/));
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
