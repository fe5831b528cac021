import { isMainThread, workerData } from "node:worker_threads";

const workerRoles: Readonly<Record<string, (data: object) => Promise<void>>> = {
  signer: async (data) => (await import("../src/signing/threads.ts")).runSignerThread(data),
  "workbook-watch": async () => (await import("./register/workbook-process.ts")).watchWorkbookProcess(),
};

/** Every thread starts here. The main thread runs a command. A worker thread runs the role that its `workerData` names. */
if (isMainThread) {
  // Only the owner may read the files that a command writes: database, lock, report, backup.
  process.umask(0o077);
  // Without a listener, the service would end if the reader of its log closes stderr.
  process.stderr.on("error", () => {});
  // `tvs … | head` closes the pipe early. The command still runs to its end and returns its own exit code.
  let isClosed = false;
  process.stdout.on("error", (error: { code?: string }) => {
    isClosed ||= error.code === "EPIPE";
    if (!isClosed) process.exit(1);
  });
  const entry = new URL(import.meta.url);
  const [word, asked = ""] = process.argv.slice(2);
  // An import starts this program again with the word `workbook-process`, to read a workbook in another process.
  if (word === "workbook-process")
    await (await import("./register/workbook-process.ts")).runAsWorkbookProcess(asked, entry);
  const { runCommandLine } = await import("./commands.ts");
  process.exitCode = await runCommandLine(process.argv.slice(2), entry);
} else {
  const { role, ...data } = workerData as { role: string };
  const run = workerRoles[role];
  if (run === undefined) throw new Error(`unknown worker role ${role}`);
  await run(data);
}
