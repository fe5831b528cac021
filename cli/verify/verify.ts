/** The command `tvs verify`, which verifies offline with src/partner, as partners do. */

import { stat } from "node:fs/promises";
import process from "node:process";
import type { Environment } from "../../src/config.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import type { EnvelopeItem } from "../../src/partner/input.ts";
import { isStatement } from "../../src/partner/jws.ts";
import type { Verdict } from "../../src/partner/reasons.ts";
import { verificationOfRefusal } from "../../src/partner/verification.ts";
import { type VerifyOptions, verifyEnvelope } from "../../src/partner/verify-envelope.ts";
import { verifyStatement } from "../../src/partner/verify-statement.ts";
import { defineCommand, type TvsCommand } from "../command.ts";
import { escapeUnprintable, exitCodes } from "../terminal/output.ts";
import { createProgressBar, isProgressShown, type ProgressBar } from "../terminal/progress.ts";
import { type InputChunks, openInputs, readEnvelopeItems } from "./files.ts";
import { type AnyVerification, formatJson, formatText } from "./format.ts";
import { type ParsedCommandLine, readVerifySettings, type VerifySettings, verifyArgs } from "./options.ts";

/** The streams, environment variables and clock of the command, which tests replace. */
type VerifyIo = {
  /** Writes a text. A returned promise asks the caller to wait for a slower reader. */
  stdout(text: string): void | Promise<void>;
  readonly env: Environment;
  readonly now: Date;
  readonly stdin: InputChunks;
  readonly color: boolean;
};

/** Makes the warning for keys from a key history alone, whose signer decides which keys are accepted; empty for other keys. */
function trustNote({ options, historyFile = "" }: VerifySettings): string {
  const { trust } = options.keys;
  if (trust?.basis !== "key-history") return "";
  const signed = `signed by key ${trust.historySigner} on ${trust.historySignedAt}`;
  return `trust rests on ${escapeUnprintable(historyFile)} alone, ${signed}; --anchor pins its signer, --jwks checks it\n`;
}

/**
 * Verifies all inputs, without the network.
 * @returns the exit code: 1 if an input was refused, else 2 if one is undecidable, else 0
 * @throws TvsError if the command line is wrong, or a file of keys, proofs or lists cannot be read
 */
export async function runVerify(line: ParsedCommandLine, io: VerifyIo): Promise<number> {
  const { json = false, _: paths } = line.args;
  const settings = await readVerifySettings(line, io.env, io.now);
  const progress = await createProgress(paths);
  const format: typeof formatJson = json ? formatJson : (one, at) => formatText(one, at, io.color);
  const tally: Record<Verdict, number> = { valid: 0, refused: 0, undecidable: 0 };
  let [text, bytes] = ["", 0];
  async function* watched(chunks: InputChunks): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      progress.show(bytes, { counted: tally.valid + tally.refused + tally.undecidable });
      yield chunk;
    }
  }
  try {
    for await (const source of openInputs(paths, io.stdin, settings.keyFiles))
      for await (const verified of verifyInBatches(readEnvelopeItems(source, watched), settings.options)) {
        for (const { verification, place } of verified) {
          tally[verification.verdict]++;
          text += format(verification, { file: source.file, place });
        }
        // A write costs more than a verdict, so verdicts are collected for large writes.
        if (text.length <= flushCharacters) continue;
        await io.stdout(text);
        text = "";
      }
  } finally {
    progress.stop();
  }
  const { valid, refused, undecidable } = tally;
  const summary = `${trustNote(settings)}${valid} valid, ${refused} refused, ${undecidable} undecidable\n`;
  await io.stdout(json ? text : text + summary);
  if (refused > 0) return exitCodes.refused;
  return undecidable > 0 ? exitCodes.undecided : exitCodes.done;
}

/** Ends the process with exit code 2 if the reader closes the pipe (`| head`) before everything is verified. */
function stopOnClosedPipe(error: Error & { code?: string }): void {
  if (error.code !== "EPIPE") throw error;
  process.exit(exitCodes.undecided);
}

const example =
  "tvs verify answers.ndjson --jwks jwks.json --key-history key-history.jose --issuer https://teachers.example --audience exam-body-a\n" +
  "  tvs verify answer.json --proof answer.proof --log-key log.key\n" +
  "  tvs verify answers/ --pack offline-pack.json --anchor KID --audience exam-body-a";

/** Makes the command. @param program its name: `tvs verify`, or `tvs-verify` in the partners' package (decision D14.1) */
export function makeVerifyCommand(program: string): TvsCommand {
  return defineCommand({
    description:
      "Verify envelopes and statements offline: files, a folder (the files in it), or - for standard input. --json prints one object a line. Exit 0: all valid; 1: one was refused; 2: one could not be decided",
    example: example.replaceAll("tvs verify", program),
    args: verifyArgs,
    variadic: true,
    async run({ args, rawArgs }) {
      process.stdout.once("error", stopOnClosedPipe);
      const { env, stdin, stdout, stderr } = process;
      // Waiting for a slower reader bounds the memory. `stopOnClosedPipe` handles the stream's errors.
      const write = (text: string) => new Promise<void>((resolve) => stdout.write(text, () => resolve()));
      const color = stdout.isTTY === true && !env.NO_COLOR;
      const io = { stdout: write, env, now: new Date(), stdin, color };
      process.exitCode = await runVerify({ args, rawArgs }, io).catch((error: unknown) => {
        if (!isTvsError(error)) throw error;
        stderr.write(`${program}: ${escapeUnprintable(error.message)}\n`);
        return exitCodes.undecided;
      });
    },
  });
}

/** How many envelopes are verified concurrently: enough for the runtime's cryptography to use every core. */
const batchSize = 64;
/** Verdicts are collected until their text has more characters than this, and are then written. */
const flushCharacters = 64 * 1024;

async function* verifyInBatches(items: AsyncIterable<EnvelopeItem>, options: VerifyOptions) {
  const verify = async (item: EnvelopeItem) => ({
    place: item.place,
    verification: await verifyItem(item, options),
  });
  let batch: EnvelopeItem[] = [];
  for await (const item of items) {
    if (batch.push(item) < batchSize) continue;
    yield await Promise.all(batch.map(verify));
    batch = [];
  }
  yield await Promise.all(batch.map(verify));
}

async function verifyItem(item: EnvelopeItem, options: VerifyOptions): Promise<AnyVerification> {
  if ("refusal" in item) return verificationOfRefusal(item.refusal);
  return isStatement(item.value) ? verifyStatement(item.value, options) : verifyEnvelope(item.value, options);
}

/** Inputs with fewer bytes get no progress bar, because they are verified before anybody could read the bar. */
const leastBytes = 32 * 1024 * 1024;

async function totalBytesOf(paths: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const path of paths) {
    const about = path === "-" ? null : await stat(path).catch(() => null);
    if (!about?.isFile()) return 0;
    bytes += about.size;
  }
  return bytes;
}

/** Creates the progress bar of large inputs. Without a terminal, or if the terminal shows the verdicts, no bar is shown. */
async function createProgress(paths: readonly string[]): Promise<ProgressBar> {
  const bytes = isProgressShown() && process.stdout.isTTY !== true ? await totalBytesOf(paths) : 0;
  return createProgressBar({ label: "verifying", unit: "envelopes", total: bytes < leastBytes ? 0 : bytes });
}
