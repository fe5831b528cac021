import { expect, test } from "bun:test";
import { changeUnderLoad } from "./changes.ts";

// With two, by itself: bun test/faults/changes.ts 10 2.
test.each([4])(
  "no answer of %i busy threads is older than a change that a command has made",
  async (threads) => {
    const { after, older, unexpected } = await changeUnderLoad(1, threads);
    expect(unexpected).toEqual([]);
    expect(Object.values(older)).toEqual(Object.values(older).map(() => 0));
    expect(Object.values(after).every((asked) => asked > 0)).toBe(true);
  },
);
