// Compiles the executable for one platform, this machine's unless told otherwise: `npm run build`.

import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { BuildError, build, hostTarget, PROJECT, readTarget } from "./target.ts";

function readOptions(): { outfile: string; target: string } {
  const options = {
    outfile: { type: "string", default: join(PROJECT, "dist/tvs") },
    target: { type: "string", default: hostTarget() },
  } as const;
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    throw new BuildError(error instanceof Error ? error.message : String(error));
  }
}

async function main(): Promise<void> {
  const options = readOptions();
  const target = readTarget(options.target);
  const outfile = resolve(options.outfile);
  const startedMs = performance.now();
  await build(target, outfile);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const megabytes = ((await stat(outfile)).size / 1e6).toFixed(1);
  console.log(`${outfile}: ${megabytes} MB for ${target.name}, built in ${seconds} s`);
}

try {
  await main();
} catch (error) {
  // A failed bundle carries each cause, with its place in the source, in `errors`.
  const causes = error instanceof AggregateError ? error.errors : [error];
  for (const cause of causes) console.error(cause instanceof BuildError ? `build: ${cause.message}` : cause);
  process.exitCode = 1;
}
