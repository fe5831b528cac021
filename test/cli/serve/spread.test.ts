import { describe, expect, test } from "bun:test";
import { createLook, createSpreadJudge, type Load } from "../../../cli/serve/spread.ts";

const idle: Load = { mainCpu: 0.01, allCpu: 0.02, commits: 0.01, places: 0.01 };
/** What four connections ask of one thread. */
const easy: Load = { mainCpu: 0.55, allCpu: 0.9, commits: 0.4, places: 0.01 };
const busy: Load = { ...easy, mainCpu: 0.95 };

/** Whom a judge names last, of so many equal looks. */
function after(judge: ReturnType<typeof createSpreadJudge>, load: Load, looks: number): string {
  return Array.from({ length: looks }, () => judge(load)).at(-1) ?? "";
}

/** How many such looks it takes until all connections go to the first thread again. */
function looksUntilFirst(judge: ReturnType<typeof createSpreadJudge>, load: Load): number {
  for (let looks = 1; looks < 10_000; looks++) if (judge(load) === "first") return looks;
  return Number.POSITIVE_INFINITY;
}

describe("who has the connections", () => {
  test.each([
    ["nothing to do", idle],
    ["what it can do alone", easy],
  ])("is the first thread, while it has %s", (_name, load) => {
    expect(after(createSpreadJudge(2), load, 1_000)).toBe("first");
  });

  test.each([
    ["its processor is", { ...idle, mainCpu: 0.93 }],
    ["its commits are", { ...idle, commits: 0.8 }],
    ["its places are", { ...idle, places: 0.5 }],
  ])("are all threads, when %s nearly spent in two looks running", (_name, load) => {
    const judge = createSpreadJudge(2);
    expect(after(judge, load, 1)).toBe("first");
    expect(after(judge, idle, 1)).toBe("first");
    expect(after(judge, load, 1)).toBe("first");
    expect(after(judge, load, 1)).toBe("all");
  });

  test("is the first again when it would have all of it in hand for a while", () => {
    const judge = createSpreadJudge(2);
    after(judge, busy, 2);
    expect(after(judge, { ...easy, allCpu: 1.7 }, 100)).toBe("all");
    expect(after(judge, { ...easy, commits: 0.78 }, 100)).toBe("all");
    expect(after(judge, { ...easy, places: 0.2 }, 100)).toBe("all");
    expect(after(judge, easy, 9)).toBe("all");
    expect(judge(easy)).toBe("first");
  });

  test("goes to and fro ever more seldom where one thread has not enough after all", () => {
    const judge = createSpreadJudge(2);
    const waits = Array.from({ length: 9 }, () => {
      after(judge, busy, 2);
      return looksUntilFirst(judge, easy);
    });
    expect(waits).toEqual([10, 20, 40, 80, 160, 320, 640, 1_200, 1_200]);
    after(judge, easy, 1_300);
    after(judge, busy, 2);
    expect(looksUntilFirst(judge, easy)).toBe(10);
  });
});

test("what fails at a look ends nothing: connections stay where they are, and the next look tries again", () => {
  const steered: string[] = [];
  let isBroken = true;
  const steer = (to: string) => {
    steered.push(to);
    if (isBroken) throw new Error("a port's connections cannot be steered");
  };
  const ended: string[] = [];
  const listener = { shed: () => void ended.push("of the first") };
  const look = createLook(steer, () => busy, {
    threads: 2,
    listener,
    shedOthers: () => void ended.push("others"),
  });
  for (let looks = 0; looks < 3; looks++) look();
  expect([steered, ended]).toEqual([["all", "all"], []]);
  isBroken = false;
  for (let looks = 0; looks < 3; looks++) look();
  expect([steered, ended]).toEqual([["all", "all", "all"], ["of the first"]]);
});
