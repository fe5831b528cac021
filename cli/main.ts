import { isMainThread, workerData } from "node:worker_threads";

/**
 * The only entry of the program: the main thread runs a command, a worker thread its loop. Everything else
 * is loaded when it is needed, so that `--help` starts as fast as the runtime does.
 */
if (isMainThread) {
  // Whatever is written here (the database, its lock, reports, backups) is for its owner alone.
  process.umask(0o077);
  // A log that nobody reads any more must not end the service.
  process.stderr.on("error", () => {});
  // `tvs … | head` closes the pipe early; that is no fault.
  process.stdout.on("error", (error: { code?: string }) => process.exit(error.code === "EPIPE" ? 0 : 1));
  const { runCommandLine } = await import("./commands.ts");
  process.exitCode = await runCommandLine(process.argv.slice(2), new URL(import.meta.url));
} else {
  const { role, file } = workerData as { role: string; file: string };
  if (role !== "store-writer") throw new Error(`unknown worker role ${role}`);
  const { runWriter } = await import("../src/store/writer.ts");
  await runWriter(file);
}
