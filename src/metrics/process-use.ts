/** What this process uses, as the operating system says it. */

import { readdirSync, readFileSync } from "node:fs";

/** Reading it costs next to nothing. */
export function readProcessUse(): { cpuSeconds: number; residentBytes: number } {
  const { user, system } = process.cpuUsage();
  return { cpuSeconds: (user + system) / 1e6, residentBytes: process.memoryUsage.rss() };
}

/** Files and sockets that are open; null where the operating system does not say. */
export function readOpenFiles(): number | null {
  return attempt(() => readdirSync("/proc/self/fd").length);
}

/** How many files and sockets may be open; null where the operating system does not say. */
export function readMaxFiles(): number | null {
  const limits = attempt(() => readFileSync("/proc/self/limits", "utf8")) ?? "";
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? null : Number(soft);
}

/** What was read, or null: only Linux has these files. */
function attempt<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
