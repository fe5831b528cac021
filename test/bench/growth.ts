import { Database } from "bun:sqlite";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { batchLoad } from "./batches.ts";
import type { Bench, BenchOptions } from "./bench.ts";
import type { LoadPlan } from "./load.ts";
import { measureLoad } from "./measured.ts";
import type { Program } from "./programs.ts";
import {
  makeRegister,
  planFor,
  type Register,
  registerSize,
  type ServedRegister,
  serveRegister,
} from "./register.ts";
import { type Cleanup, serve, warmUpSeconds, withCleanup } from "./setup.ts";

const teachersAtFullScale = 5_000_000;
const attestationsAtFullScale = 50_000_000;
/** What one row takes with its indexes, generously, while indexes are being built. */
const bytesPerRow = 700;
const rowsInStatement = 1_000_000;

/** What a check, a batch and a lookup cost in a large database, as a multiple of what they cost in a young one. */
export const growthBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const young = await serveRegister(options.programs[0], { teachers: registerSize, cleanup });
    const grown = await serveGrown(options, cleanup);
    const seconds = options.isQuick ? 1 : 3;
    const loads: readonly Load[] = [
      { kind: "check", connections: 64, seconds },
      batchLoad(seconds),
      { kind: "lookup", connections: 64, seconds },
    ];
    const warmUp = { kind: "check", connections: 64, seconds: warmUpSeconds(options) } as const;
    for (const one of [young, grown]) await measureLoad({ ...planFor(one), ...warmUp });
    for (let round = 0; round < options.rounds; round++)
      for (const load of loads) await compare(options, { young, grown }, load);
  });

type Load = Pick<LoadPlan, "kind" | "items" | "connections" | "seconds">;

async function compare(
  { figures, growthScale }: BenchOptions,
  { young, grown }: { young: ServedRegister; grown: ServedRegister },
  load: Load,
): Promise<void> {
  const before = await measureLoad({ ...planFor(young), ...load });
  const after = await measureLoad({ ...planFor(grown), ...load });
  const { teachers, attestations } = sizesFor(growthScale);
  const at = `${load.kind} at ${teachers.toLocaleString("en")} teachers, ${attestations.toLocaleString("en")} attestations`;
  const terms = { unit: `times that at ${registerSize.toLocaleString("en")}` };
  const table = figures.about("What does a large database cost?");
  table.add(`${at}, server CPU`, terms, after.cpuSeconds / before.cpuSeconds);
  table.add(`${at}, time an answer`, terms, before.perSecond / after.perSecond);
}

function sizesFor(scale: number) {
  return {
    teachers: Math.round(teachersAtFullScale * scale),
    attestations: Math.round(attestationsAtFullScale * scale),
  };
}

async function serveGrown(options: BenchOptions, cleanup: Cleanup): Promise<ServedRegister> {
  const [own] = options.programs;
  const { teachers, attestations } = sizesFor(options.growthScale);
  const register = await makeRegister(own, { teachers: registerSize, cleanup });
  await requireSpace(register.dataDir, (teachers + attestations) * bytesPerRow);
  await attestOnce(own, register);
  const startMs = performance.now();
  grow(join(register.dataDir, "tvs.db"), { teachers, attestations });
  process.stderr.write(` grown in ${((performance.now() - startMs) / 1000).toFixed(0)} s …`);
  const service = await serve(own, { dataDir: register.dataDir, cleanup });
  return { ...register, teachers, program: own, service, url: service.url, pid: service.pid };
}

async function requireSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const gigabytes = (value: number) => `${(value / 1e9).toFixed(0)} GB`;
  if (bavail * bsize > bytes) return;
  throw new Error(
    `${gigabytes(bytes)} are needed there and ${gigabytes(bavail * bsize)} are free; use --growth-scale`,
  );
}

/** Leaves an attestation to copy from. */
function attestOnce(own: Program, register: Register): Promise<void> {
  return withCleanup(async (cleanup) => {
    const service = await serve(own, { dataDir: register.dataDir, cleanup });
    const target = { ...register, program: own, service, url: service.url, pid: service.pid };
    await measureLoad({ ...planFor(target), kind: "check", connections: 1, seconds: 1, perSecond: 10 });
  });
}

/**
 * Adds rows like those that are there, without the program: answering fifty million checks would take a day. The old
 * attestations' signatures are cut short, so that they fit on a disk. That changes nothing for a new one: with short
 * rows or with whole ones the table is a tree of four levels, to whose right edge it is added.
 */
function grow(file: string, sizes: { teachers: number; attestations: number }): void {
  const db = new Database(file);
  // Nothing of it needs to survive a crash; the service sets its own way again when it opens the file.
  for (const pragma of [
    "journal_mode = OFF",
    "synchronous = OFF",
    "cache_size = -2000000",
    "temp_store = FILE",
  ])
    db.run(`PRAGMA ${pragma}`);
  addRows(db, "teachers", { rows: sizes.teachers, values: teacherValues });
  addRows(db, "attestations", {
    rows: sizes.attestations,
    values: attestationValues(sizes, Date.now()),
  });
  db.run("PRAGMA optimize");
  db.run("PRAGMA journal_mode = WAL");
  db.close();
}

type Values = Readonly<Record<string, string>>;

const teacherValues: Values = {
  id: "n",
  reg_no: "printf('TR/2020/LA/%06d', n)",
  t_id: "n",
  name: "'Teacher Number ' || n",
  nin_index: "randomblob(16)",
  email_index: "randomblob(16)",
  phone_index: "randomblob(16)",
};

/** Evenly over the last three years, about teachers in no order, with ids as UUIDs of version 7 are. */
function attestationValues(
  { teachers, attestations }: { teachers: number; attestations: number },
  now: number,
): Values {
  const at = `(${now} - (${attestations} - n) * ${Math.floor((3 * 365 * 86_400_000) / attestations)})`;
  const teacher = `(1 + (n * 2654435761) % ${teachers})`;
  return {
    id: "n",
    verification_id: `printf('%08x-%04x-7%03x-8%03x-%s', ${at} >> 16, ${at} & 65535, random() & 4095, random() & 4095,
      lower(hex(randomblob(6))))`,
    issued_at: `${at} / 1000`,
    teacher_id: teacher,
    reference: `printf('regNo:TR/2020/LA/%06d', ${teacher})`,
    jws: "substr(one.jws, 1, 64)",
  };
}

/** Indexes that can wait are built afterwards, sorted. */
function addRows(db: Database, table: string, { rows, values }: { rows: number; values: Values }): void {
  const indexes = db
    .query<{ name: string; sql: string }, [string]>(
      "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
    )
    .all(table);
  for (const { name } of indexes) db.run(`DROP INDEX ${name}`);
  const columns = db
    .query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?)")
    .all(table)
    .map(({ name }) => name);
  const insert = db.query(`INSERT INTO ${table} (${columns.join(", ")})
    WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
    SELECT ${columns.map((column) => values[column] ?? `one.${column}`).join(", ")}
    FROM numbers CROSS JOIN (SELECT * FROM ${table} WHERE id = 1) AS one`);
  const { last } = db.query<{ last: number }, []>(`SELECT max(id) AS last FROM ${table}`).get() ?? {
    last: 0,
  };
  for (let first = last + 1; first <= rows; first += rowsInStatement)
    insert.run(first, Math.min(rows, first + rowsInStatement - 1));
  for (const { sql } of indexes) db.run(sql);
}
