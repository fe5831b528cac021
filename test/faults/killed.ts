import type { Driver } from "../../src/store/driver/driver.ts";
import { readTryCount } from "../harness/trial.ts";

/** The number of rounds: TVS_KILLS, or `few` without it. */
export const roundCount = (few: number) => readTryCount("TVS_KILLS", few);

/** The time limit of a test in milliseconds; three hours if TVS_KILLS is set. */
export const timeLimit = (fewMs: number) => (process.env.TVS_KILLS ? 3 * 3_600_000 : fewMs);

/** Broken promises by kind: their number, a list of them, or a sentence; 0 or empty if there are none. */
type Faults = Readonly<Record<string, number | string | readonly string[]>>;

/** Keeps the kinds of broken promises that were found. */
export function foundFaults(faults: Faults): Faults {
  return Object.fromEntries(
    Object.entries(faults).filter(([, found]) => found !== 0 && String(found) !== ""),
  );
}

/** Has SQLite check the whole database. @returns the error that it found, else "" */
export async function integrityErrorOf(database: Driver): Promise<string> {
  const [check] = await database.query("PRAGMA integrity_check");
  return check?.integrity_check === "ok" ? "" : String(check?.integrity_check);
}
