import { expect, mock, test } from "bun:test";
import { TvsError } from "../../../src/domain/errors.ts";
import { createGroupCommit, type GroupCommit } from "../../../src/store/driver/commits.ts";
import { bind, type Driver, type Transaction } from "../../../src/store/driver/driver.ts";
import { catchError } from "../../harness/rejection.ts";
import { withStores } from "../../harness/store.ts";

type World = {
  commit: GroupCommit;
  /** The number of statements of each batch that reached the driver. */
  batches: number[];
  /** Makes transactions wait. @returns a function that lets them go on */
  hold(): () => void;
  keys(): Promise<string[]>;
};

/** Runs a function with a group commit over a real database, whose batches are counted and can be delayed. */
function withCommits(
  act: (world: World) => Promise<void>,
  limits?: Parameters<typeof createGroupCommit>[1],
): Promise<void> {
  return withStores(async ({ driver }) => {
    await driver.batch([bind("CREATE TABLE probe (k TEXT PRIMARY KEY) STRICT")]);
    const batches: number[] = [];
    let opened = Promise.resolve();
    const counted = (tx: Transaction): Transaction => ({
      ...tx,
      finish(statements) {
        batches.push(statements.length);
        return tx.finish(statements);
      },
    });
    const counting: Driver = {
      ...driver,
      async write(work, waitMs) {
        await opened;
        return driver.write((tx) => work(counted(tx)), waitMs);
      },
    };
    const hold = () => {
      const gate = Promise.withResolvers<void>();
      opened = gate.promise;
      return gate.resolve;
    };
    const keys = async () =>
      (await driver.query("SELECT k FROM probe ORDER BY rowid")).map((row) => String(row.k));
    await act({ commit: createGroupCommit(counting, limits), batches, hold, keys });
  });
}

/** Waits until a queued commit has begun, one turn of the event loop later. */
async function begun(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
}

const insert = (key: string) => bind("INSERT INTO probe VALUES (?) RETURNING k", [key]);
const names = (count: number, prefix = "k") => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

test("all writes of one turn of the event loop are in one commit", () =>
  withCommits(async ({ commit, batches, keys }) => {
    await Promise.all(names(30).map((key) => commit([insert(key)])));
    expect(batches).toEqual([30]);
    expect(await keys()).toEqual(names(30));
  }));

test("all writes that arrive during a commit are in the next commit", () =>
  withCommits(async ({ commit, batches, hold, keys }) => {
    const goOn = hold();
    const first = commit([insert("first")]);
    await begun();
    const rest = names(30).map((key) => commit([insert(key)]));
    goOn();
    await Promise.all([first, ...rest]);
    expect(batches).toEqual([1, 30]);
    expect(await keys()).toEqual(["first", ...names(30)]);
  }));

test("a commit waits for signatures that are being made", () => {
  const signed = Promise.withResolvers<void>();
  let isSigned = false;
  return withCommits(
    async ({ commit, batches, keys }) => {
      const acts: Promise<unknown>[] = [];
      for (const key of names(20)) {
        acts.push(commit([insert(key)]));
        await new Promise(setImmediate);
      }
      isSigned = true;
      signed.resolve();
      await Promise.all(acts);
      expect(batches.length).toBeLessThan(20);
      expect(await keys()).toEqual(names(20));
    },
    { moreComing: () => (isSigned ? undefined : signed.promise) },
  );
});

test("a commit waits only briefly for a signature that does not come", () =>
  withCommits(
    async ({ commit, batches }) => {
      await commit([insert("k")]);
      expect(batches).toEqual([1]);
    },
    { moreComing: () => new Promise(() => {}) },
  ));

test("a commit has fewer large writes than small ones, and a write above the limit is committed alone", () =>
  withCommits(
    async ({ commit, batches }) => {
      const heavy = (count: number, prefix: string) => commit(names(count, prefix).map(insert));
      await Promise.all([heavy(1, "a"), heavy(6, "b"), heavy(6, "c"), heavy(30, "d"), heavy(1, "e")]);
      expect(batches).toEqual([13, 30, 1]);
    },
    { maxWeight: 10 },
  ));

