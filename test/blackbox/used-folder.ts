/** A data folder that was used once, and copies of it, for tests of commands. */
import { beforeAll, expect, setDefaultTimeout } from "bun:test";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { sharedFolder } from "../harness/folder.ts";
import { type CommandResult, type RunOptions, runJson, runTvs, testTimeoutMs } from "../harness/program.ts";

type UsedFolder = {
  readonly path: string;
  /** A data folder that has been used once; it has one partner, whose API key this is. */
  readonly used: string;
  readonly apiKey: string;
  /** A path at which no file exists. */
  freshPath(name?: string): string;
  copyOfUsed(): Promise<string>;
};

/** A used folder for all tests of a file, made before the first of them and removed after the last. */
export function sharedUsedFolder(): UsedFolder {
  setDefaultTimeout(testTimeoutMs);
  const path = sharedFolder();
  const original = join(path, "original");
  let copies = 0;
  let used = "";
  let apiKey = "";
  const freshPath = (name = "data") => join(path, `${name}-${++copies}`);
  async function copyOfUsed(): Promise<string> {
    const copy = freshPath();
    await cp(original, copy, { recursive: true });
    return copy;
  }
  beforeAll(async () => {
    const partner = ["partners", "add", "agency", "--name", "Agency", "--scopes", "all", "--purposes", "all"];
    const most = ["--per-minute", "1000", "--per-day", "1000", "--data", original];
    ({ apiKey } = await runJson<{ apiKey: string }>([...partner, ...most]));
    used = await copyOfUsed();
  });
  return {
    path,
    get used() {
      return used;
    },
    get apiKey() {
      return apiKey;
    },
    freshPath,
    copyOfUsed,
  };
}

const limits = ["--scopes", "all", "--purposes", "all", "--per-minute", "10", "--per-day", "10"];

export function addPartner(
  id: string,
  words: readonly string[],
  options?: RunOptions,
): Promise<CommandResult> {
  return runTvs(["partners", "add", id, "--name", "Board", ...limits, ...words], options);
}

/** One line on stderr that says what is wrong, and no stack trace anywhere. */
export function expectOneLine(finished: CommandResult, code: number): void {
  const { stderr } = finished;
  expect({ code: finished.code, stderr }).toEqual({ code, stderr: expect.stringMatching(/^[^\n]+\n$/) });
  expect(stderr.length).toBeGreaterThan(10);
  expect(stderr + finished.stdout).not.toMatch(/^\s+at /m);
  expect(stderr).not.toContain("internal error");
}
