import type { Driver } from "../../src/store/driver/driver.ts";
import { countOf } from "../harness/trial.ts";

/** The number of rounds; TVS_KILLS sets another. */
export const roundsOf = (few: number) => countOf("TVS_KILLS", few);

/** The time limit of a test in milliseconds: three hours if TVS_KILLS is set. */
export const limitFor = (fewMs: number) => (process.env.TVS_KILLS ? 3 * 3_600_000 : fewMs);

/** Faults that were found: their number, their names, or a sentence. */
type Faults = Readonly<Record<string, number | string | readonly string[]>>;

/** Drops the kinds of faults that were not found. */
export function broken(faults: Faults): Faults {
  return Object.fromEntries(
    Object.entries(faults).filter(([, found]) => found !== 0 && String(found) !== ""),
  );
}

export async function damageOf(database: Driver): Promise<string> {
  const [check] = await database.query("PRAGMA integrity_check");
  return check?.integrity_check === "ok" ? "" : String(check?.integrity_check);
}
