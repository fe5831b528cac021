/**
 * How long an audit of a large log takes, by itself: `bun test/bench/evidence-log.ts 1000000 [FOLDER]`. It fills a new
 * register with attestations as long as real ones, logs them, and audits them in a process of its own. In a folder that
 * is named it stays, and is not made again; each million takes 2.2 GB.
 */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { logWriterOf } from "../../cli/evidence/open-evidence.ts";
import { type Operator, openOperator } from "../../cli/open.ts";
import { readConfig } from "../../src/config.ts";
import { ensureLog } from "../../src/domain/evidence/log.ts";

const [count = "100000", folder] = process.argv.slice(2);
const rows = Number(count);
const rowsInStatement = 2_000;
/** So many leaves a second for half a minute. */
const leavesOfCheckpoint = 5 * rowsInStatement;
const base64url = (text: string | Uint8Array) => Buffer.from(text).toString("base64url");
const say = (words: string) => process.stderr.write(`${words}\n`);

const insert = `INSERT INTO attestations (verification_id, partner_id, issued_at, kid, endpoint, purpose, policy_version,
    teacher_id, reference, status, eligible, credential, request_id, jws)
  SELECT value ->> 0, 'caller', value ->> 1, ?2, 'eligibility-check', 'GENERAL_PUBLIC_VERIFICATION', '1', value ->> 2,
    'regNo:TR/2020/LA/' || (value ->> 2), 'VALID', 1, 'c0ffee0123456789', value ->> 0, value ->> 3
  FROM json_each(?1)`;

function attestation(n: number, { header, signature }: { header: string; signature: string }) {
  const at = 1_600_000_000_000 + n * 10;
  const time = at.toString(16).padStart(12, "0");
  const id = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${String(n).padStart(12, "0")}`;
  const iat = Math.floor(at / 1000);
  const regNo = `TR/2020/LA/${String(n).padStart(8, "0")}`;
  const dates = '"issueDate":"2024-01-01","expiryDate":"2099-12-31","daysRemaining":27000';
  const result =
    '{"found":true,"source":"new_system","status":"VALID","eligible":true,"reasons":[],' +
    `"teacher":{"name":"Teacher Number ${n}","tId":${n},"state":"Lagos","category":"Secondary"},` +
    `"license":{"status":"VALID",${dates}},` +
    `"certificate":{"status":"VERIFIED","regNo":"${regNo}","issueDate":"2020-03-01"},` +
    '"profile":{"ninVerified":true,"qualifications":[],"employment":[]}}';
  const payload = `{"iss":"https://verify.example.org","aud":"caller","sub":"${id}","iat":${iat},"result":${result}}`;
  return [id, iat, n, `${header}.${base64url(payload)}.${signature}`];
}

/** Fills and signs in turns: a checkpoint covers all that is there. @returns how long the log took, in microseconds */
async function fill(operator: Operator): Promise<{ wallUs: number; processorUs: number }> {
  const { driver } = operator;
  const writer = logWriterOf(operator);
  const took = { wallUs: 0, processorUs: 0 };
  for (const setting of ["journal_mode = OFF", "synchronous = OFF", "cache_size = -500000"])
    await driver.query(`PRAGMA ${setting}`);
  const kid = base64url(randomBytes(32));
  const signed = {
    header: base64url(JSON.stringify({ alg: "RS256", kid, typ: "JWT" })),
    signature: base64url(randomBytes(256)),
  };
  for (let from = 0; from < rows; from += rowsInStatement) {
    const length = Math.min(rowsInStatement, rows - from);
    const made = Array.from({ length }, (_, at) => attestation(from + at + 1, signed));
    await driver.batch([{ sql: insert, args: [JSON.stringify(made), kid] }]);
    if ((from + length) % leavesOfCheckpoint > 0 && from + length < rows) continue;
    const [startMs, before] = [performance.now(), process.cpuUsage()];
    await writer.checkpoint();
    const { user, system } = process.cpuUsage(before);
    took.wallUs += (performance.now() - startMs) * 1000;
    took.processorUs += user + system;
  }
  return took;
}

async function make(data: string): Promise<void> {
  const config = readConfig({ data, issuer: "https://verify.example.org" }, {});
  const operator = await openOperator(config, { whenMade: () => {} });
  const { stores, secrets, clock, settingsInForce, driver } = operator;
  try {
    await ensureLog({ store: stores.evidence, secrets, issuer: settingsInForce.issuer, clock });
    const startMs = performance.now();
    const { wallUs, processorUs } = await fill(operator);
    say(`${rows} attestations made and logged in ${((performance.now() - startMs) / 1000).toFixed(0)} s`);
    say(
      `of it logged in ${(wallUs / 1e6).toFixed(0)} s, ${(processorUs / rows).toFixed(2)} µs of processor time each`,
    );
    await driver.query("PRAGMA journal_mode = WAL");
  } finally {
    await driver.close();
  }
}

async function audit(data: string): Promise<void> {
  const main = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
  const startMs = performance.now();
  const command = [process.execPath, main, "log", "audit", "--json", "--data", data];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  // What the kernel tells of an ended process counts its parent's memory from before it began.
  let mostMemory = 0;
  const watch = setInterval(() => {
    const found = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"));
    mostMemory = Math.max(mostMemory, Number(found?.[1] ?? 0) * 1024);
  }, 100);
  const text = await new Response(child.stdout).text();
  clearInterval(watch);
  const code = await child.exited;
  const seconds = (performance.now() - startMs) / 1000;
  const cpu = Number(child.resourceUsage()?.cpuTime.total ?? 0n) / 1e6;
  say(text.slice(0, 400));
  say(
    `audit of ${rows}: exit ${code}, ${seconds.toFixed(1)} s, processor ${cpu.toFixed(1)} s ` +
      `(${((cpu * 1e6) / rows).toFixed(2)} µs each), at most ${(mostMemory / 1e6).toFixed(0)} MB`,
  );
}

const home = folder ?? join(tmpdir(), `tvs-log-${process.pid}`);
try {
  if (!existsSync(join(home, "tvs.db"))) {
    mkdirSync(home, { recursive: true });
    await make(home);
  }
  await audit(home);
} finally {
  if (folder === undefined) rmSync(home, { recursive: true, force: true });
}
