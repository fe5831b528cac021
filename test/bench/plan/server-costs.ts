/** What reads and commits cost a libSQL server and who asks it, through the stores and the driver of the program. */
import { readFileSync } from "node:fs";
import type { AnsweredCall } from "../../../src/domain/attestations.ts";
import { createAttestationStore } from "../../../src/store/attestations.ts";
import { createCommits } from "../../../src/store/driver/commits.ts";
import type { Driver } from "../../../src/store/driver/driver.ts";
import { openRemote } from "../../../src/store/driver/remote.ts";
import { createSettingsStore } from "../../../src/store/settings.ts";
import { createTeacherStore } from "../../../src/store/teachers.ts";
import { anAnsweredCall } from "../../harness/evidence.ts";
import { numbers } from "../../harness/random.ts";
import { anAttestation } from "../../harness/samples.ts";
import { quantile } from "../figures.ts";
import { cpuSeconds } from "../machine.ts";
import type { Cost } from "./costs.ts";

/** The least and the most of the rounds stand beside the middle. */
type Spread = { readonly median: number; readonly least: number; readonly most: number };

/** What one request took, in seconds and bytes. */
type Taken = {
  readonly wall: number;
  readonly own: number;
  readonly server: number;
  readonly written: number;
};
/** By how many were in it. */
export type Measured = readonly {
  readonly rows: number;
  readonly taken: Readonly<Record<keyof Taken, Spread>>;
}[];

export type ServerCosts = {
  readonly teachers: number;
  readonly read: Measured;
  readonly commit: Measured;
  readonly beat: Measured;
  /** What an attestation takes in the database. */
  readonly attestationBytes: number;
};

const sizes = [1, 8, 32, 128];
const rounds = 5;
const secondsOfRound = 0.6;
/** A compact JWS of the program's own, as long as they are. */
const jwsLength = 1_246;
const rowsAtOnce = 25_000;
/** Filling takes longer than anything that a service asks for. */
const patienceMs = 120_000;

const insertTeachers = `INSERT INTO teachers (id, reg_no, t_id, name, nin_index, email_index, phone_index, state, category,
    source, certificate_status, certificate_issue_date, license_issue_date, license_expiry_date, announced_status, version,
    updated_at)
  WITH RECURSIVE made (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM made WHERE n < ?2)
  SELECT n, printf('TR/2020/LA/%06d', n), n, 'Teacher Number ' || n, randomblob(16), randomblob(16), randomblob(16), 'Lagos',
    'Secondary', 'new_system', 'VERIFIED', '2020-03-01', '2024-01-01', '2099-12-31', 'VALID', 1, 0 FROM made`;

const open = (url: string) => openRemote({ url, waitMs: patienceMs });

/** Fills the register from `from` to `to` teachers. @returns bytes that the database has grown by for each */
export async function fill(url: string, { from, to }: { from: number; to: number }): Promise<number> {
  const driver = await open(url);
  const before = await databaseBytes(driver);
  for (let first = from + 1; first <= to; first += rowsAtOnce)
    await driver.batch([{ sql: insertTeachers, args: [first, Math.min(to, first + rowsAtOnce - 1)] }]);
  const grown = (await databaseBytes(driver)) - before;
  await driver.close();
  return grown / (to - from);
}

async function databaseBytes(driver: Driver): Promise<number> {
  const sql =
    "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) AS bytes";
  return Number((await driver.query(sql))[0]?.bytes);
}

async function attestations(driver: Driver): Promise<number> {
  return Number((await driver.query("SELECT count(*) AS n FROM attestations"))[0]?.n);
}

/** Bytes that a process has handed to the kernel to be written. */
function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
}

/** @param ask one request. @returns what each took, on average */
async function takenBy(pid: number, asks: readonly (() => Promise<unknown>)[]): Promise<Taken> {
  const ownBefore = process.cpuUsage();
  const before = { server: cpuSeconds(pid), written: writtenBytes(pid), ms: performance.now() };
  const endMs = before.ms + secondsOfRound * 1000;
  let count = 0;
  const repeat = async (ask: () => Promise<unknown>) => {
    for (; performance.now() < endMs; count++) await ask();
  };
  await Promise.all(asks.map(repeat));
  const { user, system } = process.cpuUsage(ownBefore);
  return {
    wall: (performance.now() - before.ms) / 1000 / count,
    own: (user + system) / 1e6 / count,
    server: (cpuSeconds(pid) - before.server) / count,
    written: (writtenBytes(pid) - before.written) / count,
  };
}

