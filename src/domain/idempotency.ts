import { Buffer } from "node:buffer";
import { formatCanonicalJson } from "../partner/canonical-json.ts";
import type { IdempotencyStore } from "../store/idempotency.ts";
import type { Clock } from "./clock.ts";
import { withTimeout } from "./deadline.ts";
import { TvsError } from "./errors.ts";
import { areBytesEqual, type Secrets } from "./secrets.ts";

export type StoredAnswer = { readonly headers: Readonly<Record<string, string>>; readonly body: string };

/** A stored answer. `id` and `fingerprint` are keyed hashes of key and body, because both may have personal data. */
export type IdempotencyRecord = StoredAnswer & {
  readonly id: Uint8Array;
  readonly fingerprint: Uint8Array;
  readonly createdAt: number;
};

export const idempotencyRetentionMs = 72 * 3_600_000;
/** A call waits at most this long for a running call with the same key, and is then refused with 409. */
const waitMs = 2_000;
const maxIdempotencyKeyLength = 255;

export type IdempotentRequest = { partnerId: string; operation: string; key: string; body: unknown };
/** The part of an idempotency record that is known before the call is answered. */
export type PendingRecord = Pick<IdempotencyRecord, "id" | "fingerprint" | "createdAt">;
export type IdempotentRunner = ReturnType<typeof createIdempotentRunner>;

export type CallAnswer = StoredAnswer & { readonly replayed: boolean };

/**
 * Runs one call for each idempotency key (contract C16). The record that is committed with an answer prevents a second
 * run on any node. In this process, a second call with the key waits for the first, so no signature is made in vain.
 */
export function createIdempotentRunner(store: IdempotencyStore, secrets: Secrets, clock: Clock) {
  const running = new Map<string, Promise<unknown>>();

  async function findOrWork(
    record: PendingRecord,
    work: (record: PendingRecord) => Promise<StoredAnswer | null>,
  ): Promise<CallAnswer | null> {
    const known = await store.find(record.id);
    if (known === null || known.createdAt < clock.now() - idempotencyRetentionMs) {
      const answer = await work(record);
      return answer && { ...answer, replayed: false };
    }
    if (!areBytesEqual(known.fingerprint, record.fingerprint))
      throw new TvsError("IDEMPOTENCY_KEY_REUSED", "this Idempotency-Key was used with a different body");
    return { headers: known.headers, body: known.body, replayed: true };
  }

  return {
    /**
     * Replays the stored answer of this partner, operation and key, or runs `work`. If another node has stored the key
     * first, the commit of `work` is refused, and the next call of `run` finds the other node's answer.
     * @param work commits the pending record with its results, or gives null if its commit was refused
     * @returns null if `work` gave null
     * @throws TvsError IDEMPOTENCY_KEY_INVALID, IDEMPOTENCY_KEY_REUSED (422) for another body, IDEMPOTENCY_KEY_IN_USE
     * (409) if the first call is still running after two seconds
     */
    async run(request: IdempotentRequest, work: (record: PendingRecord) => Promise<StoredAnswer | null>) {
      const key = readIdempotencyKey(request.key);
      const id = secrets.mac("idempotency", `${request.partnerId}\0${request.operation}\0${key}`);
      const fingerprint = secrets.mac("idempotency", formatCanonicalJson(request.body));
      const name = Buffer.from(id).toString("base64");
      const record = { id, fingerprint, createdAt: clock.now() };
      const cameAt = performance.now();
      for (let first = running.get(name); first !== undefined; first = running.get(name)) {
        const ended = first.catch(() => {});
        await withTimeout(ended, { ms: waitMs - (performance.now() - cameAt), late: stillRunning });
      }
      const answer = findOrWork(record, work);
      running.set(name, answer);
      return answer.finally(() => running.delete(name));
    },
  };
}

/** A quoted key, in the syntax of a structured field's string (RFC 8941, 3.3.3). */
const quotedKey = /^"(?:[ !#-[\]-~]|\\["\\])*"$/;

/** Reads a key that is bare or quoted; `a` and `"a"` are the same key. @throws TvsError IDEMPOTENCY_KEY_INVALID */
function readIdempotencyKey(text: string): string {
  const isQuoted = text.startsWith('"');
  const key = isQuoted ? text.slice(1, -1).replace(/\\(.)/g, "$1") : text;
  if (key.length >= 1 && key.length <= maxIdempotencyKeyLength && (!isQuoted || quotedKey.test(text)))
    return key;
  const message = `Idempotency-Key must be 1 to ${maxIdempotencyKeyLength} characters, bare or a quoted string`;
  throw new TvsError("IDEMPOTENCY_KEY_INVALID", message);
}

function stillRunning(): TvsError {
  const message = "a call with this Idempotency-Key is still running; try again";
  return new TvsError("IDEMPOTENCY_KEY_IN_USE", message);
}
