/** Questions at a terminal, one after the other, for commands that would else need many options. */

import { createInterface } from "node:readline";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { note, terminalWidth } from "./output.ts";
import { wrapped } from "./tables.ts";

export type Question = {
  readonly name: string;
  readonly words: string;
  /** The answer of who only presses Enter; absent where there must be one, empty where there need not. */
  readonly usual?: string;
  /** Refuses an answer. @throws TvsError whose message says why */
  check(answer: string): void;
};

/** Whether somebody is there to be asked. */
export function canAsk(args: { json?: unknown }): boolean {
  return args.json !== true && process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/**
 * Asks each question until its answer is right. Questions go to stderr, as all remarks do.
 * @returns the answers by their names, without those that were left empty
 * @throws TvsError REFUSED when the input ends before the last answer
 */
export async function ask(questions: readonly Question[]): Promise<Record<string, string>> {
  // One reader for all answers: what a second one would begin with, the first has already read.
  const asked = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const lines = asked[Symbol.asyncIterator]();
  const answers: Record<string, string> = {};
  try {
    for (const question of questions) {
      const answer = await askOne(question, lines);
      if (answer !== "") answers[question.name] = answer;
    }
    return answers;
  } finally {
    asked.close();
  }
}

async function askOne(question: Question, lines: AsyncIterator<string>): Promise<string> {
  const { words, usual, check } = question;
  const prompt = wrapped(`${words}${usual ? ` [${usual}]` : ""}:`, terminalWidth() - 1);
  for (;;) {
    process.stderr.write(`${prompt} `);
    const { value, done } = await lines.next();
    if (done === true) throw new TvsError("REFUSED", "cancelled; nothing was made");
    const answer = value.trim() || usual;
    try {
      if (answer === undefined) throw new TvsError("USAGE", "this one must be answered");
      if (answer !== "") check(answer);
      return answer;
    } catch (error) {
      if (!isTvsError(error)) throw error;
      note(`  ${error.message}`);
    }
  }
}
