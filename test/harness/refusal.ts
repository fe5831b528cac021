import { expect } from "bun:test";
import type { CommandResult } from "./program.ts";

/**
 * Expects a refused command: the exit code, an empty stdout, and one line with the reason on stderr.
 * @param words parts of that line
 */
export async function expectRefusal(
  run: CommandResult | Promise<Pick<CommandResult, "code" | "stdout" | "stderr">>,
  code: number,
  ...words: (string | RegExp)[]
): Promise<void> {
  const { code: ended, stdout, stderr } = await run;
  expect({ ended, stdout, stderr }).toEqual({ ended: code, stdout: "", stderr });
  expect(stderr).toMatch(/^tvs(?: [\w-]+)?: .*\n$/);
  for (const one of words) expect(stderr).toMatch(one);
}
