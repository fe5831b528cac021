import { expect } from "bun:test";
import { join } from "node:path";
import { TvsError } from "../../../src/domain/errors.ts";
import type { Driver } from "../../../src/store/driver/driver.ts";
import { openEmbedded } from "../../../src/store/driver/embedded.ts";
import { cancelMove } from "../../../src/store/move/cancel.ts";
import type { TableDigest } from "../../../src/store/move/copy.ts";
import { moveRegister, requireFree, requireMovable } from "../../../src/store/move/move.ts";
import { createSettingsStore } from "../../../src/store/settings.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { rejection } from "../../harness/rejection.ts";
import { makeEveryRow } from "./every-row.ts";

/** Where a database is, and how it is opened. */
export type Place = { readonly at: string; open(): Promise<Driver> };
/** What stands between the move and a database. */
export type Between = (driver: Driver) => Driver;

let folder = "";
let made = 0;

/** Makes the folder in which the databases of a test file lie; each file begins with it. */
export function usePlaces(): void {
  folder = sharedFolder();
}

/** What a move is refused with. */
export const refusal = (reason: RegExp) => ({ code: "REFUSED", message: expect.stringMatching(reason) });

export const missing = new TvsError("REGISTER_MISSING", "there is no register");

export function aFile(): Place & { file: string } {
  const file = join(folder, `${++made}.db`);
  return { at: `file:${file}`, file, open: () => openEmbedded({ file }) };
}

export async function aRegister(): Promise<Place> {
  const place = aFile();
  await makeEveryRow(place.file);
  return place;
}

export async function over<T>(place: Place, act: (driver: Driver) => Promise<T>): Promise<T> {
  const driver = await place.open();
  try {
    return await act(driver);
  } finally {
    await driver.close();
  }
}

/** The whole of `tvs migrate --to`, but for the command line. */
export function move(from: Place, to: Place, between: Between = (driver) => driver): Promise<TableDigest[]> {
  return over(from, (source) =>
    over(to, async (target) => {
      const names = { from: from.at, to: to.at };
      const movable = await requireMovable(source, { ...names, missing });
      await requireFree(target, { ...movable, ...names });
      const sides = { source: between(source), target: between(target) };
      return moveRegister({ ...sides, ...names, ...movable, now: 1_700_000_000_000, onProgress() {} });
    }),
  );
}

export function cancel(from: Place, to: Place | null): Promise<void> {
  return over(from, async (source) => {
    if (to === null) return cancelMove({ source, from: from.at, missing, target: null });
    return over(to, (driver) =>
      cancelMove({ source, from: from.at, missing, target: { driver, to: to.at } }),
    );
  });
}

/** Everything that a database holds, with the type of each value, but for its marks and who serves it. */
export function dump(place: Place): Promise<Record<string, unknown>> {
  return over(place, async (driver) => {
    const tables = await driver.query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
    const content: Record<string, unknown> = {};
    for (const { name } of tables) {
      if (["schema_steps", "nodes", "leases"].includes(String(name))) continue;
      const columns = await driver.query(`SELECT name FROM pragma_table_info('${name}')`);
      const [{ wr } = {}] = await driver.query(`SELECT wr FROM pragma_table_list('${name}')`);
      const all = [...(wr === 0 ? ["rowid"] : []), ...columns.map((row) => String(row.name))];
      const values = all.map((one) => `typeof(${one}) || quote(${one})`).join(" || ',' || ");
      const marks = name === "settings" ? "WHERE name NOT GLOB 'copy_*' AND name NOT GLOB 'moved_*'" : "";
      content[String(name)] = (
        await driver.query(`SELECT ${values} AS v FROM ${name} ${marks} ORDER BY 1`)
      ).map(({ v }) => v);
    }
    return content;
  });
}

/** Whether commands and services would use a database: it holds a register, and says nothing against it. */
export function isInUse(place: Place): Promise<boolean> {
  return over(place, async (driver) => {
    const tables = await driver.query("SELECT 1 FROM sqlite_master WHERE name = 'signing_keys'");
    if (tables.length === 0 || (await driver.query("SELECT 1 FROM signing_keys")).length === 0) return false;
    return (await rejection(createSettingsStore(driver).read())) === undefined;
  });
}

/** The count of the source's own mark stays with it, so that only the copy has the counter that the source had. */
export function withoutRevision({ revision: _revision, ...others }: Record<string, unknown>) {
  return others;
}

export class Killed extends Error {}

/** Ends after so many commits, as a kill does: nothing comes after. */
export function killedAfter(commits: number): Between {
  let left = commits;
  return (driver) => ({
    ...driver,
    query: (sql, args) => (left < 0 ? Promise.reject(new Killed()) : driver.query(sql, args)),
    async batch(statements) {
      if (--left < 0) throw new Killed();
      return driver.batch(statements);
    },
  });
}
