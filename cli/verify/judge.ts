/** The judging of `tvs verify`: its sources in order, some envelopes of each at once. */

import type { EnvelopeItem } from "../../src/partner/input.ts";
import { unopened, type Verification } from "../../src/partner/verification.ts";
import { type VerifyOptions, verifyEnvelope } from "../../src/partner/verify-envelope.ts";
import { readSource, type Source } from "./files.ts";
import type { Printer } from "./printer.ts";

/** Enough that the runtime's cryptography can use every core. */
const atOnce = 64;

async function judgeItem(item: EnvelopeItem, options: VerifyOptions): Promise<Verification> {
  return "refusal" in item ? unopened(item.refusal) : verifyEnvelope(item.value, options);
}

/**
 * Judges one file, folder entry or stream, in order.
 *
 * @param source what to read, or the reason why it cannot be read
 * @param options the key set, what is expected, and the proof that every envelope is held against
 * @param printer receives at least one verdict
 */
export async function judgeSource(source: Source, options: VerifyOptions, printer: Printer): Promise<void> {
  const { file } = source;
  let items: EnvelopeItem[] = [];
  const judgeItems = async () => {
    const verdicts = await Promise.all(items.map((item) => judgeItem(item, options)));
    for (const [index, { place }] of items.entries())
      printer.print(verdicts[index] as Verification, { file, place });
    items = [];
    await printer.makeRoom();
  };
  for await (const item of readSource(source, printer.watched))
    if (items.push(item) >= atOnce) await judgeItems();
  await judgeItems();
}
