import { isMainThread, workerData } from "node:worker_threads";

const workerRoles: Readonly<Record<string, (data: object) => Promise<void>>> = {
  signer: async (data) => (await import("../src/signing/threads.ts")).runSigner(data),
  "workbook-watch": async () => (await import("./register/workbook-process.ts")).runWorkbookWatch(),
};

/** The only entry: the main thread runs a command, a worker its loop. The rest is loaded when needed: a fast start. */
if (isMainThread) {
  // Whatever is written here (the database, its lock, reports, backups) is for its owner alone.
  process.umask(0o077);
  // A log that nobody reads any more must not end the service.
  process.stderr.on("error", () => {});
  // `tvs … | head` closes the pipe early; that is no fault, and no verdict either: the command goes on to its own code.
  let isClosed = false;
  process.stdout.on("error", (error: { code?: string }) => {
    isClosed ||= error.code === "EPIPE";
    if (!isClosed) process.exit(1);
  });
  const entry = new URL(import.meta.url);
  const [word, asked = ""] = process.argv.slice(2);
  // Not a command: this program as it reads a workbook for another process of it.
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
