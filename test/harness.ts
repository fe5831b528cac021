import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OpenOptions, type Operator, openOperator } from "../cli/open.ts";
import { readConfig } from "../src/config.ts";

/** Gives a test a folder of its own and removes it afterwards. */
export async function withTempDir<T>(act: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "tvs-test-"));
  try {
    return await act(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Across the files of one run, each of which loads this one anew. */
const shared = globalThis as { emptyRegister?: Promise<ReadonlyMap<string, Uint8Array>> };

/** The files of an empty register, by name: making its two signing keys takes a quarter of a second. */
function emptyRegister(): Promise<ReadonlyMap<string, Uint8Array>> {
  return withTempDir(async (folder) => {
    const operator = await openOperator(readConfig({ data: folder }, {}), { whenMade: () => {} });
    await operator.driver.close();
    const names = readdirSync(folder).filter((name) => !name.endsWith("-shm"));
    return new Map(names.map((name) => [name, readFileSync(join(folder, name))]));
  });
}

/** Makes an empty register, as the first `tvs serve` or `tvs teachers import` does. All of one run have the same keys. */
export async function makeRegister(dataDir: string): Promise<void> {
  shared.emptyRegister ??= emptyRegister();
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  for (const [name, content] of await shared.emptyRegister)
    writeFileSync(join(dataDir, name), content, { mode: 0o600 });
}

/** The real composition over a data directory, closed afterwards; an empty register is made where there is none. */
export async function withTestOperator<T>(
  dataDir: string,
  act: (operator: Operator) => Promise<T>,
  options: OpenOptions = {},
): Promise<T> {
  if (options.clock === undefined && !existsSync(join(dataDir, "tvs.db"))) await makeRegister(dataDir);
  const operator = await openOperator(readConfig({ data: dataDir }, {}), { whenMade: () => {}, ...options });
  try {
    return await act(operator);
  } finally {
    await operator.driver.close();
  }
}