test("each write of a shared commit gets the rows of its own statements", () =>
  withCommits(async ({ commit }) => {
    const acts = names(20).map((key, i) => commit(names(i % 3, key).map(insert)));
    const rows = await Promise.all(acts);
    expect(rows.map((act) => act.map((one) => one[0]?.k))).toEqual(
      names(20).map((key, i) => names(i % 3, key)),
    );
  }));

test("a write that violates a constraint fails alone, and the other writes of its commit are stored", () =>
  withCommits(async ({ commit, batches, keys }) => {
    const acts = [["a"], ["b", "c"], ["d", "b"], ["e"]].map((group) => commit(group.map(insert)));
    const outcomes = await Promise.allSettled(acts);
    expect(outcomes.map((one) => one.status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(outcomes[2]).toMatchObject({ reason: { code: "STORE_CONSTRAINT" } });
    expect(await keys()).toEqual(["a", "b", "c", "e"]);
    expect(batches).toEqual([6, 1, 2, 2, 1]);
  }));

test("a full disk fails each write of the commit, and none is tried again", () =>
  withStores(async ({ driver }) => {
    const write = mock(() => Promise.reject(new TvsError("STORE_FULL", "the disk is full")));
    const commit = createGroupCommit({ ...driver, write });
    const errors = await Promise.all(names(5).map((key) => catchError(commit([insert(key)]))));
    for (const error of errors) expect(error).toMatchObject({ code: "STORE_FULL" });
    expect(write).toHaveBeenCalledTimes(1);
    expect(await catchError(commit([insert("later")]))).toMatchObject({ code: "STORE_FULL" });
  }));

test("all writes that waited too long for another process's lock are refused", () =>
  withStores(async ({ driver }) => {
    const tried: number[] = [];
    const gate = Promise.withResolvers<void>();
    const locked: Driver = {
      ...driver,
      async write(work) {
        await gate.promise;
        const refuse: Transaction["finish"] = async (statements) => {
          tried.push(statements.length);
          throw new TvsError("STORE_BUSY", "locked");
        };
        await work({ query: async () => [], batch: refuse, finish: refuse });
        throw new Error("the work goes on without a database");
      },
    };
    const commit = createGroupCommit(locked, { maxWeight: 10 });
    const outcomes = names(100).map((key) => catchError(commit([insert(key)])));
    await begun();
    const later = catchError(commit([insert("later")]));
    gate.resolve();
    const codes = (await Promise.all([...outcomes, later])).map((error) => (error as TvsError).code);
    expect(new Set(codes)).toEqual(new Set(["STORE_BUSY"]));
    // Only the write that came during the failed commit is tried in a commit of its own.
    expect(tried).toEqual([10, 1]);
  }));

test("each commit is counted with the number of its writes", () => {
  const groups: number[] = [];
  return withCommits(
    async ({ commit }) => {
      await Promise.all(names(3).map((key) => commit([insert(key)])));
      await commit([insert("alone")]);
      await begun();
      expect(groups).toEqual([3, 1]);
    },
    { onGroup: (writes) => groups.push(writes) },
  );
});

test("a full queue refuses further writes while a commit hangs, and later stores its writes and new ones", () =>
  withCommits(
    async ({ commit, hold, keys }) => {
      const goOn = hold();
      const first = commit([insert("first")]);
      await begun();
      const waiting = names(5).map((key) => commit([insert(key)]));
      expect(await catchError(commit([insert("too many")]))).toMatchObject({ code: "OVERLOADED" });
      goOn();
      await Promise.all([first, ...waiting]);
      await commit([insert("afterwards")]);
      expect(await keys()).toEqual(["first", ...names(5), "afterwards"]);
    },
    { maxQueued: 5 },
  ));
