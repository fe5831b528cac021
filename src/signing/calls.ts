import { TvsError } from "../domain/errors.ts";
import type { Admission } from "./admission.ts";

/** The signatures that one call asks for, and the key that makes them. */
type Asked<K> = {
  readonly kid: string;
  readonly key: K;
  readonly inputs: readonly string[];
  /** It is a batch: single checks go before it. */
  readonly bulk: boolean;
};

type Call<K> = Asked<K> & {
  readonly signatures: string[];
  readonly settled: PromiseWithResolvers<string[]>;
  /** Inputs that were taken, from the first. */
  taken: number;
  /** Signatures that are not there yet. */
  left: number;
};

/** One signature of a call. */
export type Job<K> = {
  readonly kid: string;
  readonly key: K;
  readonly input: string;
  readonly bulk: boolean;
  /** False when the call has failed or was refused meanwhile: its key may be gone, and nobody waits. */
  isOpen(): boolean;
  resolve(signature: string): void;
  /** The whole call fails, and what of it still waits is forgotten. */
  reject(error: unknown): void;
};

export type Calls<K> = ReturnType<typeof createCalls<K>>;

/** The calls that wait to be signed: single checks and batches apart, each in the order in which they came. */
export function createCalls<K>(admission: Admission) {
  const open = new Set<Call<K>>();
  const waiting: { single: Call<K>[]; bulk: Call<K>[] } = { single: [], bulk: [] };
  /** Signatures of open calls that nobody has taken. */
  let untaken = 0;

  function end(call: Call<K>): void {
    open.delete(call);
    untaken -= call.inputs.length - call.taken;
    admission.leave(call.left, call.bulk);
    call.left = 0;
  }

  function jobOf(call: Call<K>, place: number): Job<K> {
    const { kid, key, bulk, settled, signatures } = call;
    return {
      kid,
      key,
      input: call.inputs[place] ?? "",
      bulk,
      isOpen: () => open.has(call),
      resolve(signature) {
        if (!open.has(call)) return;
        signatures[place] = signature;
        call.left--;
        admission.leave(1, bulk);
        if (call.left > 0) return;
        end(call);
        settled.resolve(signatures);
      },
      reject(error) {
        if (!open.has(call)) return;
        end(call);
        settled.reject(error);
      },
    };
  }

  /** The first call of a sort of which something waits; those that have failed meanwhile are passed over. */
  function first(bulk: boolean): Call<K> | undefined {
    const calls = bulk ? waiting.bulk : waiting.single;
    while (calls[0] !== undefined && (!open.has(calls[0]) || calls[0].taken === calls[0].inputs.length)) {
      calls.shift();
    }
    return calls[0];
  }

  return {
    /**
     * @returns the signatures, in the order of the inputs
     * @throws TvsError OVERLOADED
     */
    async add(asked: Asked<K>): Promise<string[]> {
      const { length } = asked.inputs;
      if (length === 0) return [];
      admission.admit(length, asked.bulk);
      const settled = Promise.withResolvers<string[]>();
      const call: Call<K> = { ...asked, signatures: new Array(length), settled, taken: 0, left: length };
      open.add(call);
      untaken += length;
      (asked.bulk ? waiting.bulk : waiting.single).push(call);
      return settled.promise;
    },
    /** Takes the next signature of a sort. */
    take(bulk: boolean): Job<K> | undefined {
      const call = first(bulk);
      if (call === undefined) return undefined;
      untaken--;
      return jobOf(call, call.taken++);
    },
    /** How many there are to take. */
    count: () => untaken,
    /** Refuses all calls, those that are under way too. */
    refuseAll(): void {
      for (const call of open) {
        end(call);
        call.settled.reject(new TvsError("SIGNER_UNAVAILABLE", "the service is being stopped"));
      }
    },
  };
}
