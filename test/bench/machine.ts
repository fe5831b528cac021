import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import type { Figures } from "./figures.ts";

/** The kernel counts processor time in hundredths of a second, whatever the machine. */
const ticksPerSecond = 100;

export const cores = cpus().length;

/** One line that names the machine and says how busy it was before. */
export function describeMachine(): string {
  const model = cpus()[0]?.model.trim() ?? "unknown processor";
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
  const openssl = Bun.which("openssl") === null ? "no OpenSSL" : said(["openssl", "version"], /^OpenSSL \S+/);
  const node = Bun.which("node") === null ? "no Node" : `Node ${said(["node", "--version"], /[\d.]+/)}`;
  const load = loadavg()[0]?.toFixed(1) ?? "unknown";
  return (
    `${model}, ${cores} cores, ${memory}, Linux ${release()}, ${openssl}, Bun ${Bun.version}, ${node}; ` +
    `load average ${load}`
  );
}

function said(words: string[], pattern: RegExp): string {
  return pattern.exec(Bun.spawnSync(words, { stderr: "ignore" }).stdout.toString())?.[0] ?? "unknown";
}

/** Processor time that all threads of a process have used, in seconds. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field is the program's name in parentheses and may hold anything; utime and stime are 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

export type Memory = {
  /** Resident now: what the process has mapped and is in memory, shared pages in full. */
  readonly rss: number;
  /** Its proportional share now: pages that others have mapped too count in part. */
  readonly pss: number;
  /** The most that was ever resident. */
  readonly peakRss: number;
};

/** Memory of a process, all its threads included, in MB of a million bytes. */
export function memoryMb(pid: number): Memory {
  const field = (file: string, name: string) => {
    const text = readFileSync(`/proc/${pid}/${file}`, "utf8");
    return (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) * 1024) / 1e6;
  };
  return {
    rss: field("status", "VmRSS"),
    pss: field("smaps_rollup", "Pss"),
    peakRss: field("status", "VmHWM"),
  };
}

type Rates = { readonly oneCore: number; readonly allCores: number };

/** What this machine's OpenSSL does now with RSA-2048. */
export type MachineLimit = {
  /** Signatures a second, of all cores by the clock: what somebody else takes of them is missing. */
  readonly sign: Rates;
  /** Verifications a second, likewise. */
  readonly verify: Rates;
  /** `S`: processor time of a signature while the other cores do not sign, in seconds. */
  readonly alone: number;
  /** `L`: processor time of a signature while all cores sign, in seconds. */
  readonly together: number;
};

/** Measures it anew, in about six seconds. @returns null where openssl is not installed */
async function measureLimit(): Promise<MachineLimit | null> {
  if (Bun.which("openssl") === null) return null;
  const one = await opensslSpeed([]);
  // With -multi it divides by the clock, otherwise by processor time, which others on this machine do not change.
  const all = await opensslSpeed(["-multi", String(cores)]);
  const each = await Promise.all(Array.from({ length: cores }, () => opensslSpeed([])));
  return {
    sign: { oneCore: one.sign, allCores: all.sign },
    verify: { oneCore: one.verify, allCores: all.verify },
    alone: 1 / one.sign,
    together: cores / each.reduce((sum, { sign }) => sum + sign, 0),
  };
}

/** Measures the limit for a round of a bench, and adds it to the table that all benches have in common. */
export async function measureLimitFor(figures: Figures): Promise<MachineLimit | null> {
  const limit = await measureLimit();
  const table = figures.about("What is the machine's limit?");
  if (limit === null) {
    table.note("openssl is not installed: nothing is measured in signatures.");
    return null;
  }
  const name = "one RSA-2048 signature by OpenSSL";
  table.add(`S: ${name}, alone, processor time`, { unit: "µs" }, limit.alone * 1e6);
  table.add(`L: ${name}, all ${cores} cores signing, processor time`, { unit: "µs" }, limit.together * 1e6);
  const { oneCore, allCores } = limit.sign;
  table.add("openssl speed rsa2048, one core", { unit: "signatures/s" }, oneCore);
  table.add(`openssl speed -multi ${cores} rsa2048, by the clock`, { unit: "signatures/s" }, allCores);
  table.add(
    `${cores} cores ÷ -multi: L, when nobody else uses them`,
    { unit: "µs" },
    (cores / allCores) * 1e6,
  );
  return limit;
}

type Speed = { readonly sign: number; readonly verify: number };

/** Where others take the cores for a second, a process may end that has not signed at all. */
const attempts = 3;

async function opensslSpeed(more: readonly string[]): Promise<Speed> {
  const words = ["openssl", "speed", "-mr", "-seconds", "1", ...more, "rsa2048"];
  let said = "";
  for (let attempt = 0; attempt < attempts; attempt++) {
    said = await new Response(Bun.spawn(words, { stderr: "ignore" }).stdout).text();
    const speed = readSpeed(said);
    if (speed !== null) return speed;
  }
  throw new Error(`openssl speed printed something unknown: ${said}`);
}

/**
 * RSA-2048 operations a second, in what `openssl speed -mr` prints: `+F2:number:bits:sign:verify`, in seconds each or
 * in operations a second, depending on the version.
 */
export function readSpeed(said: string): Speed | null {
  const [, , bits, ...times] = /^\+F2:.*$/m.exec(said)?.[0].split(":") ?? [];
  const [sign = Number.NaN, verify = Number.NaN] = times
    .map(Number)
    .map((value) => (value < 1 ? 1 / value : value));
  const isGood = bits === "2048" && [sign, verify].every((rate) => rate > 0 && Number.isFinite(rate));
  return isGood ? { sign, verify } : null;
}
