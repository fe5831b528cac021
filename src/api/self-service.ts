/**
 * The calls by which partners see and change what is their own. No scope opens them: the credential says whose. Each costs
 * a call of the minute and none of the day.
 */

import { TvsError } from "../domain/errors.ts";
import type { Handler, Reply } from "../http/http-call.ts";
import type { Service } from "../service.ts";
import { type Attempt, type CallerParts, forCallers } from "./partner-caller.ts";

/**
 * Answers such a call, as it is judged now; its body may be read anew each time. What it changes, it changes through a
 * driver `atRevision` of the call's snapshot (store/driver/fenced.ts), so that it is judged anew where that has changed.
 * @returns null to be judged anew, having changed nothing
 */
export type SelfHandler = (self: Attempt, service: Service) => Promise<Reply | null>;

/** @see forSelf */
export type SelfServiceCall = {
  readonly self: SelfHandler;
  /** The operator must have left it to the partner to change such a thing. */
  readonly changes?: boolean;
};

/**
 * A route about the partner that asks: credential (401), minute (429), self-service (403), body (413, 400), work. It pays
 * first: a change moves what it was judged by, and what is read is read behind a commit of this thread, so it is never a
 * moment old, as what a look-up reads may be, nor behind what another thread has shown this partner.
 */
export function forSelf({ self, changes = false }: SelfServiceCall, parts: CallerParts): Handler {
  return forCallers(null, parts, (call) => {
    let body: Promise<Uint8Array> | undefined;
    const once = {
      ...call,
      body() {
        body ??= call.body();
        return body;
      },
    };
    return async (attempt) => {
      if (changes && !attempt.authenticated.partner.selfService)
        throw new TvsError(
          "SELF_SERVICE_OFF",
          "the operator changes this for you; ask for it, or for self-service",
        );
      return (await attempt.pay()) ? self({ ...attempt, call: once }, parts.service) : null;
    };
  });
}
