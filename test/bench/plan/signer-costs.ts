/** What a signature costs while all cores sign, and what it costs more when another thread makes it. */
import { Worker } from "node:worker_threads";
import { newSigningBoards } from "../../../src/signing/board-memory.ts";
import { aRing } from "../../harness/keys.ts";
import type { Order, Reply, ThreadData } from "../../signing/serving-thread.ts";
import { quantile } from "../figures.ts";
import { cores } from "../machine.ts";

const entry = new URL("../../signing/serving-thread.ts", import.meta.url);
const ringNames = ["active", "pending"] as const;
const signatures = 4_000;
const rounds = 5;
/** A JWS signing input is about so long. */
const input = "A".repeat(900);

/** Threads that sign, on one board. */
async function startThreads(): Promise<Worker[]> {
  const boards = newSigningBoards(cores);
  return Promise.all(
    Array.from({ length: cores }, async (_, thread) => {
      const worker = new Worker(entry, {
        workerData: { boards, thread, ring: ringNames } satisfies ThreadData,
      });
      await new Promise<void>((resolve, reject) => {
        worker.once("error", reject);
        worker.on("message", (reply: Reply) => reply === "ready" && resolve());
      });
      return worker;
    }),
  );
}

/** Has threads sign all of it, in calls of single signatures. @returns processor time of each */
async function cpuOf(threads: readonly Worker[], kid: string): Promise<number> {
  const before = process.cpuUsage();
  const each = Math.floor(signatures / threads.length);
  await Promise.all(
    threads.map(
      (worker) =>
        new Promise<void>((resolve) => {
          let left = each;
          const count = () => {
            if (--left > 0) return;
            worker.off("message", count);
            resolve();
          };
          worker.on("message", count);
          for (let id = 0; id < each; id++)
            worker.postMessage({ id, kid, inputs: [input], bulk: false } satisfies Order);
        }),
    ),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6 / (each * threads.length);
}

/** All threads have their own to sign; and then one has all of it, so that the others sign for it. */
export async function measureSigner(): Promise<{ signature: number; handOver: number }> {
  const threads = await startThreads();
  const kid = (await aRing(...ringNames)).active.kid;
  await cpuOf(threads, kid);
  const [own, shared]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    own.push(await cpuOf(threads, kid));
    shared.push(await cpuOf(threads.slice(0, 1), kid));
  }
  await Promise.all(threads.map((worker) => worker.terminate()));
  const signature = quantile(own, 0.5);
  // Of what one thread has to sign, the others make their part.
  const part = (cores - 1) / cores;
  return { signature, handOver: part === 0 ? 0 : Math.max(0, (quantile(shared, 0.5) - signature) / part) };
}
