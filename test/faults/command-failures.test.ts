import { expect, test } from "bun:test";
import { realpathSync } from "node:fs";
import { runTvs } from "../harness/command.ts";
import { withTempDir } from "../harness/folder.ts";
import { childEnvironment, programWords } from "../harness/program.ts";
import { seededNumbers } from "../harness/random.ts";
import { readSeed, readTryCount, reportTries } from "../harness/trial.ts";
import { type CommandExit, findBrokenPromises, runWithoutFault } from "./act-tries.ts";
import { type ChangingCommand, issuer, makeChangingCommands } from "./acts.ts";
import {
  canCompileFaults,
  diskFaults,
  endFaults,
  failuresOf,
  failWriteAt,
  isFailing,
} from "./failing-disk.ts";

/**
 * Kills each command that changes something just before one of its writes, or makes one of its writes fail. The command
 * must have done everything or nothing, and succeed when it is run again. TVS_SEED is the seed by which the writes are
 * chosen, TVS_KILLS their number for each command; 5000 tries all writes.
 */
const tries = readTryCount("TVS_KILLS", 3);
const seed = readSeed();

type Try = {
  readonly folder: string;
  readonly act: ChangingCommand;
  readonly at: number;
  readonly dataDir: string;
};

async function killedAt({ folder, act, at, dataDir }: Try): Promise<CommandExit> {
  const killed = { DISK_FOLDER: realpathSync(folder), DISK_KILLS_AT: String(at) };
  const child = Bun.spawn([...programWords, ...act.words], {
    stdio: ["ignore", "ignore", "pipe"],
    env: childEnvironment({ ...issuer, ...killed, TVS_DATA: dataDir }),
  });
  return { stderr: await new Response(child.stderr).text(), code: await child.exited };
}

/** The failures of a write, each with a pattern of the message that the command may print. */
const failures = [
  { name: "killed", says: /^/, meet: killedAt },
  ...diskFaults.map((fault) => ({
    name: fault.name,
    says: /(^|\n)tvs: (?!internal error)[^\n]+\n$/,
    async meet({ folder, act, at, dataDir }: Try): Promise<CommandExit> {
      failWriteAt(folder, at, fault);
      const ended = await runTvs(act.words, { dataDir, env: issuer });
      endFaults();
      return ended;
    },
  })),
];

if (!isFailing)
  test.skipIf(!canCompileFaults)(
    "a command that is killed, or whose disk fails, has done everything or nothing, and succeeds when it is run again",
    async () => expect(await failuresOf(import.meta.path)).toBe(""),
    7_200_000,
  );

if (isFailing)
  test("(run in a child process) each command is killed, or its disk fails, at some of its writes", () =>
    withTempDir(async (folder) => {
      const acts = await makeChangingCommands(folder);
      const draw = seededNumbers(seed);
      const wrong: string[] = [];
      for (const act of acts) {
        const { writes, done } = await runWithoutFault(folder, act);
        const places = Array.from({ length: writes }, (_, n) => n + 1);
        const killed = places.map((at) => ({ at, failure: failures[0] }));
        const failed = places.flatMap((at) => failures.slice(1).map((failure) => ({ at, failure })));
        // One try in three is a kill, although a disk has several ways to fail.
        for (let n = 0; n < Math.min(tries, killed.length + failed.length); n++) {
          const left = (n % 3 === 0 && killed.length > 0) || failed.length === 0 ? killed : failed;
          const [{ at, failure } = { at: 1, failure: failures[0] }] = left.splice(draw(left.length), 1);
          if (failure === undefined) throw new Error("there is no failure");
          reportTries(failure.meet === killedAt ? { kills: 1 } : { "failed writes": 1 });
          const what = `${act.name}, ${failure.name} at write ${at} of ${writes}`;
          const found = await findBrokenPromises({ folder, act, done }, async (dataDir) => {
            const ended = await failure.meet({ folder, act, at, dataDir });
            if (ended.code !== 0 && !failure.says.test(ended.stderr))
              wrong.push(`${what}: it said ${ended.stderr}`);
            return ended;
          });
          wrong.push(...found.map((says) => `${what}: ${says}`));
        }
      }
      const again = `TVS_SEED=${seed} TVS_KILLS=${tries} npm test -- test/faults/command-failures.test.ts`;
      expect(wrong, again).toEqual([]);
    }));
