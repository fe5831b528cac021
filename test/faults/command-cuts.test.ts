import { expect, test } from "bun:test";
import { realpathSync } from "node:fs";
import { withTempDir } from "../harness/folder.ts";
import { childEnvironment, programWords } from "../harness/program.ts";
import { numbers } from "../harness/random.ts";
import { countOf, seedOf } from "../harness/trial.ts";
import { wellDone, wrongAfter } from "./act-tries.ts";
import { issuer, makeActs } from "./acts.ts";
import { canFail, failuresOf, isFailing } from "./failing-disk.ts";

/**
 * Every command that changes something is killed at one of its writes, just before it, and given again. So many writes
 * of each are drawn by TVS_SEED; TVS_KILLS=1000 is all of them.
 */
const cuts = countOf("TVS_KILLS", 1);
const seed = seedOf();

if (!isFailing)
  test.skipIf(!canFail)(
    "a command that is killed at any of its writes is done when it is given again",
    async () => expect(await failuresOf(import.meta.path)).toBe(""),
    7_200_000,
  );

if (isFailing)
  test("the cuts", () =>
    withTempDir(async (folder) => {
      const acts = await makeActs(folder);
      const draw = numbers(seed);
      const wrong: string[] = [];
      for (const act of acts) {
        const { writes, done } = await wellDone(folder, act);
        const all = Array.from({ length: writes }, (_, n) => n + 1);
        for (let n = 0; n < Math.min(cuts, writes); n++) {
          const [at = 1] = all.splice(draw(all.length), 1);
          const found = await wrongAfter({ folder, act, done }, async (dataDir) => {
            const killed = { DISK_FOLDER: realpathSync(folder), DISK_KILLS_AT: String(at) };
            const child = Bun.spawn([...programWords, ...act.words], {
              stdio: ["ignore", "ignore", "pipe"],
              env: childEnvironment({ ...issuer, ...killed, TVS_DATA: dataDir }),
            });
            return { stderr: await new Response(child.stderr).text(), code: await child.exited };
          });
          wrong.push(...found.map((says) => `${act.name}, killed at write ${at} of ${writes}: ${says}`));
        }
      }
      expect(
        wrong,
        `TVS_SEED=${seed} TVS_KILLS=${cuts} npm test -- test/faults/command-cuts.test.ts`,
      ).toEqual([]);
    }));
