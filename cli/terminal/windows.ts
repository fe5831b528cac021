/** What Windows does otherwise than the systems this program was made for, told to who runs it there. */

import { dirname } from "node:path";
import type { Config } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";

export const isWindows = process.platform === "win32";

/** The signals that end a service gently: Windows knows no SIGTERM, and tells of a closed window and of Ctrl-Break. */
export const endSignals: readonly NodeJS.Signals[] = isWindows
  ? ["SIGINT", "SIGBREAK", "SIGHUP"]
  : ["SIGTERM", "SIGINT"];

/** What keeps other users out of a folder, where file modes do not. */
export function accessAdvice({ masterKeyFile }: Pick<Config, "masterKeyFile">): string {
  const folder = dirname(masterKeyFile);
  return `icacls "${folder}" /inheritance:r /grant:r "%USERNAME%:(OI)(CI)F"`;
}

/** What a service on Windows cannot do, a sentence each. */
export function limitsOnWindows(config: Pick<Config, "masterKeyFile">): readonly string[] {
  return [
    "Windows keeps other users out by access lists, which this program does not set; so that nobody else reads the " +
      `master key: ${accessAdvice(config)}`,
    "only Ctrl-C, Ctrl-Break and closing the window end the service gently; Task Manager and taskkill /F end it at " +
      "once, which loses nothing that was answered, but breaks off calls in flight",
  ];
}

/** @throws TvsError REFUSED on Windows, where the database driver keeps the restored copy open, or crashes */
export function refuseRestore(): void {
  const why =
    "a backup cannot be restored on Windows: restore it on Linux or macOS, and copy the folder here";
  if (isWindows) throw new TvsError("REFUSED", why);
}
