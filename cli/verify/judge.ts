/** The judging of `tvs verify`: its sources in order, some envelopes of each at once. */

import type { EnvelopeItem } from "../../src/partner/input.ts";
import { isStatement } from "../../src/partner/statement-form.ts";
import type { JsonValue } from "../../src/partner/strict-json.ts";
import { unopened } from "../../src/partner/verification.ts";
import { type VerifyOptions, verifyEnvelope } from "../../src/partner/verify-envelope.ts";
import { verifyStatement } from "../../src/partner/verify-statement.ts";
import { readSource, type Source } from "./files.ts";
import type { AnyVerification } from "./format.ts";
import type { Printer } from "./printer.ts";

/** Enough that the runtime's cryptography can use every core. */
const atOnce = 64;

async function judgeItem(item: EnvelopeItem, options: VerifyOptions): Promise<AnyVerification> {
  if ("refusal" in item) return unopened(item.refusal);
  return isStatement(item.value) ? verifyStatement(item.value, options) : verifyEnvelope(item.value, options);
}

/** Is given each statement that was found to be genuine. */
export type TakeStatement = (statement: JsonValue) => Promise<void>;

/**
 * Judges one file, folder entry or stream, in order.
 *
 * @param source what to read, or the reason why it cannot be read
 * @param options the key set, what is expected, and the proof that every envelope is held against
 * @param printer receives at least one verdict
 * @param take is given each genuine statement, before its verdict is printed
 */
export async function judgeSource(
  source: Source,
  options: VerifyOptions,
  printer: Printer,
  take?: TakeStatement,
): Promise<void> {
  const { file } = source;
  let items: EnvelopeItem[] = [];
  const judgeItems = async () => {
    const verdicts = await Promise.all(items.map((item) => judgeItem(item, options)));
    for (const [index, item] of items.entries()) {
      const verdict = verdicts[index] as AnyVerification;
      if ("statement" in verdict && verdict.valid && "value" in item) await take?.(item.value);
      printer.print(verdict, { file, place: item.place });
    }
    items = [];
    await printer.makeRoom();
  };
  for await (const item of readSource(source, printer.watched))
    if (items.push(item) >= atOnce) await judgeItems();
  await judgeItems();
}