function spreadOf(values: readonly number[]): Spread {
  return { median: quantile(values, 0.5), least: quantile(values, 0), most: quantile(values, 1) };
}

async function bySize(
  pid: number,
  asksFor: (rows: number) => readonly (() => Promise<unknown>)[],
  rowsOf: readonly number[] = sizes,
): Promise<Measured> {
  const measured: { rows: number; taken: Record<keyof Taken, Spread> }[] = [];
  for (const rows of rowsOf) {
    const asks = asksFor(rows);
    await takenBy(pid, asks);
    const all: Taken[] = [];
    while (all.length < rounds) all.push(await takenBy(pid, asks));
    const of = (name: keyof Taken) => spreadOf(all.map((one) => one[name]));
    measured.push({
      rows,
      taken: { wall: of("wall"), own: of("own"), server: of("server"), written: of("written") },
    });
  }
  return measured;
}

/** Measures a server whose register has that many teachers. */
export async function measureServer(
  { url, pid }: { url: string; pid: number },
  { teachers, partnerId }: { teachers: number; partnerId: string },
): Promise<ServerCosts> {
  const below = numbers(teachers);
  const driver = await open(url);
  const store = createTeacherStore(driver);
  const settings = createSettingsStore(driver);
  const revision = await settings.revision();
  const any = () => 1 + below(teachers);
  const regNo = () => `TR/2020/LA/${String(any()).padStart(6, "0")}`;
  const readSome = (rows: number) => () =>
    Promise.all(Array.from({ length: rows }, () => store.find({ by: "regNo", value: regNo() })));
  let n = Date.now() % 1_000_000_000;
  const call = () => aCall(n++, { partnerId, revision, teacherId: any() });
  const { record } = createAttestationStore(driver, createCommits(driver));
  const commitSome = (rows: number) => async () => {
    const stored = await Promise.all(Array.from({ length: rows }, () => record(call())));
    if (stored.includes(null)) throw new Error("a commit was refused");
  };
  const before = { bytes: await databaseBytes(driver), rows: await attestations(driver) };
  const costs = {
    teachers,
    read: await bySize(pid, (rows) => [readSome(rows)]),
    commit: await bySize(pid, (rows) => [commitSome(rows)]),
    beat: await bySize(pid, () => [() => settings.write({ beat: String(n++) })], [1]),
  };
  const rows = (await attestations(driver)) - before.rows;
  const attestationBytes = ((await databaseBytes(driver)) - before.bytes) / rows;
  await driver.close();
  return { ...costs, attestationBytes };
}

function aCall(
  n: number,
  { partnerId, revision, teacherId }: { partnerId: string; revision: number; teacherId: number },
): AnsweredCall {
  const issuedAt = Math.floor(Date.now() / 1000);
  const reference = `regNo:TR/2020/LA/${String(teacherId).padStart(6, "0")}`;
  const jws = `${n}`.padEnd(jwsLength, "A");
  const credential = "aPartnersKey";
  const requestId = "01890000-0000-7000-8000-000000000000";
  const one = anAttestation(n, { partnerId, issuedAt, teacherId, reference, jws, credential, requestId });
  return anAnsweredCall([one], { revision, read: [{ id: teacherId, version: 1 }] });
}

/** The line through what was measured, by relative distance: base, and for each row. */
export function lineThrough(measured: Measured, name: keyof Taken): Cost {
  const sum = { w: 0, x: 0, y: 0, xx: 0, xy: 0 };
  for (const { rows, taken } of measured) {
    const y = taken[name].median;
    const w = 1 / Math.max(y, 1e-9) ** 2;
    sum.w += w;
    sum.x += w * rows;
    sum.y += w * y;
    sum.xx += w * rows * rows;
    sum.xy += w * rows * y;
  }
  const row = (sum.w * sum.xy - sum.x * sum.y) / (sum.w * sum.xx - sum.x ** 2);
  return { base: Math.max(0, (sum.y - row * sum.x) / sum.w), row: Math.max(0, row) };
}
