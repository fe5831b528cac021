/**
 * Verifies the lines of a large file, most of which the service wrote: the same checks as `verifyEnvelopeSync`,
 * in memory that is used again. What the short cut does not know is left to `readRecord`.
 */

import { splitLineJws } from "./jws.ts";
import { decodeUtf8 } from "./strict-json.ts";
import type { Verification } from "./verification.ts";
import { judge, open, type SyncVerifyOptions, verifyNow } from "./verify-envelope.ts";
import { cutWrittenEnvelope } from "./written-envelope.ts";

/** Some lines, twice: their bytes, and a text with one character for each byte, whose code is the byte. */
export type LineBlock = { readonly bytes: Uint8Array<ArrayBuffer>; readonly latin1: string };

/** The verdict, and, where it is known, how `JSON.stringify` would write the signed result. */
export type LineVerdict = { readonly verification: Verification; readonly resultText: string | undefined };

const beyondAscii = /[^\0-\x7f]/;

/**
 * Verifies one line that holds an envelope in the service's own writing.
 *
 * @param block the lines
 * @param start where the line begins
 * @param end where it ends, without the line feed
 * @param options as for `verifyEnvelopeSync`, and right
 * @returns what `verifyEnvelopeSync` would say, or null when the line is something else
 */
export function verifyLineSync(
  block: LineBlock,
  start: number,
  end: number,
  options: SyncVerifyOptions,
): LineVerdict | null {
  const { bytes, latin1 } = block;
  const readResult = (from: number, to: number) => {
    const text = latin1.slice(from, to);
    return beyondAscii.test(text) ? decodeUtf8(bytes.subarray(from, to)) : text;
  };
  const written = cutWrittenEnvelope({ text: latin1, start, end, readResult });
  if (written === null) return null;
  const jws = splitLineJws(written.outer.signature, bytes, written.signatureStart);
  if (jws === null) return null;
  const opened = open({ jws, outer: written.outer, written }, options);
  const verification = "verdict" in opened ? opened : judge(opened, verifyNow(opened, options), options);
  // What is signed may be another result, or written otherwise: only the shared value has this text.
  const isShared = verification.result === (written.outer.result as unknown);
  return { verification, resultText: isShared ? written.resultText : undefined };
}
