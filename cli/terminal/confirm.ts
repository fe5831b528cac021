import { createInterface } from "node:readline";
import { TvsError } from "../../src/domain/errors.ts";
import { toggle } from "../command.ts";
import { escapeUnprintable, wrapText } from "./output.ts";

export const yesArg = {
  yes: toggle("Do not ask for confirmation"),
} as const;

/** How long to wait for an answer from a pipe. A script writes its answer before the command begins, or never. */
const waitingAnswerMs = 500;

/**
 * Asks for confirmation at a terminal; only `y` and `yes` agree. A script is not asked (decision D1.7): the command
 * continues, unless the script wrote another answer to standard input.
 * @param consequence a sentence that says what cannot be undone @throws TvsError REFUSED if the answer is not yes
 */
export async function requireConfirmation(
  args: { yes?: boolean | undefined },
  consequence: string,
): Promise<void> {
  if (args.yes === true) return;
  if (process.stdin.isTTY !== true) {
    if (isYes((await readPipedAnswer()) ?? "yes")) return;
    const found = "the answer on standard input is not yes (with --yes it is not read)";
    throw new TvsError("REFUSED", `cancelled; nothing was changed: ${found}`);
  }
  if (process.stderr.isTTY !== true) return;
  const question = `${wrapText(escapeUnprintable(consequence))}\nContinue? [y/N] `;
  // The question goes to stderr: stdout may be a file that gets only the result.
  const asked = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  process.stderr.write(question);
  // Ctrl-D ends the iterator, which counts as the answer no. The promise of readline's question() would never settle.
  const { value: answer = "" } = await asked[Symbol.asyncIterator]().next();
  asked.close();
  if (!isYes(answer))
    throw new TvsError("REFUSED", "cancelled; nothing was changed (use --yes to skip this question)");
}

const isYes = (answer: string) => /^y(es)?$/i.test(answer.trim());

/** Reads the first line of standard input. @returns null without input, for example if a timer runs the command */
function readPipedAnswer(): Promise<string | null> {
  const { stdin } = process;
  return new Promise((resolve) => {
    const settle = (text: string | null) => {
      clearTimeout(timer);
      // An open input would keep the process alive.
      stdin.destroy();
      resolve(text);
    };
    const timer = setTimeout(() => settle(null), waitingAnswerMs);
    stdin.once("data", (chunk) => settle(String(chunk).split("\n")[0] ?? ""));
    stdin.once("end", () => settle(null));
    stdin.once("error", () => settle(null));
  });
}
