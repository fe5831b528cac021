import { Buffer } from "node:buffer";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { type ImportOptions, importIntoRegister } from "../../src/domain/import/import.ts";
import type { ReadOptions } from "../../src/domain/import/read.ts";
import type { ImportResult } from "../../src/domain/import/report.ts";
import type { TeacherWrite } from "../../src/domain/teachers/store.ts";
import { createImportStore, type ImportRun, type ImportStore } from "../../src/store/imports.ts";
import { lagos } from "./clock.ts";
import { type TestStores, withStoresAt } from "./store.ts";

export const today = "2026-03-10";

export type Issue = { line: number; regNo?: string; field: string | null; code: string };
/** Removes the registration number from an issue. */
export const withoutRegNo = ({ line, field, code }: Issue) => ({ line, field, code });
type Report = { rejected: Issue[]; warnings: Issue[]; codes: Record<string, string>; text: string };
type Imported = ImportResult & { report: Report };

export type TestImports = ReturnType<typeof openImports>;

export type AddOptions = ImportOptions & {
  name?: string;
  through?: ImportStore;
  pieceBytes?: number;
  reading?: ReadOptions;
};

/** Opens a register whose clock is at noon of {@link today} in Lagos, with functions for imports. */
export function withImports(run: (world: TestImports) => Promise<void>): Promise<void> {
  return withStoresAt(`${today}T12:00:00+01:00`, (stores) => run(openImports(stores)));
}

function openImports(stores: TestStores) {
  const { folder, driver, teachers, clock } = stores;
  const imports = createImportStore(driver, folder);
  const blindIndex = createBlindIndex(new Uint8Array(32).fill(7));
  const find = (regNo: string) => teachers.findStored({ by: "regNo", value: regNo });

  /** Imports a file's text or bytes; `through` replaces the import store. */
  async function add(content: string | Uint8Array, options: AddOptions = {}): Promise<Imported> {
    const { name = "extract.csv", through = imports, pieceBytes = 7, reading, ...rest } = options;
    // Records of one import must be older than the next import.
    clock.add(1000);
    let text = "";
    const writeReport = async (pieces: AsyncIterable<string>) => {
      for await (const piece of pieces) text += piece;
    };
    const input = { name, bytes: inPieces(Buffer.from(content), pieceBytes), reading };
    const dependencies = { teachers, imports: through, blindIndex, calendar: lagos, clock, actor: "test" };
    const result = await importIntoRegister(input, dependencies, { ...rest, writeReport });
    return { ...result, report: { ...(JSON.parse(text) as Report), text } };
  }

  return {
    ...{ ...stores, find, imports, blindIndex, add },
    async eventTypes(regNo: string): Promise<string[]> {
      const events = await teachers.events((await find(regNo))?.id ?? 0);
      return events.map((event) => event.eventType);
    },
    async count(sql: string): Promise<number> {
      const [row] = await driver.query(sql);
      return Number(Object.values(row ?? {})[0]);
    },
    /** All files of the data folder as one Latin-1 text. */
    everything: () =>
      readdirSync(folder)
        .map((name) => readFileSync(join(folder, name)).toString("latin1"))
        .join("\n"),
  };
}

/** Splits a file into small pieces, with ends within rows and characters. */
async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export async function beginImport(
  imports: ImportStore,
  changes: Partial<Parameters<ImportStore["begin"]>[0]> = {},
): Promise<ImportRun> {
  const started = { file: "extract.csv", sha256: "", isSample: false, unchanged: 0, at: 1 };
  return (await imports.begin({ ...started, losses: "allowed", ...changes })).run;
}

export function commitChunk(
  imports: ImportStore,
  run: ImportRun,
  writes: readonly TeacherWrite[],
  next: Omit<ImportRun, "id">,
) {
  return imports.commit(run, async () => ({ writes, next: { ...next, id: run.id } }));
}

/** Makes an import store that fails after `after` commits, as if the process had been killed. */
export function failingAt(imports: ImportStore, after: number, error: Error): ImportStore {
  let commits = 0;
  return {
    ...imports,
    async commit(...args) {
      if (commits++ >= after) throw error;
      return imports.commit(...args);
    },
  };
}

export type Cells = Readonly<Record<string, string>>;

const plain: Cells = {
  reg_no: "TR/2019/LA/1",
  name: "Adaeze Okafor",
  source: "new_system",
  certificate_status: "VERIFIED",
  license_issue_date: "2019-03-01",
  license_expiry_date: "2090-02-28",
};

/** Makes the row of a licensed and certified teacher. */
export function row(number: number | string, changes: Cells = {}): Cells {
  return { ...plain, reg_no: `TR/2019/LA/${number}`, ...changes };
}

export function rows(count: number, changes: Cells = {}): Cells[] {
  return Array.from({ length: count }, (_, n) => row(n + 1, changes));
}

/** Writes rows as CSV, with the columns of all rows. */
export function csv(records: readonly Cells[]): string {
  const columns = [...new Set(records.flatMap((one) => Object.keys(one)))];
  const lines = records.map((one) => columns.map((column) => quoted(one[column] ?? "")).join(","));
  return `${[columns.join(","), ...lines].join("\n")}\n`;
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
