/** The judging of `tvs verify`: its sources in order, some envelopes of each at once. */

import type { EnvelopeItem, Place } from "../../src/partner/input.ts";
import { refuse } from "../../src/partner/reasons.ts";
import { unopened, type Verification } from "../../src/partner/verification.ts";
import { type VerifyOptions, verifyEnvelope } from "../../src/partner/verify-envelope.ts";
import { readSource, type Source } from "./files.ts";
import type { Printer } from "./printer.ts";

/** Enough that the runtime's cryptography can use every core. */
const atOnce = 64;

const nowhere: Place = { line: null, index: null };

async function judgeItem(item: EnvelopeItem, options: VerifyOptions): Promise<Verification> {
  return "refusal" in item ? unopened(item.refusal) : verifyEnvelope(item.value, options);
}

/** Judges one file in order. @returns how many envelopes it holds */
async function judgeFile(
  { file, chunks }: Extract<Source, { chunks: unknown }>,
  options: VerifyOptions,
  printer: Printer,
): Promise<number> {
  let found = 0;
  let items: EnvelopeItem[] = [];
  const judgeItems = async () => {
    const verdicts = await Promise.all(items.map((item) => judgeItem(item, options)));
    for (const [index, { place }] of items.entries())
      printer.print(verdicts[index] as Verification, { file, place });
    items = [];
    await printer.makeRoom();
  };
  try {
    for await (const item of readSource(printer.watched(chunks))) {
      found++;
      if (items.push(item) >= atOnce) await judgeItems();
    }
  } finally {
    // Also when the stream breaks off: what was read until then is judged.
    await judgeItems();
  }
  return found;
}

/**
 * Judges one file, folder entry or stream.
 *
 * @param source what to read, or the reason why it cannot be read
 * @param options the key set, what is expected, and the proof that every envelope is held against
 * @param printer receives at least one verdict
 */
export async function judgeSource(source: Source, options: VerifyOptions, printer: Printer): Promise<void> {
  const location = { file: source.file, place: nowhere };
  if ("reason" in source) return printer.print(unopened(refuse(source.reason)), location);
  try {
    const found = await judgeFile(source, options, printer);
    if (found === 0) printer.print(unopened(refuse("NO_ENVELOPE")), location);
  } catch (error) {
    if (!isReadError(error)) throw error;
    printer.print(unopened(refuse("FILE_UNREADABLE")), location);
  }
}

/** The file system's errors carry a code; anything else is a fault of this program and must show. */
function isReadError(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
