import { type AddressDecision, createAddressLimit } from "../domain/address-limit.ts";
import { isPersonalTerm } from "../domain/search-term.ts";
import { rateLimitKeys, type SourceOf } from "./http/source-address.ts";
import type { Service } from "./service.ts";

type Call = Parameters<SourceOf>[0];

/** What a caller's address has left, found once for all of a call. */
export type CallerLimit = {
  /** Counts any look-up, before its term is read. */
  lookup(): AddressDecision;
  /**
   * Counts the same look-up by its trimmed term.
   * @returns null for a term that has no further limit
   */
  term(term: string): AddressDecision | null;
};

/** Counts public look-ups against the address that they come from. */
export type PublicLimit = (call: Call) => CallerLimit;

/** One budget for every way of looking a teacher up: who has spent it at the address has spent it on the page. */
export function createPublicLimit(
  { clock }: Pick<Service, "clock">,
  sourceOf: SourceOf,
  perMinute: number,
): PublicLimit {
  const limit = createAddressLimit(perMinute, clock);
  return (call) => {
    const blocks = rateLimitKeys(sourceOf(call));
    return {
      lookup: () => limit.lookup(blocks),
      term: (term) => (isPersonalTerm(term) ? limit.personalLookup(blocks) : null),
    };
  };
}
