import { expect, test } from "bun:test";
import { killMoves } from "./move-kill.ts";

test("a move that is killed never leaves the register in use twice, and the same command ends it", async () => {
  const { both, unfinished, ...others } = await killMoves(1);
  const rounds = Object.values(others).reduce((sum, count) => sum + count, 0);
  expect({ both, unfinished, rounds }).toEqual({ both: 0, unfinished: 0, rounds: 1 });
});
