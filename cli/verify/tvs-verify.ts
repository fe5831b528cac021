/** The program `tvs-verify` of the partners' package (decision D14.1): only `tvs verify`, for Node, Bun and Deno. */

import process from "node:process";
import { runCommand } from "citty";
import { moveKeyIdsLast, type TvsCommand, tvsVersion } from "../command.ts";
import { addUsageToError, formatCommandHelp, printFailure } from "../terminal/help.ts";
import { exitCodes } from "../terminal/output.ts";
import { makeVerifyCommand } from "./verify.ts";

const program = "tvs-verify";

/** Options that every command of `tvs` has for its register. The package has no register, so its help omits these options. */
const ofRegister = ["data", "database", "sandbox"];

async function help(command: TvsCommand): Promise<string> {
  const args = Object.entries(command.args ?? {}).filter(([name]) => !ofRegister.includes(name));
  return formatCommandHelp({ ...command, args: Object.fromEntries(args) }, [program]);
}

async function runCommandLine(words: readonly string[]): Promise<number> {
  const command = makeVerifyCommand(program);
  const isAsked = (...flags: string[]) => words.some((word) => flags.includes(word));
  try {
    if (isAsked("--help", "-h")) process.stdout.write(await help(command));
    else if (words.length === 1 && isAsked("--version", "-v")) process.stdout.write(`${tvsVersion}\n`);
    else
      await runCommand(command, { rawArgs: moveKeyIdsLast(words, command) }).catch((error: unknown) => {
        throw addUsageToError(error, command, [program]);
      });
    return Number(process.exitCode ?? exitCodes.done);
  } catch (error) {
    return printFailure(error, words, program);
  }
}

process.exitCode = await runCommandLine(process.argv.slice(2));
