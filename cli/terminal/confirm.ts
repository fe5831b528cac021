/** The confirmation of commands that cannot be undone. */

import { createInterface } from "node:readline";
import { TvsError } from "../../src/domain/errors.ts";
import { terminalWidth } from "./output.ts";
import { printable } from "./printable.ts";
import { wrapped } from "./tables.ts";

export const yesArg = {
  yes: { type: "boolean", description: "Do not ask for confirmation" },
} as const;

/**
 * Asks for confirmation at a terminal; everything but y and yes is a no. A script has said what it wants by
 * calling the command and is not asked: decision D1.7 leaves the question out of the command line.
 *
 * @param consequence what cannot be undone, a whole sentence
 * @throws TvsError REFUSED when the answer is not yes
 */
export async function confirm(args: { yes?: boolean | undefined }, consequence: string): Promise<void> {
  if (args.yes === true || process.stdin.isTTY !== true || process.stderr.isTTY !== true) return;
  const question = `${wrapped(printable(consequence), terminalWidth())}\nContinue? [y/N] `;
  // The question goes where remarks go: stdout may be a file that is to hold the result alone.
  const asked = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const answer = await new Promise<string>((resolve) => {
    // Ctrl-D ends the input, which is no yes; the promise of question() would never settle then.
    asked.once("close", () => resolve(""));
    asked.once("line", resolve);
    process.stderr.write(question);
  });
  asked.close();
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new TvsError("REFUSED", "cancelled; nothing was changed (use --yes to skip this question)");
}
