import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";

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

/** Resident memory of a process now, and the most that it ever had, in MB. */
export function memoryMb(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const field = (name: string) =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1024) / 1e6;
  return { now: field("VmRSS"), peak: field("VmHWM") };
}

type Rates = { readonly oneCore: number; readonly allCores: number };
/** RSA-2048 operations a second that this machine's OpenSSL does now. */
export type MachineLimit = { readonly sign: Rates; readonly verify: Rates };

/** @returns null where openssl is not installed */
export function measureLimit(): MachineLimit | null {
  if (Bun.which("openssl") === null) return null;
  const one = opensslSpeed([]);
  const all = opensslSpeed(["-multi", String(cores)]);
  return {
    sign: { oneCore: one.sign, allCores: all.sign },
    verify: { oneCore: one.verify, allCores: all.verify },
  };
}

function opensslSpeed(more: readonly string[]): { sign: number; verify: number } {
  const words = ["openssl", "speed", "-mr", "-seconds", "1", ...more, "rsa2048"];
  const { stdout } = Bun.spawnSync(words, { stderr: "ignore" });
  // `+F2:number:bits:sign:verify`, in seconds each or in operations a second, depending on the version.
  const [, , bits, ...times] = /^\+F2:.*$/m.exec(stdout.toString())?.[0].split(":") ?? [];
  const [sign = Number.NaN, verify = Number.NaN] = times
    .map(Number)
    .map((value) => (value < 1 ? 1 / value : value));
  if (bits !== "2048" || !(sign > 0) || !(verify > 0))
    throw new Error("openssl speed printed something unknown");
  return { sign, verify };
}
