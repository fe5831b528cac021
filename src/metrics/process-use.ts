/** Counts the open files and sockets of this process. */

import { readdirSync, readFileSync } from "node:fs";

/** The number of open files and sockets; null on an operating system other than Linux. */
export const countOpenFiles = () => ifLinux(() => readdirSync("/proc/self/fd").length);

/** The most files and sockets that may be open; null on an operating system other than Linux. */
export const readOpenFileLimit = () =>
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
