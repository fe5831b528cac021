/** Makes the disk of a test's process fail at the n-th write: `failing-disk.c` is preloaded before the C library. */
import { dlopen } from "bun:ffi";
import { realpathSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { withTempDir } from "../harness/folder.ts";

const { ENOSPC, EIO, EROFS } = constants.errno;

/** The ways in which a disk fails. */
export const diskFaults = [
  { name: "full from then on", errno: ENOSPC, lasts: true },
  { name: "an error once", errno: EIO, lasts: false },
  { name: "full once", errno: ENOSPC, lasts: false },
  { name: "errors from then on", errno: EIO, lasts: true },
  { name: "read-only from then on", errno: EROFS, lasts: true },
] as const;

export type DiskFault = Pick<(typeof diskFaults)[number], "errno" | "lasts">;

const compiler = process.platform === "linux" ? Bun.which("cc") : null;
/** Whether this machine can compile `failing-disk.c`. */
export const canCompileFaults = compiler !== null;
const preloaded = process.env.LD_PRELOAD ?? "";
/** Whether `failing-disk.c` is preloaded in this process. */
export const isFailing = preloaded.endsWith("failing-disk.so");

/** Runs a test file in a child process with a failing disk. @returns its output if a test failed, else "" */
export function failuresOf(file: string): Promise<string> {
  return withTempDir(async (folder) => {
    const library = join(folder, "failing-disk.so");
    const source = join(import.meta.dir, "failing-disk.c");
    const compiled = Bun.spawnSync([compiler ?? "", "-O1", "-shared", "-fPIC", "-o", library, source]);
    if (compiled.exitCode !== 0) throw new Error(String(compiled.stderr));
    const child = Bun.spawn([process.execPath, "test", "--timeout=7200000", file], {
      env: { ...process.env, LD_PRELOAD: library },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return (await child.exited) === 0 ? "" : said.join("\n");
  });
}

const open = () =>
  dlopen(preloaded, {
    disk_arm: { args: ["ptr", "i32", "i32", "i32", "i32"], returns: "void" },
    disk_count: { args: [], returns: "i32" },
  }).symbols;
let library: ReturnType<typeof open> | undefined;

/** Makes the `at`-th write below a folder fail, and with `lasts` all later ones; 0: none. The writes are counted. */
export function failWriteAt(folder: string, at: number, { errno, lasts }: DiskFault): void {
  if (!isFailing) return;
  library ??= open();
  library.disk_arm(Buffer.from(`${realpathSync(folder)}\0`), at, errno, Number(lasts), 0);
}

/** Makes each write below a folder slow. */
export function slowWrites(folder: string, slowMs: number): void {
  library ??= open();
  library.disk_arm(Buffer.from(`${realpathSync(folder)}\0`), 0, 0, 0, slowMs * 1_000);
}

/** Ends the faults. @returns the number of writes since the call that began them */
export function endFaults(): number {
  const writes = library?.disk_count() ?? 0;
  library?.disk_arm(Buffer.from("\0"), 0, 0, 0, 0);
  return writes;
}
