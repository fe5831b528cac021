/** For tests of commands: a folder with a data folder that was used once, and copies of it. */
import { expect } from "bun:test";
import { join } from "node:path";
import { copyData } from "../harness/databases.ts";
import { makeFolder } from "../harness/folder.ts";
import { type Finished, type RunOptions, runJson, runTvs } from "../harness/program.ts";

export type UsedFolder = {
  readonly path: string;
  /** A data folder that has been used once; it has one partner, whose API key this is. */
  readonly used: string;
  readonly apiKey: string;
  /** A path on which nothing is. */
  freshPath(name?: string): string;
  /** A data folder to do with as one likes. */
  copyOfUsed(): Promise<string>;
  remove(): Promise<void>;
};

export async function makeUsedFolder(): Promise<UsedFolder> {
  const { path, remove } = await makeFolder();
  const original = join(path, "original");
  const partner = ["partners", "add", "agency", "--name", "Agency", "--scopes", "all", "--purposes", "all"];
  const limits = ["--per-minute", "1000", "--per-day", "1000", "--data", original];
  const { apiKey } = await runJson<{ apiKey: string }>([...partner, ...limits]);
  let copies = 0;
  const freshPath = (name = "data") => join(path, `${name}-${++copies}`);
  async function copyOfUsed(): Promise<string> {
    const copy = freshPath();
    await copyData(original, copy);
    return copy;
  }
  const used = await copyOfUsed();
  return { path, used, apiKey, freshPath, copyOfUsed, remove };
}

const limits = ["--scopes", "all", "--purposes", "all", "--per-minute", "10", "--per-day", "10"];

/** A command that makes a register where there is none. */
export function addPartner(id: string, words: readonly string[], options?: RunOptions): Promise<Finished> {
  return runTvs(["partners", "add", id, "--name", "Board", ...limits, ...words], options);
}

/** One line on stderr that says what is wrong, and no stack trace anywhere. */
export function expectOneLine(finished: Finished, code: number): void {
  const { stderr } = finished;
  expect({ code: finished.code, stderr }).toEqual({ code, stderr: expect.stringMatching(/^[^\n]+\n$/) });
  expect(stderr.length).toBeGreaterThan(10);
  expect(stderr + finished.stdout).not.toMatch(/^\s+at /m);
  expect(stderr).not.toContain("internal error");
}
