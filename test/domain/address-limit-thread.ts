/** A thread of address-limit.test.ts: takes from a limit that other threads take from too, as fast as it can. */

import { parentPort, workerData } from "node:worker_threads";
import { createAddressLimit } from "../../src/domain/address-limit.ts";

type Task = {
  readonly minute: number;
  readonly addresses: readonly (readonly string[])[];
  readonly perMinute: number;
};

/** How often each address is tried after it was refused first: others may have been in the middle of a call. */
const refusals = 100;

/** @returns how often each address was let in */
function take({ minute, addresses, perMinute }: Task): number[] {
  const clock = { now: () => minute * 60_000 };
  const { lookup } = createAddressLimit(() => perMinute, clock, workerData as SharedArrayBuffer);
  const allowed = addresses.map(() => 0);
  const refused = addresses.map(() => 0);
  while (refused.some((times) => times < refusals)) {
    for (const [at, blocks] of addresses.entries()) {
      const counts = lookup(blocks).allowed ? allowed : refused;
      counts[at] = (counts[at] ?? 0) + 1;
    }
  }
  return allowed;
}

parentPort?.on("message", (task: Task) => parentPort?.postMessage(take(task)));
parentPort?.postMessage("ready");
