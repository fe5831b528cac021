import { describe, expect, test } from "bun:test";
import { createAdmission, createLoad, type Load } from "../../src/signing/admission.ts";
import { newSigningBoards, openSigningBoard } from "../../src/signing/board.ts";

const overloaded = expect.objectContaining({ code: "OVERLOADED" });

/** Admits as many calls of a size as it can, up to a thousand. */
function admitted(
  load: Load,
  { size, bulk, ms = 0.5 }: { size: number; bulk: boolean; ms?: number },
): number {
  const admission = createAdmission(load, ms);
  for (let calls = 0; calls < 1000; calls++) {
    try {
      admission.admit(size, bulk);
    } catch (error) {
      expect(error).toEqual(overloaded);
      return calls;
    }
  }
  return 1000;
}

describe("the admission of a call", () => {
  test("serves 64 callers with batches of 20, also on one slow thread", () => {
    expect(admitted(createLoad(1), { size: 20, bulk: true, ms: 1.5 })).toBeGreaterThanOrEqual(64);
  });

  test("refuses a flood: what would wait for more than two seconds", () => {
    expect(admitted(createLoad(1), { size: 100, bulk: true })).toBe(41);
    expect(admitted(createLoad(2), { size: 100, bulk: true })).toBe(81);
  });

  test("counts nothing of a call that it refuses, and lets one in when others have left", () => {
    const load = createLoad(1);
    const admission = createAdmission(load, 1);
    admission.admit(2001, false);
    expect(() => admission.admit(20, false)).toThrow(overloaded);
    expect(load.waiting(false)).toBe(2001);
    admission.leave(1, false);
    admission.admit(20, false);
    expect(load.waiting(false)).toBe(2020);
  });

  test("makes a single check wait for single checks only, and a batch for both", () => {
    const load = createLoad(1);
    const admission = createAdmission(load, 1);
    admission.admit(5000, true);
    admission.admit(1, false);
    expect(() => admission.admit(1, true)).toThrow(overloaded);
    admission.leave(5000, true);
    admission.admit(3000, false);
    expect(() => admission.admit(1, true)).toThrow(overloaded);
    expect(() => admission.admit(1, false)).toThrow(overloaded);
  });

  test("learns how long a signature takes, and is not misled by one pause", () => {
    const admission = createAdmission(createLoad(1), 1);
    admission.admit(1500, false);
    admission.learn(60_000);
    admission.admit(1, false);
    for (let i = 0; i < 100; i++) admission.learn(4);
    expect(() => admission.admit(1, false)).toThrow(overloaded);
    for (let i = 0; i < 100; i++) admission.learn(0.5);
    admission.admit(1, false);
  });

  test("knows what the other threads of the process have to sign, and forgets those of one that died", () => {
    const memory = newSigningBoards(2);
    const [first, second] = [openSigningBoard(memory, 0), openSigningBoard(memory, 1)];
    createAdmission(first, 1).admit(3000, false);
    createAdmission(second, 1).admit(3000, false);
    expect([first.waiting(false), second.waiting(false)]).toEqual([6000, 6000]);
    expect(() => createAdmission(first, 1).admit(1, false)).toThrow(overloaded);
    first.abandon(1);
    expect(first.waiting(false)).toBe(3000);
    createAdmission(first, 1).admit(1, false);
  });
});
