/**
 * `npm run prove [-- --quick] [WORD…]`: runs the tests that try to break a promise, in their long forms, and writes to
 * data/help/proved.md how often they tried and what was lost. A word chooses the tests whose path contains it; `--quick`
 * makes few tries. Only a whole run of all tests writes the page.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build, hostTarget, projectFolder, readTarget } from "../../.ci/build.ts";
import { describeMachine } from "../bench/machine.ts";
import { runToEnd } from "../harness/program.ts";

type Trial = {
  /** The path of the test file below `test/`. */
  readonly file: string;
  readonly promise: string;
  readonly attempt: string;
};

const trials: readonly Trial[] = [
  {
    file: "faults/service-kill",
    promise:
      "Every answer has its attestation, no call runs twice, no quota is exceeded, and there is one log",
    attempt: "A service, then three nodes and their libSQL server, are killed or cut off under load",
  },
  {
    file: "histories/one-process",
    promise: "A service answers as if it ran one call after the other",
    attempt: "Twelve callers, an operator and an event reader work while the service is killed and restarted",
  },
  {
    file: "histories/node-services",
    promise: "Three nodes over one libSQL server answer as one service",
    attempt: "Twelve callers work while nodes are killed or cut off from the libSQL server",
  },
  {
    file: "store/preconditions",
    promise: "No answer is stored if a fact behind the answer has changed",
    attempt: "Each precondition of a commit is broken, over a file and a libSQL server",
  },
  {
    file: "faults/webhook-kill",
    promise: "Every partner is notified of every status change, and of nothing else",
    attempt: "The sender is killed while one request in three fails",
  },
  {
    file: "domain/revocation-origin",
    promise: "An import without `--lift-revocations` never lifts an operator’s revocation",
    attempt: "Imports and an operator change the same teachers in turns",
  },
  {
    file: "faults/command-failures",
    promise: "A failed command leaves nothing half done, and can be run again",
    attempt: "Each command that writes is killed, or its disk is full, read-only or failing",
  },
  {
    file: "faults/restore-kill",
    promise: "A failed restore leaves the old register or the restored register, complete",
    attempt: "A restore is killed at a random moment",
  },
  {
    file: "faults/disk-service",
    promise: "A service on a failing disk answers only what is stored, and recovers",
    attempt: "The disk is full, read-only, slow or failing at each write of each call",
  },
  {
    file: "domain/evidence/attacks",
    promise: "Nobody who has only the database can change the evidence log unseen",
    attempt: "Rows, leaves, checkpoints and notes are deleted, swapped, forged and put back",
  },
  {
    file: "domain/evidence/kills",
    promise: "No attestation that a checkpoint covers is lost, and no two checkpoints contradict each other",
    attempt: "The process dies before each write of the log, over a file and a libSQL server",
  },
  {
    file: "fuzz/http",
    promise: "The OpenAPI document describes every answer, and no answer is a 5xx",
    attempt: "Random requests are made from the document, each valid or with one fault",
  },
  {
    file: "fuzz/parsers",
    promise: "No parser accepts a forged signed document",
    attempt:
      "Signed documents and extracts are changed at random, and independent code checks each accepted signed document",
  },
  {
    file: "blackbox/secrecy",
    promise: "No file, log or answer shows a NIN, a contact or a key",
    attempt: "All files and answers of a used service are searched for each secret, in three encodings",
  },
];

/** The number of tries of each test, unless an environment variable sets it. */
const counts = {
  whole: {
    TVS_KILLS: "20",
    TVS_OPERATIONS: "100000",
    TVS_EXTRACTS: "1000",
    TVS_REQUESTS: "100000",
    TVS_INPUTS: "200000",
  },
  quick: {
    TVS_KILLS: "2",
    TVS_OPERATIONS: "1200",
    TVS_EXTRACTS: "40",
    TVS_REQUESTS: "1000",
    TVS_INPUTS: "2000",
  },
};

/** A trial with the number of its tries, by what was tried. */
type Outcome = Trial & { readonly isKept: boolean; readonly tried: Readonly<Record<string, number>> };

/** Runs one test file, and prints its output if it fails. */
async function run(trial: Trial, folder: string, env: Record<string, string | undefined>): Promise<Outcome> {
  const file = join(folder, trial.file.replaceAll("/", "-"));
  const command = [process.execPath, "test", "--timeout=60000", `./test/${trial.file}.test.ts`];
  const { code, stdout, stderr } = await runToEnd(command, {
    cwd: projectFolder,
    env: { ...env, TVS_TRIED: file },
  });
  if (code !== 0) console.error(stdout, stderr);
  const tried: Record<string, number> = {};
  for (const line of existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [])
    for (const [noun, count] of Object.entries(JSON.parse(line) as Record<string, number>))
      tried[noun] = (tried[noun] ?? 0) + count;
  const outcome = { ...trial, isKept: code === 0, tried };
  console.error(rowOf(outcome));
  return outcome;
}

function rowOf({ file, promise, attempt, isKept, tried }: Outcome): string {
  const often = Object.entries(tried).map(([noun, count]) => `${count.toLocaleString("en")} ${noun}`);
  const lost = isKept ? "nothing" : "**the promise**";
  return `| ${promise} | ${attempt} (\`${file}\`) | ${often.join(", ")} | ${lost} |`;
}

function pageOf(outcomes: readonly Outcome[], minutes: number): string {
  const { stdout } = Bun.spawnSync(["git", "describe", "--always", "--dirty"], { cwd: projectFolder });
  const date = new Date().toISOString().slice(0, 10);
  const kept = outcomes.filter(({ isKept }) => isKept).length;
  return `# Proved

One run of \`npm run prove\` tried to break the promises of the service, and wrote this page. ${kept} of ${outcomes.length} promises held. Each row names its test below \`test/\`.

| promise | what the test does to break the promise | how often | lost |
|---|---|---|---|
${outcomes.map(rowOf).join("\n")}

Commit ${stdout.toString().trim()}, ${date}, ${minutes} minutes on ${describeMachine()}.
`;
}

/** Runs the chosen trials. @returns the number of failed ones */
async function prove(folder: string): Promise<number> {
  const { values, positionals: words } = parseArgs({
    options: { quick: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const chosen = trials.filter(({ file }) => words.every((word) => file.includes(word)));
  const executable = join(folder, "tvs");
  await build(readTarget(hostTarget()), executable);
  const began = performance.now();
  const usual = { ...(values.quick ? counts.quick : counts.whole), TVS_SEED: "1" };
  const env = { ...usual, TVS_COMMAND: JSON.stringify([executable]), ...process.env };
  const outcomes: Outcome[] = [];
  const waiting = [...chosen];
  const work = async () => {
    for (let trial = waiting.shift(); trial !== undefined; trial = waiting.shift())
      outcomes.push(await run(trial, folder, env));
  };
  await Promise.all(Array.from({ length: Math.min(2, cpus().length) }, work));
  const minutes = Math.ceil((performance.now() - began) / 60_000);
  const place = ({ file }: Trial) => trials.findIndex((trial) => trial.file === file);
  const all = outcomes.toSorted((one, other) => place(one) - place(other));
  if (chosen.length === trials.length && !values.quick)
    writeFileSync(join(projectFolder, "data/help/proved.md"), pageOf(all, minutes));
  return all.filter(({ isKept }) => !isKept).length;
}

const folder = mkdtempSync(join(tmpdir(), "tvs-prove-"));
try {
  process.exitCode = (await prove(folder)) === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
