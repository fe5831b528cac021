import { isoTime } from "../../domain/clock.ts";
import { TvsError } from "../../domain/errors.ts";
import type { Driver } from "../driver/driver.ts";
import { holdsRegister, makeSchema, readSchema } from "../driver/schema.ts";
import { liveNodeIds } from "../server/served.ts";
import { clearTables, copyTable, type Sides, type TableDigest, verifyTable } from "./copy.ts";
import { type CopyOf, markCopy, markMoved, readMarks, removeMarks } from "./marks.ts";
import { countRows } from "./pages.ts";
import { type MovedTable, readTables, standOf, standSql } from "./tables.ts";

/**
 * Moves a register to another database (decision D12.9).
 *
 * No commit reaches two databases. So each says by a mark in its settings that it is not to be used, and the marks are
 * set in an order in which the register is never in use twice, wherever the process is killed:
 *
 * | last step that was done | source | target |
 * |---|---|---|
 * | the target has its schema | in use | empty |
 * | the target says of which register it is a copy; rows are copied and compared | in use | refused |
 * | the source says where it was moved to | refused | refused |
 * | the target is no copy any more | refused | in use |
 *
 * In the third state, between two commits, nobody may use either: the same command goes on to the fourth, or takes the
 * mark off the source. Both are whole and alike then.
 */
type Move = Sides & {
  /** Where both are, without anything secret. */
  readonly from: string;
  readonly to: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Told how many rows are copied and compared, of how many. */
  onProgress(done: number, total: number): void;
};

/**
 * A file into which a register is copied, with nobody else in it: indexes are written all over, and with little memory
 * each of their pages would be written, and read again, for every page of rows.
 */
const bulkSettings = ["cache_size = -64000", "wal_autocheckpoint = 64000"];

const unfinishedImport = "SELECT 1 FROM imports WHERE finished_at IS NULL AND abandoned_at IS NULL";

/** The register that is to be moved. */
type Movable = {
  /** As {@link CopyOf} has it. */
  readonly register: string;
  /** Whether an earlier run has handed it over, all but the last step. */
  readonly isMoved: boolean;
};

/**
 * Looks whether a register may be moved from here, changing nothing.
 * @throws TvsError REGISTER_MISSING as `missing`, REFUSED, DATABASE_IN_USE, and what `readSchema` throws
 */
export async function requireMovable(
  source: Driver,
  { to, missing }: Pick<Move, "to"> & { missing: TvsError },
): Promise<Movable> {
  await readSchema(source);
  if (!(await holdsRegister(source))) throw missing;
  const { register, copyOf, movedTo } = await readMarks(source);
  if (copyOf !== null) throw refused(`this is an unfinished copy of ${copyOf.from}; move from there`);
  if (movedTo !== null && movedTo.to !== to)
    throw refused(`this register was moved to ${movedTo.to} at ${movedTo.at}; move it on from there`);
  await refuseService(source, "this register");
  if ((await source.query(unfinishedImport)).length === 0) return { register, isMoved: movedTo !== null };
  throw refused("an import into this register is not finished; run it again to its end, then move");
}

/**
 * Looks whether a register may be moved to here, changing nothing.
 * @throws TvsError REFUSED, DATABASE_IN_USE, and what `readSchema` throws
 */
export async function requireFree(
  target: Driver,
  { register, isMoved, from, to }: Pick<Move, "from" | "to"> & Movable,
): Promise<void> {
  const isEmpty = (await readSchema(target)) === 0;
  const { copyOf, isUsed } = isEmpty ? { copyOf: null, isUsed: false } : await readMarks(target);
  if (!isEmpty) await refuseService(target, to);
  if (copyOf === null && isMoved) throw refused(`this register was moved to ${to} already; go on there`);
  if (copyOf === null && (isUsed || (!isEmpty && (await holdsRegister(target)))))
    throw refused(`${to} holds a register already; give an empty database`);
  if (copyOf === null) return;
  if (copyOf.from !== from) throw refused(`${to} is an unfinished copy of ${copyOf.from}, not of ${from}`);
  if (copyOf.register !== register) throw refused(`${to} is an unfinished copy of another register`);
}

