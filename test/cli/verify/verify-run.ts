/** Runs `tvs verify` in memory, over the fixtures. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "citty";
import { verifyArgs } from "../../../cli/verify/options.ts";
import { runVerify } from "../../../cli/verify/verify.ts";
import { isTvsError } from "../../../src/domain/errors.ts";
import { audience, folder, issuer, now } from "../../fixtures/envelope-tokens.ts";

export const jwks = join(folder, "keys", "jwks.json");
export const keyHistory = join(folder, "keys", "history.jose");
export const settings = ["--jwks", jwks, "--key-history", keyHistory];
settings.push("--issuer", issuer, "--audience", audience);

export type Run = { code: number; stdout: string; stderr: string; objects: Record<string, unknown>[] };

async function* oneChunk(content: string | Uint8Array): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}

export async function run(
  args: string[],
  options: {
    env?: Record<string, string>;
    stdin?: string | Uint8Array;
    stream?: AsyncIterable<Uint8Array>;
    color?: boolean;
  } = {},
): Promise<Run> {
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

export function input(name: string): string {
  return join(folder, "inputs", name);
}

export function fixture(name: string): Promise<string> {
  return readFile(input(name), "utf8");
}
