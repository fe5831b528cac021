import { readdirSync, readFileSync } from "node:fs";

/** Counts this process's open files and sockets; null on an operating system other than Linux. */
export const countOpenFiles = () => ifLinux(() => readdirSync("/proc/self/fd").length);

/** Reads how many files and sockets this process may open; null on an operating system other than Linux. */
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
