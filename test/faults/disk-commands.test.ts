import { expect, test } from "bun:test";
import { runTvs } from "../harness/command.ts";
import { withTempDir } from "../harness/folder.ts";
import { numbers } from "../harness/random.ts";
import { countOf, seedOf } from "../harness/trial.ts";
import { wellDone, wrongAfter } from "./act-tries.ts";
import { issuer, makeActs } from "./acts.ts";
import { canFail, diskFaults, failAt, failuresOf, isFailing, mend } from "./failing-disk.ts";

/**
 * Every command that changes something, while the disk fails at its first write, its second, and so on: it must have
 * done all of what it says, or nothing of it, and do it once the disk is well. So many of these tries for each command
 * are drawn by TVS_SEED; TVS_KILLS=5000 is all of them.
 */
const tries = countOf("TVS_KILLS", 2);
const seed = seedOf();

if (!isFailing)
  test.skipIf(!canFail)(
    "a command on a failing disk does all of what it says or nothing, and is done when it is given again",
    async () => expect(await failuresOf(import.meta.path)).toBe(""),
    7_200_000,
  );

if (isFailing)
  test("the tries", () =>
    withTempDir(async (folder) => {
      const acts = await makeActs(folder);
      const draw = numbers(seed);
      const wrong: string[] = [];
      for (const act of acts) {
        const { writes, done } = await wellDone(folder, act);
        const all = Array.from({ length: writes * diskFaults.length }, (_, n) => n);
        for (let n = 0; n < Math.min(tries, all.length); n++) {
          const [one = 0] = all.splice(draw(all.length), 1);
          const fault = diskFaults[one % diskFaults.length] ?? diskFaults[0];
          const at = 1 + Math.floor(one / diskFaults.length);
          const found = await wrongAfter({ folder, act, done }, async (dataDir) => {
            failAt(folder, at, fault);
            const ended = await runTvs(act.words, { dataDir, env: issuer });
            mend();
            const { code, stderr } = ended;
            if (code !== 0 && !/(^|\n)tvs: (?!internal error)[^\n]+\n$/.test(stderr))
              wrong.push(`${act.name}, ${fault.name} at write ${at} of ${writes}: it said ${stderr}`);
            return ended;
          });
          wrong.push(
            ...found.map((says) => `${act.name}, ${fault.name} at write ${at} of ${writes}: ${says}`),
          );
        }
      }
      expect(
        wrong,
        `TVS_SEED=${seed} TVS_KILLS=${tries} npm test -- test/faults/disk-commands.test.ts`,
      ).toEqual([]);
    }));
