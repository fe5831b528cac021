import { leafHash } from "../../src/domain/evidence/tree.ts";
import { until } from "../harness/eventually.ts";
import type { Bench } from "./bench.ts";
import { measureBesideEmpty } from "./beside-empty.ts";
import { planFor, registerSizeFor, type ServedRegister, serveRegister } from "./register.ts";
import { withCleanup } from "./setup.ts";

const question =
  "What does an answer of the evidence log cost from memory, beside one in which nothing is done?";
const api = "/v1/inter-agency";
const leaves = 100;
/** A checkpoint is signed every half minute. */
const patienceMs = 60_000;

/** The newest checkpoint, and proofs that somebody has asked for before. An earlier release may have no log. */
export const logBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const [own] = options.programs;
    const served = await serveRegister(own, { teachers: registerSizeFor(options), cleanup });
    const hashes = await attest(served);
    const last = hashes.at(-1);
    await until(async () => (await fetch(`${served.url}${api}/log/inclusion/${last}`)).ok, patienceMs);
    const ask = (name: string, paths: readonly string[]) => ({
      name,
      plan: { ...planFor(served), kind: "document" as const, paths },
      isEarlier: false,
    });
    const asked = [
      ask("checkpoint", [`${api}/log/checkpoint`]),
      ask(
        `inclusion proof, one of ${leaves}`,
        hashes.map((hash) => `${api}/log/inclusion/${hash}`),
      ),
      ask("consistency proof", [`${api}/log/consistency?from=1&to=${leaves}`]),
    ];
    await measureBesideEmpty(options, { question, asked, cleanup });
  });

/** Has a batch attested. @returns the hashes of its leaves */
async function attest({ url, apiKey }: ServedRegister): Promise<string[]> {
  const items = Array.from({ length: leaves }, (_, tId) => ({
    identifier: { tId },
    purpose: "GENERAL_PUBLIC_VERIFICATION",
  }));
  const response = await fetch(`${url}${api}/batch`, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ items }),
  });
  const { results } = (await response.json()) as { results: { signature: string }[] };
  return results.map(({ signature }) => Buffer.from(leafHash(signature)).toString("hex"));
}
