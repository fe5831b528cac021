import type { Service } from "../harness/program.ts";

/** The words that make a service tell its counters on a port of its own. */
export const adminWords = ["--admin-port", "0"] as const;

/** The counters that the service tells now, by name and, where they have labels, those. */
export async function scrape({ stdout }: Service): Promise<Record<string, number>> {
  const origin = /^console (http:\/\/[^/]+)\//m.exec(stdout())?.[1];
  if (origin === undefined) throw new Error("the service did not say where its console is");
  const response = await fetch(`${origin}/metrics`);
  if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
  return readCounters(await response.text());
}

/** The samples of Prometheus text. */
export function readCounters(text: string): Record<string, number> {
  const samples = [...text.matchAll(/^(\w+(?:\{.*\})?) ([-+.\deE]+)$/gm)];
  return Object.fromEntries(samples.map(([, name = "", value]) => [name, Number(value)]));
}
