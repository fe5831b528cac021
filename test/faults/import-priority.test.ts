import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { getPriority, platform } from "node:os";
import { join, resolve } from "node:path";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { csv, rows } from "../harness/imports.ts";
import { makeRegister } from "../harness/service.ts";

const main = resolve(import.meta.dir, "../../cli/main.ts");
const lowest = 19;

/** The niceness of a process's threads, by their names; empty once it has ended. */
function nicenessOf(pid: number): { id: number; name: string; nice: number }[] {
  const tasks = `/proc/${pid}/task`;
  try {
    return readdirSync(tasks).map((task) => {
      const stat = readFileSync(join(tasks, task, "stat"), "utf8");
      const end = stat.lastIndexOf(")");
      return {
        id: Number(task),
        name: stat.slice(stat.indexOf("(") + 1, end),
        nice: Number(stat.slice(end + 2).split(" ")[16]),
      };
    });
  } catch {
    return [];
  }
}

// Only Linux has priorities by the thread.
test.skipIf(platform() !== "linux")(
  "an import's reading gives way; the thread that plans and holds the write lock does not",
  () =>
    withTempDir(async (folder) => {
      const file = join(folder, "extract.csv");
      await makeRegister(join(folder, "data"));
      await writeFile(file, csv(rows(60_000)));
      const args = [main, "teachers", "import", file, "--data", join(folder, "data")];
      const child = spawn(process.execPath, args, { stdio: "ignore" });
      const ended = new Promise<void>((done) => child.once("exit", () => done()));
      let seen: (number | undefined)[] = [];
      while (child.exitCode === null && child.signalCode === null && seen.length === 0) {
        const threads = nicenessOf(child.pid ?? 0);
        const workers = threads.filter(({ name }) => name === "Worker").map(({ nice }) => nice);
        if (workers.includes(lowest)) seen = [threads.find(({ id }) => id === child.pid)?.nice, ...workers];
        await sleep(1);
      }
      child.kill();
      await ended;
      expect(seen).toEqual([getPriority(), lowest]);
    }),
);
