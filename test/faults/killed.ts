import type { Driver } from "../../src/store/driver/driver.ts";
import { childEnvironment, type Environment, programWords } from "../harness/program.ts";
import { countOf } from "../harness/trial.ts";

type Victim = { readonly words: readonly string[]; readonly env?: Environment };

/**
 * Starts a command, kills it with SIGKILL when the moment has come, if it has not ended before, and waits for its end.
 * @param moment settles when the command is to die; it is told whether the command has ended by itself
 */
export async function killed(
  { words, env = {} }: Victim,
  moment: (hasEnded: () => boolean) => Promise<unknown>,
): Promise<void> {
  const child = Bun.spawn([...programWords, ...words], {
    stdio: ["ignore", "ignore", "ignore"],
    env: childEnvironment(env),
  });
  await moment(() => child.exitCode !== null);
  child.kill("SIGKILL");
  await child.exited;
}

/** How many rounds there are: for as long as you like with TVS_KILLS. */
export const roundsOf = (few: number) => countOf("TVS_KILLS", few);

/** How long a test may take, in milliseconds: more rounds than usual may take as long as they like. */
export const limitFor = (fewMs: number) => (process.env.TVS_KILLS ? 3 * 3_600_000 : fewMs);

/** What was found of faults: how many, their names, or a sentence. */
type Faults = Readonly<Record<string, number | string | readonly string[]>>;

/** Those faults that there were: of a program that keeps its promises, none. */
export function broken(faults: Faults): Faults {
  return Object.fromEntries(
    Object.entries(faults).filter(([, found]) => found !== 0 && String(found) !== ""),
  );
}

export async function damageOf(database: Driver): Promise<string> {
  const [check] = await database.query("PRAGMA integrity_check");
  return check?.integrity_check === "ok" ? "" : String(check?.integrity_check);
}
