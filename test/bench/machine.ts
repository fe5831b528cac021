import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";

/** The kernel counts processor time in hundredths of a second, whatever the machine. */
const ticksPerSecond = 100;

/** One line that names the machine and says how busy it was before. */
export function describeMachine(): string {
  const model = cpus()[0]?.model.trim() ?? "unknown processor";
  const load = loadavg()[0]?.toFixed(1) ?? "unknown";
  return `${model}, ${cpus().length} cores; load average before the run ${load}; Bun ${Bun.version}`;
}

/** Processor time that all threads of a process have used, in seconds. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field is the program's name in parentheses and may hold anything; utime and stime are 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

export type Signatures = { readonly single: number; readonly both: number };

/** RSA-2048 signatures a second that this machine's OpenSSL makes now, on one core and on two; null without it. */
export function measureSignatures(): Signatures | null {
  if (Bun.which("openssl") === null) return null;
  return { single: opensslSpeed([]), both: opensslSpeed(["-multi", "2"]) };
}

function opensslSpeed(more: readonly string[]): number {
  const words = ["openssl", "speed", "-mr", "-seconds", "1", ...more, "rsa2048"];
  const { stdout } = Bun.spawnSync(words, { stderr: "ignore" });
  // `+F2:number:bits:seconds a signature:seconds a verification`, or signatures a second from version 3.2 on.
  const [, , bits, sign] = /^\+F2:.*$/m.exec(stdout.toString())?.[0].split(":") ?? [];
  const value = Number(sign);
  if (bits !== "2048" || !(value > 0)) throw new Error("openssl speed printed something unknown");
  return value < 1 ? 1 / value : value;
}
