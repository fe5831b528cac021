// Tests the compiled executable alone, in an empty folder and with an empty environment: from the first partner to an
// envelope that is verified after the service has stopped. Usage: node .ci/smoke.mjs dist/tvs
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const PROJECT = join(import.meta.dirname, "..");
const COMMAND_TIMEOUT_MS = 60_000;
const HTTP_TIMEOUT_MS = 10_000;
const DRAIN_LIMIT_MS = 10_000;
/** The service applies a command's change within a second. The test waits longer, because the machine may be busy. */
const HONOUR_TIMEOUT_MS = 10_000;
const BATCH_SIZE = 100;
const TERMS = ["--scopes", "all", "--purposes", "all", "--per-minute", "600", "--per-day", "100000"];

const INIT = ["init", "--issuer", "https://verify.example.org", "--name", "Registry"];

const binary = process.argv[2];
if (!binary) {
  console.error("usage: node .ci/smoke.mjs PATH-OF-TVS");
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "tvs-smoke-"));
const trap = mkdtempSync(join(tmpdir(), "tvs-smoke-trap-"));
const tvs = join(folder, "tvs");

/** Runs a command and returns its output. Any exit code but `exit` is a failure, which shows the output. */
function run(args, { exit = 0, cwd = folder } = {}) {
  const done = spawnSync(tvs, args, { cwd, env: {}, encoding: "utf8", timeout: COMMAND_TIMEOUT_MS });
  assert.equal(done.error, undefined, `${args[0]}: ${done.error?.message}`);
  const told = `tvs ${args.slice(0, 2).join(" ")} ended with ${done.status ?? done.signal}\n${done.stdout}${done.stderr}`;
  assert.equal(done.status, exit, told);
  return done.stdout;
}

function runJson(args, options) {
  return JSON.parse(run([...args, "--json"], options));
}

function runLines(args, options) {
  const lines = run([...args, "--json"], options)
    .trim()
    .split("\n");
  return lines.map((line) => JSON.parse(line));
}

/** Checks that the executable ignores `.env` and `bunfig.toml` of the current folder: they belong to other programs. */
function checkIgnoresFolder() {
  writeFileSync(join(trap, ".env"), "TVS_DATA=obeyed-env\n");
  writeFileSync(join(trap, "bunfig.toml"), 'preload = ["./preload.ts"]\n');
  writeFileSync(join(trap, "preload.ts"), 'await Bun.write("obeyed-bunfig", "");\n');
  const before = readdirSync(trap).sort();
  run(INIT, { cwd: trap });
  const added = readdirSync(trap).filter((name) => !before.includes(name));
  assert.deepEqual(added, ["data"], "only ./data may appear");
}

/** Starts the service on a free port. @returns its URL and process when it listens */
async function startService() {
  const child = spawn(tvs, ["serve", "--port", "0"], {
    cwd: folder,
    env: {},
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stderr.on("data", (chunk) => (stderr += chunk));
  const exited = new Promise((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal)));
  const url = await new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`serve: not listening in time\n${stdout}${stderr}`)),
      COMMAND_TIMEOUT_MS,
    );
    child.once("error", reject);
    exited.then((how) => reject(new Error(`serve ended with ${how}\n${stdout}${stderr}`)));
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
      const match = /^listening on (http:\/\/\S+)$/m.exec(stdout);
      if (!match) return;
      clearTimeout(timer);
      resolve(match[1]);
    });
  });
  return { child, exited, url };
}

async function get(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(HTTP_TIMEOUT_MS) });
  const body = await response.text();
  assert.equal(response.status, 200, `${url}: ${body}`);
  return body;
}

async function post(address, apiKey, question) {
  const response = await fetch(address, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(question),
    signal: AbortSignal.timeout(HTTP_TIMEOUT_MS),
  });
  const body = await response.text();
  assert.equal(response.status, 200, body);
  return body;
}

const about = (regNo) => ({ identifier: { regNo }, purpose: "GENERAL_PUBLIC_VERIFICATION" });

function checkBatch(url, { apiKey, regNo }) {
  const items = Array.from({ length: BATCH_SIZE }, () => about(regNo));
  return post(`${url}/v1/inter-agency/batch`, apiKey, { items });
}

async function checkEligibility(url, { apiKey, regNo }) {
  const body = await post(`${url}/v1/inter-agency/eligibility-check`, apiKey, about(regNo));
  const envelope = JSON.parse(body);
  assert.equal(envelope.result.found, true);
  return { body, envelope };
}

/** Finds the first registration number of the extract: four segments between slashes. */
function firstRegNo(csv) {
  const match = /[^\s,;"/]+(?:\/[^\s,;"/]+){3}/.exec(readFileSync(csv, "utf8"));
  assert.ok(match, "the sample extract has no registration number");
  return match[0];
}

