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

/** Makes an empty register, as the first `tvs serve` or `tvs teachers import` does. */
export function makeRegister(dataDir: string): Promise<void> {
  return withTestOperator(dataDir, async () => {});
}

/** The real composition over a data directory, closed afterwards. */
export async function withTestOperator<T>(
  dataDir: string,
  act: (operator: Operator) => Promise<T>,
  options: OpenOptions = {},
): Promise<T> {
  const operator = await openOperator(readConfig({ data: dataDir }, {}), { whenMade: () => {}, ...options });
  try {
    return await act(operator);
  } finally {
    await operator.driver.close();
  }
}
