/** Files and sockets of this process, as the operating system says it. */

import { readdirSync, readFileSync } from "node:fs";

/** How many are open; null where the operating system does not say. */
export const readOpenFiles = () => ifLinux(() => readdirSync("/proc/self/fd").length);

/** How many may be open; null where the operating system does not say. */
export const readMaxFiles = () =>
  ifLinux(() => {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? null : Number(soft);
  });

function ifLinux<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
