import { type AddressDecision, createAddressLimit } from "../domain/address-limit.ts";
import { isPersonalTerm } from "../domain/search-term.ts";
import type { Service } from "./service.ts";
import { rateLimitKeys, type SourceOf } from "./source-address.ts";

type Call = Parameters<SourceOf>[0];

/** Counts public look-ups against the address that they come from. */
export type PublicLimit = {
  /** Any look-up, before its term is read. */
  lookup(call: Call): AddressDecision;
  /**
   * The same look-up by its trimmed term.
   * @returns null for a term that has no further limit
   */
  term(call: Call, term: string): AddressDecision | null;
};

/** One budget for every way of looking a teacher up: who has spent it at the address has spent it on the page. */
export function createPublicLimit(
  { clock }: Pick<Service, "clock">,
  sourceOf: SourceOf,
  perMinute: number,
): PublicLimit {
  const limit = createAddressLimit(perMinute, clock);
  return {
    lookup: (call) => limit.lookup(rateLimitKeys(sourceOf(call))),
    term: (call, term) => (isPersonalTerm(term) ? limit.personalLookup(rateLimitKeys(sourceOf(call))) : null),
  };
}
