/** Ports of the domain with a count taken beside them: the composition root puts them around the real ones. */
import type { AttestationStore } from "../domain/attestations.ts";
import type { Outbox } from "../domain/deliveries.ts";
import type { Signer } from "../domain/envelopes.ts";
import type { PublicLookup } from "../domain/public-lookup.ts";
import type { WorkCounters } from "./work.ts";

export function countedSigner(signer: Signer, work: WorkCounters): Signer {
  const made = () => work.signingEnded(false);
  const failed = () => work.signingEnded(true);
  return {
    sign(...asked: Parameters<Signer["sign"]>) {
      work.signingBegan();
      const signature = signer.sign(...asked);
      signature.then(made, failed);
      return signature;
    },
  };
}

/** An answer counts when its evidence is stored, which is when it may leave. */
export function countedAttestations(store: AttestationStore, work: WorkCounters): AttestationStore {
  return {
    ...store,
    async record(call) {
      const stored = await store.record(call);
      if (stored) for (const { endpoint, status } of call.attestations) work.answered(endpoint, status);
      return stored;
    },
  };
}

export function countedPublicLookup(lookup: PublicLookup, work: WorkCounters): PublicLookup {
  return async (term) => {
    const answer = await lookup(term);
    work.answered("public-lookup", answer.found ? answer.license.status : "NOT_FOUND");
    return answer;
  };
}

export function countedOutbox(outbox: Outbox, work: WorkCounters): Outbox {
  return {
    ...outbox,
    async finish(attempt) {
      const isOurs = await outbox.finish(attempt);
      if (isOurs) work.attempted(typeof attempt.next === "object" ? "failed" : attempt.next);
      return isOurs;
    },
  };
}