/** @throws TvsError DATABASE_IN_USE */
export async function refuseService(driver: Driver, place: string): Promise<void> {
  if (!(await driver.serviceRunning())) return;
  throw new TvsError("DATABASE_IN_USE", `a \`tvs serve\` uses ${place}; stop it first`);
}

/**
 * Copies, compares, and hands over; what an earlier run has done stays done.
 * @throws TvsError REFUSED when the source is changed meanwhile or a row differs, DATABASE_IN_USE, STORE_*
 */
export async function moveRegister(move: Move & { register: string }): Promise<TableDigest[]> {
  const { source, target } = move;
  await prepare(source);
  await prepare(target);
  if (target.kind === "embedded") for (const setting of bulkSettings) await target.query(`PRAGMA ${setting}`);
  const tables = await readTables(source);
  const stand = await standOf(source, tables);
  await begin(move, tables, stand);
  try {
    const digests = await copyAndVerify(move, tables);
    await handOver(move, tables, stand);
    return digests;
  } catch (error) {
    if (error instanceof TvsError && error.code === "REFUSED") await setCopy(move, null);
    throw error;
  }
}

/** Brings a database to this program's schema, and keeps every service out of a file until it is closed. */
async function prepare(driver: Driver): Promise<void> {
  await makeSchema(driver);
  if (driver.kind === "embedded") await driver.lockService();
}

async function setCopy({ target, register, from }: Move & { register: string }, stand: CopyOf["stand"]) {
  await target.batch([markCopy({ register, from, stand })]);
}

/** Makes the target a copy that is empty, or finds it one that is as far as an earlier run came. */
async function begin(move: Move & { register: string }, tables: readonly MovedTable[], stand: string) {
  const { copyOf } = await readMarks(move.target);
  if (copyOf?.stand === stand) return;
  await setCopy(move, null);
  await clearTables(move.target, tables);
  await setCopy(move, stand);
}

async function copyAndVerify(move: Move, tables: readonly MovedTable[]): Promise<TableDigest[]> {
  let [done, total] = [0, 0];
  for (const table of tables) total += 2 * (await countRows(move.source, table));
  const onRows = (count: number) => {
    done += count;
    move.onProgress(done, total);
  };
  for (const table of tables) await copyTable(table, move, onRows);
  const digests: TableDigest[] = [];
  for (const table of tables) digests.push(await verifyTable(table, move, onRows));
  return digests;
}

/**
 * The two last steps, of which each is one commit.
 * @throws TvsError REFUSED when the source is not any more what was compared
 */
async function handOver(move: Move, tables: readonly MovedTable[], stand: string): Promise<void> {
  const { source, target, to, now } = move;
  // What the log holds goes into the file: whoever finds it first would wait for that.
  if (target.kind === "embedded") await target.query("PRAGMA wal_checkpoint(TRUNCATE)");
  if ((await readMarks(source)).movedTo === null) {
    // Over a file the lock keeps services out, and a row of one that was killed a moment ago says nothing.
    const nobody = source.kind === "embedded" ? "" : `AND NOT EXISTS (${liveNodeIds("remote")})`;
    const sql = `${standSql(tables)} = ? AND NOT EXISTS (${unfinishedImport}) ${nobody}`;
    const [marked] = await source.batch([markMoved({ to, at: isoTime(now) }, { sql, args: [stand] })]);
    if (marked?.length === 0)
      throw refused("the register was changed or served while it was moved; it stays where it is; try again");
  }
  await target.batch([removeMarks]);
}

/** @returns what a move is refused with */
export function refused(message: string): TvsError {
  return new TvsError("REFUSED", message);
}
