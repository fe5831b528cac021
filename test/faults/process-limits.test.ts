import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { eventually, until } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { childEnvironment, patienceMs, programWords, startService } from "../harness/program.ts";
import { numbers } from "../harness/random.ts";
import { countOf, seedOf, tell } from "../harness/trial.ts";
import { wellDone, wrongAfter } from "./act-tries.ts";
import { issuer, makeActs } from "./acts.ts";

/** What processes do that get too few descriptors or too little memory; so many tries of each command, drawn by TVS_SEED. */
const tries = countOf("TVS_KILLS", 1);
const seed = seedOf();
const canLimit = Bun.which("prlimit") !== null;
const tried = /^(teachers import|keys rotate|log epoch|backup|restore|upgrade|roster)/;
const limits = {
  nofile: (draw: (below: number) => number) => 12 + draw(20),
  // From what is too little to start with, to what is enough.
  data: (draw: (below: number) => number) => (150 + draw(250)) * 1_000_000,
} as const;

test.skipIf(!canLimit)(
  "a command that runs out of descriptors or memory leaves nothing half done",
  () =>
    withTempDir(async (folder) => {
      const acts = (await makeActs(folder)).filter(({ name }) => tried.test(name));
      const [draw, wrong] = [numbers(seed), [] as string[]];
      for (const act of acts) {
        const { done } = await wellDone(folder, act);
        for (const [kind, drawn] of Object.entries(limits).flatMap((one) => Array(tries).fill(one))) {
          const limit = `--${kind}=${drawn(draw)}`;
          const found = await wrongAfter({ folder, act, done }, async (dataDir) => {
            const words = ["prlimit", limit, "--core=0", ...programWords, ...act.words];
            const env = childEnvironment({ ...issuer, TVS_DATA: dataDir });
            const child = Bun.spawn(words, { stdio: ["ignore", "ignore", "pipe"], env });
            return { stderr: await new Response(child.stderr).text(), code: await child.exited };
          });
          wrong.push(...found.map((says) => `${act.name}, ${limit}: ${says}`));
        }
      }
      const limited = acts.length * Object.keys(limits).length * tries;
      tell("faults-limits", { tried: { "limited commands": limited }, wrong: wrong.length });
      expect(wrong, `TVS_SEED=${seed} npm test -- test/faults/process-limits.test.ts`).toEqual([]);
    }),
  3_600_000,
);

test.skipIf(!canLimit || process.platform !== "linux")(
  "a service that has no descriptors left answers again when there are some",
  () =>
    withTempDir(async (dataDir) => {
      const { url, pid, stop } = await startService({ dataDir, args: ["--threads", "1"] });
      const limit = (soft: number | "unlimited") =>
        Bun.spawnSync(["prlimit", "--pid", String(pid), `--nofile=${soft}:`]).exitCode;
      const before = readdirSync(`/proc/${pid}/fd`).length;
      const ask = () =>
        fetch(`${url}/v1/inter-agency/health`, {
          headers: { connection: "close" },
          signal: AbortSignal.timeout(2_000),
        })
          .then(({ status }) => status)
          .catch(() => 0);
      await until(async () => (await ask()) === 200);
      expect(limit(before + 2)).toBe(0);
      const sockets = Array.from({ length: 50 }, () => connect(Number(new URL(url).port), "127.0.0.1"));
      await Promise.allSettled(
        sockets.map((socket) => new Promise((done) => socket.once("connect", done).once("error", done))),
      );
      const meanwhile = await ask();
      for (const socket of sockets) socket.destroy();
      expect(limit(1_000)).toBe(0);
      const freedAt = performance.now();
      const isBack = await eventually(async () => (await ask()) === 200);
      tell("faults-limits", {
        tried: { "services out of descriptors": 1 },
        wrong: Number(!isBack),
        healedMs: [performance.now() - freedAt],
      });
      expect([[0, 200, 503].includes(meanwhile), isBack]).toEqual([true, true]);
      expect(await stop()).toBe(0);
    }),
  patienceMs,
);
