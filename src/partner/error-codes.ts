/**
 * The service's error codes, for the header `X-Error-Code`, the access log, the manual and the partners' package. A code is
 * never renamed and never gets another meaning. A caller handles an unknown code by its HTTP status.
 */

import written from "./error-codes.json" with { type: "json" };

type ErrorCodeEntry = {
  readonly status: number;
  readonly title: string;
  readonly meaning: string;
  readonly remedy: string;
};

function entries<Code extends string>(written: Readonly<Record<Code, ErrorCodeEntry>>) {
  return written;
}

export const errorCodes = entries(written);

export type ApiErrorCode = keyof typeof errorCodes;
