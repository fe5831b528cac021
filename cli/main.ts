import { isMainThread, workerData } from "node:worker_threads";

const workerRoles: Readonly<Record<string, (data: object) => Promise<void>>> = {
  signer: async (data) => (await import("../src/signing/threads.ts")).runSigner(data),
  "workbook-watch": async () => (await import("./register/workbook-process.ts")).runWorkbookWatch(),
};

/** The only entry: the main thread runs a command, a worker its loop. Other modules load when needed, for a fast start. */
if (isMainThread) {
  // Every file that a command writes (database, lock, report, backup) is readable by its owner alone.
  process.umask(0o077);
  // The service runs on after the reader of its log has gone.
  process.stderr.on("error", () => {});
  // `tvs … | head` closes the pipe early. The command then runs on to its own exit code.
  let isClosed = false;
  process.stdout.on("error", (error: { code?: string }) => {
    isClosed ||= error.code === "EPIPE";
    if (!isClosed) process.exit(1);
  });
  const entry = new URL(import.meta.url);
  const [word, asked = ""] = process.argv.slice(2);
  // A `tvs` process starts this one to read a workbook.
  if (word === "workbook-process")
    await (await import("./register/workbook-process.ts")).runWorkbookProcess(asked, entry);
  const { runCommandLine } = await import("./commands.ts");
  process.exitCode = await runCommandLine(process.argv.slice(2), entry);
} else {
  const { role, ...data } = workerData as { role: string };
  const run = workerRoles[role];
  if (run === undefined) throw new Error(`unknown worker role ${role}`);
  await run(data);
}
