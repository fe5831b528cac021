import { readdirSync, readFileSync } from "node:fs";

/** What this process has used, of which reading costs next to nothing. */
export type ProcessUse = { readonly cpuSeconds: number; readonly residentBytes: number };

export function readProcessUse(): ProcessUse {
  const { user, system } = process.cpuUsage();
  return { cpuSeconds: (user + system) / 1e6, residentBytes: process.memoryUsage.rss() };
}

/** Files and sockets that are open, and how many may be; null where the operating system does not say. */
export function readDescriptors(): { open: number | null; max: number | null } {
  return { open: attempt(() => readdirSync("/proc/self/fd").length), max: attempt(readMaxFds) };
}

function readMaxFds(): number | null {
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return soft === undefined ? null : Number(soft);
}

/** Only Linux has these files. */
function attempt(read: () => number | null): number | null {
  try {
    return read();
  } catch {
    return null;
  }
}
