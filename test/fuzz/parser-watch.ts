/** A thread that looks whether the parsers go on: one that never ends holds up whatever else could tell of it. */

import { writeSync } from "node:fs";
import process from "node:process";
import { workerData } from "node:worker_threads";

/** Ten looks at one input, a minute: nearly all take less than ten milliseconds. Looks, because a machine may sleep. */
const [lookMs, mostLooks] = [6_000, 10];

export type Watched = {
  /** How many inputs there were, and how long the newest is. */
  readonly counts: Int32Array;
  readonly bytes: Uint8Array;
  /** How it is run again. */
  readonly line: string;
};

const { counts, bytes, line } = workerData as Watched;
let [seen, looks] = [0, 0];

setInterval(() => {
  const count = Atomics.load(counts, 0);
  looks = count === seen ? looks + 1 : 0;
  seen = count;
  if (looks < mostLooks) return;
  const input = Buffer.from(bytes.slice(0, counts[1])).toString("base64");
  writeSync(2, `this input has no end; once more:\nTVS_INPUT=${input} ${line}\n`);
  process.kill(process.pid, "SIGKILL");
}, lookMs);
