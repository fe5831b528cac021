import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";

/** The unit of processor time in `/proc/PID/stat` is a hundredth of a second on every machine (USER_HZ). */
const ticksPerSecond = 100;

export const cores = cpus().length;

/** Describes the machine and its load average in one line. */
export function describeMachine(): string {
  const model = cpus()[0]?.model.trim() ?? "unknown processor";
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
  const versions = [
    ["openssl", "version"],
    ["node", "--version"],
  ].map((words) => (Bun.which(words[0] ?? "") === null ? `no ${words[0]}` : said(words)));
  return (
    `${model}, ${cores} cores, ${memory}, Linux ${release()}, Bun ${Bun.version}, ${versions.join(", ")}; ` +
    `load average ${loadavg()[0]?.toFixed(1)}`
  );
}

function said(words: string[]): string {
  const { stdout } = Bun.spawnSync(words, { stderr: "ignore" });
  return /\S*\s?v?[\d.]+/.exec(stdout.toString())?.[0] ?? "unknown";
}

/** Reads the processor time of all threads of a process, in seconds. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // utime and stime are fields 14 and 15. Field 2 is the program's name in parentheses, which may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** OpenSSL's speed of RSA-2048 signatures on this machine at this time. */
export type MachineLimit = {
  /** Signatures per second on all cores; fewer if other programs use the cores. */
  readonly perSecond: number;
  /** Processor time of one signature while the other cores do not sign, in seconds. */
  readonly alone: number;
};

/** Measures OpenSSL's speed in about two seconds. @returns null if openssl is not installed */
export async function measureLimit(): Promise<MachineLimit | null> {
  if (Bun.which("openssl") === null) return null;
  // With -multi openssl divides by elapsed time, otherwise by processor time, which other programs hardly change.
  return { alone: 1 / (await opensslSpeed([])), perSecond: await opensslSpeed(["-multi", String(cores)]) };
}

/** On a busy machine a process of `openssl speed` may have made no signature in its second, so it is tried again. */
const attempts = 3;

/** Runs `openssl speed`. @returns signatures per second */
async function opensslSpeed(more: readonly string[]): Promise<number> {
  const words = ["openssl", "speed", "-mr", "-seconds", "1", ...more, "rsa2048"];
  let printed = "";
  for (let attempt = 0; attempt < attempts; attempt++) {
    printed = await new Response(Bun.spawn(words, { stderr: "ignore" }).stdout).text();
    const rate = readSpeed(printed);
    if (rate !== null) return rate;
  }
  throw new Error(`openssl speed printed something unknown: ${printed}`);
}

/**
 * Reads RSA-2048 signatures per second from the output of `openssl speed -mr`: `+F2:number:bits:sign:verify`, where
 * `sign` is seconds per signature or signatures per second, depending on OpenSSL's version.
 */
export function readSpeed(printed: string): number | null {
  const [, , bits, sign] = /^\+F2:.*$/m.exec(printed)?.[0].split(":") ?? [];
  const value = Number(sign);
  const rate = value < 1 ? 1 / value : value;
  return bits === "2048" && rate > 0 && Number.isFinite(rate) ? rate : null;
}
