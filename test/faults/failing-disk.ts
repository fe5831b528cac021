/** A disk that fails at the n-th write of an act: `failing-disk.c`, put before the C library of a process of the tests. */
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
/** Whether a failing disk can be had here. */
export const canFail = compiler !== null;
const preloaded = process.env.LD_PRELOAD ?? "";
/** Whether this process has one. */
export const isFailing = preloaded.endsWith("failing-disk.so");

/** Compiles it, for processes whose LD_PRELOAD names it; gone when `act` has ended. */
function withFailingDisk<T>(act: (library: string) => Promise<T>): Promise<T> {
  return withTempDir(async (folder) => {
    const library = join(folder, "failing-disk.so");
    const source = join(import.meta.dir, "failing-disk.c");
    const words = [compiler ?? "", "-O1", "-shared", "-fPIC", "-o", library, source];
    const { exitCode, stderr } = Bun.spawnSync(words);
    if (exitCode !== 0) throw new Error(String(stderr));
    return act(library);
  });
}

/** Runs the tests of a file again, in a process that has one. @returns what that said, when one of them failed */
export function failuresOf(file: string): Promise<string> {
  return withFailingDisk(async (LD_PRELOAD) => {
    const child = Bun.spawn([process.execPath, "test", "--timeout=7200000", file], {
      env: { ...process.env, LD_PRELOAD },
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

/** From here on what is written below a folder fails from the n-th write on, or that one; of a disk that can. */
export function failAt(folder: string, at: number, { errno, lasts }: DiskFault): void {
  if (!isFailing) return;
  library ??= open();
  library.disk_arm(Buffer.from(`${realpathSync(folder)}\0`), at, errno, Number(lasts), 0);
}

/** From here on each write below a folder takes so long. */
export function slowDown(folder: string, slowMs: number): void {
  library ??= open();
  library.disk_arm(Buffer.from(`${realpathSync(folder)}\0`), 0, 0, 0, slowMs * 1_000);
}

/** The disk is well again. @returns how many writes there were since it began to fail */
export function mend(): number {
  const writes = library?.disk_count() ?? 0;
  library?.disk_arm(Buffer.from("\0"), 0, 0, 0, 0);
  return writes;
}
