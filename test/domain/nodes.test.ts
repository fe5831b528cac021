import { describe, expect, test } from "bun:test";
import { newNodeMemory, openNodeMemory } from "../../src/domain/node-memory.ts";
import { clockAhead, describeClock, joinNodes, requireRightClock } from "../../src/domain/nodes.ts";
import { createNodeStore } from "../../src/store/nodes.ts";
import { withStores } from "../harness/store.ts";

describe("a node's clock", () => {
  test("is wrong by as much as is certain, however long the database took to answer", () => {
    const cases: readonly [databaseNow: number | null, before: number, after: number, ahead: number][] = [
      [null, 5, 9, 0],
      [100, 90, 110, 0],
      [100, 150, 160, 50],
      [100, 20, 40, -60],
      [100, 100, 100, 0],
    ];
    for (const [now, before, after, ahead] of cases) expect(clockAhead(now, { before, after })).toBe(ahead);
  });

  test("may be thirty seconds off, and no more", () => {
    expect(() => requireRightClock(30_000)).not.toThrow();
    expect(() => requireRightClock(-30_001)).toThrow("30 s behind the database's");
    expect(() => requireRightClock(90_000)).toThrow("90 s ahead of the database's");
    expect(describeClock(-2_600)).toBe("3 s behind");
  });
});

test("the memory of a node says when all of its threads have loaded a revision", () => {
  const memory = newNodeMemory(2);
  const [main, further] = [openNodeMemory(memory), openNodeMemory(memory)];
  expect([main.liveNodes(), main.isClockWrong()]).toEqual([1, false]);
  main.found({ liveNodes: 3, isClockWrong: true });
  expect([further.liveNodes(), further.isClockWrong()]).toEqual([3, true]);
  main.loaded(0, 7);
  expect(main.haveAllLoaded(7)).toBe(false);
  further.loaded(1, 8);
  expect(main.haveAllLoaded(7)).toBe(true);
  expect(main.haveAllLoaded(8)).toBe(false);
});

test("a node says at once that it has loaded another pending key, and nothing more once it has left", () =>
  withStores(async ({ driver, clock }) => {
    const store = createNodeStore(driver);
    let pendingKid: string | null = null;
    let beats = 0;
    const node = await joinNodes({
      store,
      clock,
      self: { nodeId: "one", host: "h", url: "u", version: "1", consolePort: null },
      isAlone: true,
      loadedPendingKid: () => pendingKid,
      onBeat: () => void beats++,
    });
    await node.tick();
    expect(beats).toBe(1);
    pendingKid = "next";
    await node.tick();
    expect([beats, node.nodes()]).toMatchObject([2, [{ pendingKid: "next" }]]);
    await node.leave();
    pendingKid = "later";
    await node.tick();
    expect([beats, await store.list()]).toEqual([2, []]);
  }));
