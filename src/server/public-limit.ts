import { type AddressDecision, createAddressLimit } from "../domain/address-limit.ts";
import type { Service } from "./service.ts";
import { rateLimitKeys, type SourceOf } from "./source-address.ts";

/** Counts a public look-up against the address it comes from. */
export type PublicLimit = (call: Parameters<SourceOf>[0]) => AddressDecision;

/** One budget for every way of looking a teacher up: who has spent it at the address has spent it on the page. */
export function createPublicLimit(
  { clock }: Pick<Service, "clock">,
  sourceOf: SourceOf,
  perMinute: number,
): PublicLimit {
  const limit = createAddressLimit(perMinute, clock);
  return (call) => limit(rateLimitKeys(sourceOf(call))[0] ?? "");
}
