import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";

/** The kernel counts processor time in hundredths of a second, whatever the machine. */
const ticksPerSecond = 100;

export const cores = cpus().length;

/** One line that names the machine and says how busy it was before. */
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

/** Processor time that all threads of a process have used, in seconds. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field is the program's name in parentheses and may hold anything; utime and stime are 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** What this machine's OpenSSL signs now with RSA-2048. */
export type MachineLimit = {
  /** Signatures a second of all cores, by the clock: what somebody else takes of them is missing. */
  readonly perSecond: number;
  /** Processor time of a signature while the other cores do not sign, in seconds. */
  readonly alone: number;
};

/** Measures it in about two seconds. @returns null where openssl is not installed */
export async function measureLimit(): Promise<MachineLimit | null> {
  if (Bun.which("openssl") === null) return null;
  // With -multi it divides by the clock, otherwise by processor time, which others on this machine do not change.
  return { alone: 1 / (await opensslSpeed([])), perSecond: await opensslSpeed(["-multi", String(cores)]) };
}

/** Where others take the cores for a second, a process may end that has not signed at all. */
const attempts = 3;

/** @returns signatures a second */
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
 * RSA-2048 signatures a second in what `openssl speed -mr` prints: `+F2:number:bits:sign:verify`, in seconds each or in
 * operations a second, depending on the version.
 */
export function readSpeed(printed: string): number | null {
  const [, , bits, sign] = /^\+F2:.*$/m.exec(printed)?.[0].split(":") ?? [];
  const value = Number(sign);
  const rate = value < 1 ? 1 / value : value;
  return bits === "2048" && rate > 0 && Number.isFinite(rate) ? rate : null;
}
