import { expect, test } from "bun:test";
import { killRestores } from "./restore-kill.ts";

test("a restore that is killed leaves the old database or the restored one, never a mixture", async () => {
  const { old, restored, mixed } = await killRestores(6);
  expect([mixed, old + restored]).toEqual([0, 6]);
});
