/** How a command line fails: in one line, by the frozen exit codes (decision D1.2). */

import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { storeError } from "../../src/store/driver/driver.ts";
import { codeOf } from "../../src/store/driver/files.ts";
import { argsOf, type OurCommand } from "../command.ts";
import { usage } from "./help.ts";
import { exitCodeOf } from "./output.ts";
import { printable } from "./printable.ts";

/** A usage error with the whole usage: citty names only the first argument that is missing. */
export function withUsage(error: unknown, command: OurCommand, path: readonly string[]): unknown {
  const { name, message = "" } = error as { name?: string; message?: string };
  if (name !== "CLIError") return error;
  const words = usage(path, Object.entries(argsOf(command)));
  return new TvsError(
    "USAGE",
    `${message.charAt(0).toLowerCase()}${message.slice(1)}; usage: ${words}; --help explains them`,
  );
}

/**
 * Prints a failure in one line that says what is wrong and what to do, never a stack trace.
 *
 * @param error what was thrown
 * @param words the command line
 * @param program how the line begins
 * @returns the exit code
 */
export function fail(error: unknown, words: readonly string[], program = "tvs"): number {
  const known = asTvsError(error);
  const { code, message } = known;
  process.stderr.write(`${program}: ${printable(message.replaceAll("\n", " "))}\n`);
  if (words.includes("--json")) {
    process.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`);
  }
  if (process.env.TVS_DEBUG && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  return exitCodeOf(known);
}

function asTvsError(error: unknown): TvsError {
  if (isTvsError(error)) return error;
  const { message, path } = error as { message?: string; path?: string };
  if (path !== undefined && ["EACCES", "EPERM"].includes(codeOf(error)))
    return new TvsError("INPUT_UNREADABLE", `${path} cannot be entered or read by this user`, {
      cause: error,
    });
  const ofDisk = storeError(error);
  if (["STORE_FULL", "STORE_READ_ONLY"].includes(ofDisk.code)) return ofDisk;
  return new TvsError("INTERNAL", `internal error: ${message ?? String(error)}; set TVS_DEBUG=1 for details`);
}
