/**
 * Measures the costs of the plan on this machine, in some five minutes on a quiet one, and writes them beside it:
 * a libSQL server with a small and a larger register, the signer, and real nodes under the load of the benchmark.
 *
 *     node_modules/.bin/bun test/bench/plan/measure.ts
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newMasterKey } from "../../../src/domain/secrets.ts";
import { withTempDir } from "../../harness/folder.ts";
import { runJson } from "../../harness/program.ts";
import { startServer } from "../../harness/sqld.ts";
import { createFigures } from "../figures.ts";
import { cores, describeMachine, measureLimitFor } from "../machine.ts";
import { type Cost, type Costs, costOf } from "./costs.ts";
import { type LoadedNodes, measureNodes } from "./node-costs.ts";
import { fill, lineThrough, type Measured, measureServer, type ServerCosts } from "./server-costs.ts";
import { measureSigner } from "./signer-costs.ts";

/** A smaller second one, as the first argument, shows that it runs. */
const largest = Number(process.argv[2] ?? 2_000_000);
const registers = [largest / 20, largest] as const;
const partnerId = "caller";

type Both = readonly [small: ServerCosts, large: ServerCosts];

function say(what: string): void {
  process.stderr.write(`${what} …\n`);
}

/** What a row costs more with each doubling of the register. */
function growth([small, large]: Both, name: "read" | "commit"): Cost & { doubling: number } {
  const [before, after] = [lineThrough(small[name], "server"), lineThrough(large[name], "server")];
  return { ...after, doubling: (after.row - before.row) / Math.log2(large.teachers / small.teachers) };
}

const median = (measured: Measured, what: "server") => measured[0]?.taken[what].median ?? 0;

type Findings = {
  readonly servers: Both;
  readonly bytes: { readonly teacher: number; readonly attestation: number };
  readonly signer: Awaited<ReturnType<typeof measureSigner>>;
  readonly nodes: LoadedNodes;
};

function costsFrom({ servers, bytes, signer, nodes }: Findings): Costs {
  const [, large] = servers;
  const [askRead, askCommit] = [lineThrough(large.read, "own"), lineThrough(large.commit, "own")];
  const { checks, lookups, checksInCommit } = nodes;
  const each = (cost: Cost, rows: number) => costOf(cost, rows) / rows;
  // Reads gather about as many as commits do, because both go on while one is on its way.
  const requests = each(askRead, checksInCommit) + each(askCommit, checksInCommit);
  return {
    machine: describeMachine().replace(/; load average.*$/, ""),
    date: new Date().toISOString().slice(0, 10),
    teachers: large.teachers,
    ...signer,
    check: Math.max(0, checks.cpuSeconds - signer.signature - requests),
    lookup: Math.max(0, lookups.cpuSeconds - each(askRead, checksInCommit)),
    askRead,
    askCommit,
    read: growth(servers, "read"),
    commit: lineThrough(large.commit, "server"),
    // All that the server does for a commit, and so rather too much: clients that commit at once would refuse each other.
    hold: growth(servers, "commit"),
    beat: { commit: median(large.beat, "server"), hold: median(large.beat, "server") },
    written: lineThrough(large.commit, "written"),
    teacherBytes: bytes.teacher,
    attestationBytes: bytes.attestation,
    client: checks.clientSeconds,
  };
}

async function main(): Promise<void> {
  say("signatures");
  const limit = await measureLimitFor(createFigures());
  const signer = await measureSigner();
  const { costs, observed, servers } = await withTempDir(async (folder) => {
    const server = await startServer({ folder });
    try {
      const env = {
        TVS_MASTER_KEY: newMasterKey(),
        TVS_DATABASE: server.url,
        TVS_ISSUER: "https://teachers.example",
      };
      const dataDir = join(folder, "node");
      const quota = ["--per-minute", "10000000", "--per-day", "1000000000"];
      const terms = ["--scopes", "all", "--purposes", "all", ...quota];
      const add = ["partners", "add", partnerId, "--name", "Caller", ...terms];
      const { apiKey } = await runJson<{ apiKey: string }>(add, { dataDir, env });
      const measured: ServerCosts[] = [];
      let teacher = 0;
      let from = 0;
      for (const to of registers) {
        say(`a register of ${to.toLocaleString("en")}`);
        teacher = await fill(server.url, { from, to });
        from = to;
        measured.push(
          await measureServer({ url: server.url, pid: server.pid() }, { teachers: to, partnerId }),
        );
      }
      say("nodes");
      const nodes = await measureNodes({ server, folder, env, apiKey, teachers: from });
      const both = measured as unknown as Both;
      const bytes = { teacher, attestation: both[1].attestationBytes };
      const found = costsFrom({ servers: both, bytes, signer, nodes });
      return { costs: found, observed: nodes.observed, servers: both };
    } finally {
      await server.stop();
    }
  });
  const spread = { limit, servers };
  const file = new URL("costs.json", import.meta.url);
  await writeFile(file, `${JSON.stringify({ costs, cores, observed, spread }, null, 2)}\n`);
  say(`written to ${file.pathname}`);
}

await main();
