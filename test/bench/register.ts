import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RunOptions, runJson, runWell, startService } from "../harness/program.ts";
import type { Cleanup } from "./cleanup.ts";

/** A program that is measured; `words` starts it. */
export type Program = {
  readonly words: readonly string[];
  /** Whether it is the other build, with which this source's program is compared. */
  readonly isEarlier: boolean;
  /** Further options of its `serve`. */
  readonly options: readonly string[];
};

const columns =
  "reg_no,t_id,name,nin,email,phone,state,category,source,certificate_status,certificate_issue_date," +
  "license_issue_date,license_expiry_date,license_revoked_on";

/** Makes the CSV row of a made-up teacher. Some have an expired or revoked licence, or come from the old register. */
function teacherLine(n: number): string {
  const contacts = `${20_000_000_000 + n},teacher${n}@example.com,+23480${30_000_000 + n}`;
  const source = n % 20 === 11 ? "legacy,LEGACY_RECORD" : "new_system,VERIFIED";
  const expiry = n % 20 === 3 ? "2024-12-31" : "2099-12-31";
  const revoked = n % 20 === 7 ? "2024-06-01" : "";
  return (
    `TR/2020/LA/${String(n).padStart(6, "0")},${n},Teacher Number ${n},${contacts},Lagos,Secondary,` +
    `${source},2020-03-01,2024-01-01,${expiry},${revoked}`
  );
}

/** Writes an extract of made-up teachers, numbered from 1. @returns its path */
export async function writeExtract(folder: string, rows: number): Promise<string> {
  const file = join(folder, `extract-${rows}.csv`);
  const lines = Array.from({ length: rows }, (_, index) => teacherLine(1 + index));
  await writeFile(file, `${[columns, ...lines].join("\n")}\n`);
  return file;
}

/** Makes an empty register with the program that is measured, because another build may have other tables. */
export async function initRegister(options: RunOptions): Promise<void> {
  await runWell(["init", "--issuer", "http://127.0.0.1:1", "--name", "Bench"], options);
}

/** A register with a partner, served by its own process. */
export type ServedRegister = {
  readonly program: Program;
  readonly url: string;
  readonly pid: number;
  readonly apiKey: string;
  readonly teachers: number;
  /** The path of a copy of its database, made before it was served. */
  readonly copy: string;
};

/** Makes a register of made-up teachers, and serves it with limits that no load reaches. */
export async function startRegister(
  program: Program,
  { folder, teachers, cleanup }: { folder: string; teachers: number; cleanup: Cleanup },
): Promise<ServedRegister> {
  const name = program.isEarlier ? "other" : "own";
  const options = { dataDir: join(folder, name), program: program.words };
  await initRegister(options);
  await runJson(["teachers", "import", await writeExtract(folder, teachers), "--baseline"], options);
  const terms = "--scopes all --purposes all --per-minute 10000000 --per-day 1000000000".split(" ");
  const add = ["partners", "add", "caller", "--name", "Caller", ...terms];
  const { apiKey } = await runJson<{ apiKey: string }>(add, options);
  const copy = join(folder, `${name}.db`);
  await copyFile(join(options.dataDir, "tvs.db"), copy);
  const args = ["--public-per-minute", "100000000", ...program.options];
  const service = await startService({ ...options, args });
  cleanup(() => service.stop());
  return { program, url: service.url, pid: service.pid, apiKey, teachers, copy };
}
