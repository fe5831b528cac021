import { beforeAll, describe, expect, test } from "bun:test";
import { rejection } from "../../harness/rejection.ts";
import { makeEveryRow } from "./every-row.ts";
import {
  aCopyOf,
  aFile,
  cancel,
  dump,
  isInUse,
  Killed,
  killedAfter,
  move,
  over,
  type Place,
  usePlaces,
} from "./places.ts";

usePlaces();

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
  });

  test("between its last two commits can be taken back", async () => {
    const [from, to] = [await aCopyOf(register), aFile()];
    await rejection(move(from, to, killedAfter(commits - 1)));
    expect([await isInUse(from), await isInUse(to)]).toEqual([false, false]);
    await cancel(from, to);
    expect([await isInUse(from), await isInUse(to)]).toEqual([true, false]);
    const now = await dump(from);
    await move(from, to);
    expect(await dump(to)).toEqual(now);
  });

  test("goes on where it was, and copies nothing twice", async () => {
    const begun = (place: Place) =>
      over(place, async (driver) => Number((await driver.query("SELECT count(*) AS n FROM teachers"))[0]?.n));
    let [from, to] = [await aCopyOf(register), aFile()];
    for (let done = 1; ; done++) {
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
  });
});
