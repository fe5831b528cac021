/**
 * Says every ten seconds how many tests are done: `--only-failures` prints nothing while all goes well, and minutes
 * of silence look like a hang. The launcher loads it before the tests.
 */
import { afterEach } from "bun:test";

const everyMs = 10_000;
const startedAt = performance.now();
let done = 0;

afterEach(() => {
  done++;
});

setInterval(() => {
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  process.stderr.write(`${done} tests done, ${seconds} s\n`);
}, everyMs).unref();
