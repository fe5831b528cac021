/** One row of a statement, to be shown without the others: `tvs verify STATEMENT --row N --out ROW.json`. */

import process from "node:process";
import { readConfig } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import { rowOfStatement } from "../../src/partner/verify-statement.ts";
import { prepareOutput } from "../safe/output-file.ts";
import { parseCount } from "../terminal/output.ts";
import type { TakeStatement } from "./judge.ts";
import type { VerifyFlags } from "./options.ts";

/** Takes the row out of the one statement of a run. */
export type RowTaker = {
  readonly take: TakeStatement /** @throws TvsError when there was none */;
  end(): void;
};

/**
 * @param flags what was given
 * @param paths what is to be judged
 * @returns null where no row is asked for
 * @throws TvsError USAGE
 */
export function rowTaker(flags: VerifyFlags, paths: readonly string[]): RowTaker | null {
  const { row: text, out, force = false } = flags;
  if (text === undefined && out === undefined) return null;
  if (text === undefined || out === undefined)
    throw new TvsError(
      "USAGE",
      "--row N and --out FILE belong together: which row of a statement, and where it goes",
    );
  const row = parseCount(text, "--row");
  const file = prepareOutput({
    flag: "--out",
    path: out,
    force,
    config: readConfig({}, process.env),
    inputs: paths.filter((path) => path !== "-"),
  });
  let taken = 0;
  return {
    async take(statement) {
      if (++taken > 1) throw new TvsError("USAGE", "--row takes a row of one statement: name one file");
      const alone = await rowOfStatement(statement, row);
      if (alone instanceof Refusal) throw new TvsError("USAGE", `--row: ${alone.detail}`);
      await file.write(`${JSON.stringify(alone, null, 2)}\n`);
    },
    end() {
      if (taken === 0) throw new TvsError("USAGE", "--row: there was no valid statement to take a row of");
    },
  };
}