async function firstEnvelopeBy(kid, ask) {
  const endMs = Date.now() + HONOUR_TIMEOUT_MS;
  for (;;) {
    const answer = await ask();
    if (answer.envelope.signatureKid === kid) return answer;
    assert.ok(Date.now() < endMs, "the service still signs with the rotated key");
    await sleep(50);
  }
}

/** Gets an envelope before a key rotation and one after it, and stores what a partner needs to verify them. */
async function serveAndRotate(partner) {
  const service = await startService();
  try {
    const { url } = service;
    const ask = () => checkEligibility(url, partner);
    const before = await ask();
    writeFileSync(join(folder, "batch.json"), await checkBatch(url, partner));
    const rotated = runJson(["keys", "rotate", "--now"]);
    assert.equal(rotated.previousKid, before.envelope.signatureKid);
    const after = await firstEnvelopeBy(rotated.activeKid, ask);
    const health = JSON.parse(await get(`${url}/v1/inter-agency/health`));
    assert.equal(health.status, "ok");
    assert.equal(health.issuer, before.envelope.issuer);
    const page = await get(`${url}/v1/inter-agency/docs`);
    assert.match(page, /<html/i, "the pages must be in the executable");
    writeFileSync(join(folder, "before.json"), before.body);
    writeFileSync(join(folder, "after.json"), after.body);
    writeFileSync(join(folder, "jwks.json"), await get(`${url}/v1/inter-agency/.well-known/jwks.json`));
    writeFileSync(join(folder, "history.jws"), await get(`${url}/v1/inter-agency/.well-known/key-history`));
    await stop(service);
    return before.envelope;
  } finally {
    service.child.kill("SIGKILL");
  }
}

async function stop({ child, exited }) {
  child.kill("SIGTERM");
  const how = await Promise.race([exited, sleep(DRAIN_LIMIT_MS, "no end", { ref: false })]);
  assert.equal(how, 0, `SIGTERM: ended with ${how}`);
}

/** Checks, without a service, that both envelopes verify from files alone and that a changed envelope does not. */
function checkOffline(envelope) {
  const expected = ["--issuer", envelope.issuer, "--audience", "moe"];
  for (const keys of [
    ["--jwks", "jwks.json"],
    ["--key-history", "history.jws"],
  ]) {
    const verdicts = runLines(["verify", "before.json", "after.json", ...keys, ...expected]);
    assert.deepEqual(
      verdicts.map(({ valid }) => valid),
      [true, true],
    );
    const batch = runLines(["verify", "batch.json", ...keys, ...expected]);
    assert.equal(batch.filter(({ valid }) => valid).length, BATCH_SIZE);
    assert.equal(verdicts[0].verificationId, envelope.verificationId);
  }
  const forged = { ...envelope, result: { ...envelope.result, eligible: !envelope.result.eligible } };
  writeFileSync(join(folder, "forged.json"), JSON.stringify(forged));
  const [verdict] = runLines(["verify", "forged.json", "--jwks", "jwks.json", ...expected], { exit: 1 });
  assert.equal(verdict.valid, false);
}

async function main() {
  copyFileSync(binary, tvs);
  assert.match(run(["--help"]), /\bserve\b/);
  assert.match(run(["help", "privacy"]), /^What is stored/);
  const { version } = JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8"));
  assert.ok(run(["--version"]).includes(version), "--version");
  assert.deepEqual(readdirSync(folder), ["tvs"], "neither help nor version may write anything");
  checkIgnoresFolder();

  run(INIT);
  const { partnerId, apiKey } = runJson(["partners", "add", "moe", "--name", "Ministry", ...TERMS]);
  assert.equal(partnerId, "moe");
  assert.match(apiKey, /^tvs_live_[0-9A-Za-z]{61}$/);

  copyFileSync(join(PROJECT, "data/sample-registry.csv"), join(folder, "extract.csv"));
  const imported = runJson(["teachers", "import", "extract.csv"]);
  assert.ok(imported.inserted > 0);
  assert.equal(imported.inserted, imported.rows);
  // A workbook is read in a process of its own, which is the executable again.
  copyFileSync(join(PROJECT, "test/fixtures/extracts/hidden-old-copy-first.xlsx"), join(folder, "book.xlsx"));
  assert.equal(runJson(["teachers", "import", "book.xlsx", "--allow-change"]).inserted, 2);

  const envelope = await serveAndRotate({ apiKey, regNo: firstRegNo(join(folder, "extract.csv")) });
  checkOffline(envelope);
  assert.ok(existsSync(join(folder, "data/tvs.db")), "the database belongs into ./data");
  console.log("smoke: the executable works alone, from the first partner to an envelope verified offline");
}

try {
  await main();
} catch (error) {
  console.error(`smoke: ${error.stack}`);
  process.exitCode = 1;
} finally {
  for (const path of [folder, trap]) rmSync(path, { recursive: true, force: true });
}
