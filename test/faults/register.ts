import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Driver } from "../../src/store/driver/driver.ts";
import { openDatabaseFile } from "../../src/store/driver/file.ts";
import { openDatabaseServer } from "../../src/store/server/remote.ts";
import { type Environment, runJson, runWell } from "../harness/program.ts";

/** Where a register is: in its data folder, or on the server of the environment's TVS_DATABASE. */
export type Register = { readonly dataDir: string; readonly env?: Environment };

const columns = [
  ...["reg_no", "t_id", "name", "source", "certificate_status", "license_issue_date", "license_expiry_date"],
  ...["license_revoked_on", "license_revoked_reason"],
];

/** Imports lines with the values of {@link columns} into a register. */
export async function importLines(register: Register, lines: readonly string[], flag: string): Promise<void> {
  const file = join(register.dataDir, "extract.csv");
  await mkdir(register.dataDir, { recursive: true });
  await writeFile(file, `${columns}\n${lines.join("\n")}\n`);
  await runWell(["teachers", "import", file, flag], register);
}

/** Imports `count` teachers into a register; the first has the teacher id 1. */
export function importTeachers(register: Register, count: number): Promise<void> {
  const lines = Array.from(
    { length: count },
    (_, n) => `TR/2020/LA/${n},${n + 1},Teacher ${n},new_system,VERIFIED,2020-01-01,2099-12-31,,`,
  );
  return importLines(register, lines, "--baseline");
}

/** Adds a partner with all scopes and purposes, and no daily limit that a test reaches. @returns its API key */
export async function addPartner(register: Register, id: string, perMinute: number): Promise<string> {
  const add = [
    ...["partners", "add", id, "--name", id, "--scopes", "all", "--purposes", "all"],
    ...["--per-minute", String(perMinute), "--per-day", "1000000000"],
  ];
  const { apiKey } = await runJson<{ apiKey: string }>(add, register);
  return apiKey;
}

/**
 * Opens the database of a register, to compare answers and deliveries with its rows.
 * @param waitMs how long to wait for a libSQL server
 */
export function openDatabase({ dataDir, env = {} }: Register, waitMs = 60_000): Promise<Driver> {
  const url = env.TVS_DATABASE;
  return url === undefined
    ? openDatabaseFile({ file: join(dataDir, "tvs.db") })
    : openDatabaseServer({ url, waitMs });
}
