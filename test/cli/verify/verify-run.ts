/** Runs `tvs verify` in memory, over the fixtures. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "citty";
import { verifyArgs } from "../../../cli/verify/options.ts";
import { runVerify } from "../../../cli/verify/verify.ts";
import { isTvsError } from "../../../src/domain/errors.ts";
import { audience, folder, issuer, now } from "../../fixtures/envelope-tokens.ts";

export const jwksFile = join(folder, "keys", "jwks.json");
export const keyHistoryFile = join(folder, "keys", "history.jose");
export const trustOptions = ["--jwks", jwksFile, "--key-history", keyHistoryFile];
trustOptions.push("--issuer", issuer, "--audience", audience);

export type VerifyRun = { code: number; stdout: string; stderr: string; objects: Record<string, unknown>[] };

async function* oneChunk(content: string | Uint8Array): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}

export async function runVerifyCommand(
  args: string[],
  options: {
    env?: Record<string, string>;
    stdin?: string | Uint8Array;
    stream?: AsyncIterable<Uint8Array>;
    color?: boolean;
  } = {},
): Promise<VerifyRun> {
  let [stdout, stderr] = ["", ""];
  const io = {
    stdout: (text: string) => {
      stdout += text;
    },
    ...{ env: options.env ?? {}, now: new Date(now), color: options.color ?? false },
    stdin: options.stream ?? oneChunk(options.stdin ?? ""),
  };
  const line = { args: parseArgs(args, verifyArgs), rawArgs: args };
  const code = await runVerify(line, io).catch((error: unknown) => {
    if (!isTvsError(error)) throw error;
    stderr = `tvs verify: ${error.message}\n`;
    return 2;
  });
  const lines = args.includes("--json") ? stdout.trimEnd().split("\n").filter(Boolean) : [];
  return { code, stdout, stderr, objects: lines.map((line) => JSON.parse(line)) };
}

export function inputPath(name: string): string {
  return join(folder, "inputs", name);
}

export function readInput(name: string): Promise<string> {
  return readFile(inputPath(name), "utf8");
}
