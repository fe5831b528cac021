/**
 * Why the service refused or failed, in words that a program can read: the header `X-Error-Code` of its answer, its
 * access log, the manual and the partners' package all use these. A code is never renamed nor given another
 * meaning; a caller that does not know one goes by the status.
 */

import written from "./error-codes.json" with { type: "json" };

/** What is told of a code: the status that its answers have, what it means, and what the caller does about it. */
type ErrorCodeEntry = {
  readonly status: number;
  readonly title: string;
  readonly meaning: string;
  readonly remedy: string;
};

/** The codes as error-codes.json has them; one without all its members does not compile. */
function entries<Code extends string>(written: Readonly<Record<Code, ErrorCodeEntry>>) {
  return written;
}

export const errorCodes = entries(written);

/** A code of an answer's header `X-Error-Code`. */
export type ApiErrorCode = keyof typeof errorCodes;
