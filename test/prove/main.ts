/**
 * `npm run prove [WORD…]`: runs histories, kills, failing disks and fuzzing in their long forms, and writes what came
 * of them to data/help/proved.md. A word chooses the files whose path contains it; the page is written for all only.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, hostTarget, projectFolder, readTarget } from "../../.ci/build.ts";
import { describeMachine } from "../bench/machine.ts";

/** The tests by their paths below `test/`, and what each tries. */
const trials: Readonly<Record<string, string>> = {
  "histories/one-process":
    "12 callers, an operator and a reader of events share a service that is killed and started again; one order has to explain all that each saw",
  "histories/node-services": "the same over three nodes and a libSQL server; each is killed or cut off",
  "faults/service-kill":
    "a service, and three nodes, are killed under load: no answer without evidence, no call twice, no quota exceeded, one evidence log",
  "faults/webhook-kill": "the sender is killed while one receiver in three fails; every change is delivered",
  "faults/restore-kill": "a restore is killed; the old register or the restored one is left",
  "faults/command-failures":
    "every command that changes something, an import too, is killed at a write, or its disk is full, read-only or failing; it is given again",
  "faults/disk-service": "the disk is full, read-only, slow or failing under every call that writes",
  "fuzz/http":
    "requests drawn from the OpenAPI document, right or wrong in one place; no answer that it lacks",
  "fuzz/parsers": "edited genuine documents; what a parser accepts is held against a second reader",
  "domain/revocation-origin": "extracts and an operator take turns; no revocation made by hand is lost",
  "blackbox/secrecy": "files, logs and answers are searched for every number, address and key that was used",
};

/** How often, unless the environment says otherwise. */
const counts = {
  TVS_KILLS: "10",
  TVS_OPERATIONS: "1000000",
  TVS_EXTRACTS: "2000",
  TVS_REQUESTS: "1000000",
  TVS_INPUTS: "1000000",
};

type Outcome = { readonly tests: number; readonly failures: number; readonly seconds: number };

function outcomeOf(report: string, file: string): Outcome {
  const suite = new RegExp(`<testsuite name="[^"]*${file}\\.test\\.ts"[^>]*>`).exec(report)?.[0] ?? "";
  const number = (name: string) => Number(new RegExp(` ${name}="([\\d.]+)"`).exec(suite)?.[1] ?? 0);
  return { tests: number("tests"), failures: number("failures"), seconds: number("time") };
}

/** A test that ended its process has no entry in the report. */
function rowOf(file: string, { tests, failures, seconds }: Outcome): string {
  const came = tests === 0 ? "did not end" : `${tests - failures} passed, ${failures} failed`;
  return `| \`${file}\` | ${trials[file]} | ${came} | ${Math.round(seconds)} s |`;
}

function pageOf(rows: readonly string[], env: Readonly<Record<string, string | undefined>>): string {
  const { stdout } = Bun.spawnSync(["git", "describe", "--always", "--dirty"], { cwd: projectFolder });
  const said = [...Object.keys(counts), "TVS_SEED"].map((name) => `\`${name}=${env[name]}\``);
  return `# Proved

What the README promises is tried by chance: who calls when, what is killed, which write fails, what is sent. One run of \`npm run prove\` wrote this page, and failures stand here as well.

Commit ${stdout.toString().trim()}, ${new Date().toISOString().slice(0, 10)}, ${describeMachine()}, with ${said.join(" ")}.

| test | what it tries | result | time |
|---|---|---|---|
${rows.join("\n")}

The same seed draws the same calls, faults and inputs; the moment that a kill hits differs. A test that fails prints the line that runs it again. \`npm run prove -- faults\` runs some of them, and \`TVS_KILLS=50\` before it kills more often.
`;
}

async function prove(words: readonly string[], folder: string): Promise<number> {
  const files = Object.keys(trials).filter((file) => words.every((word) => file.includes(word)));
  const executable = join(folder, "tvs");
  await build(readTarget(hostTarget()), executable);
  const report = join(folder, "report.xml");
  const env = { ...counts, TVS_SEED: "1", TVS_COMMAND: JSON.stringify([executable]), ...process.env };
  const how = ["--timeout=60000", "--parallel=2", "--reporter=junit", `--reporter-outfile=${report}`];
  const child = Bun.spawn(
    [process.execPath, "test", "--only-failures", ...how, ...files.map((file) => `./test/${file}.test.ts`)],
    { cwd: projectFolder, env, stdio: ["ignore", "inherit", "inherit"] },
  );
  const code = await child.exited;
  const text = readFileSync(report, "utf8");
  const rows = files.map((file) => rowOf(file, outcomeOf(text, file)));
  if (words.length === 0) writeFileSync(join(projectFolder, "data/help/proved.md"), pageOf(rows, env));
  console.error(rows.join("\n"));
  return code;
}

const folder = mkdtempSync(join(tmpdir(), "tvs-prove-"));
try {
  process.exitCode = await prove(process.argv.slice(2), folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
