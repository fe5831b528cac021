import { Buffer } from "node:buffer";
import { canonicalJson } from "../partner/canonical-json.ts";
import type { IdempotencyStore } from "../store/idempotency.ts";
import type { Clock } from "./clock.ts";
import { inTime } from "./deadline.ts";
import { TvsError } from "./errors.ts";
import { equalBytes, type Secrets } from "./secrets.ts";

/** The bytes of an answer and the headers that belong to them. */
export type StoredAnswer = { readonly headers: Readonly<Record<string, string>>; readonly body: string };

/**
 * The record of an answer, by its key. Both hashes are keyed: a caller's key and body may hold personal data that is
 * quickly guessed.
 */
export type IdempotencyRecord = StoredAnswer & {
  readonly id: Uint8Array;
  readonly fingerprint: Uint8Array;
  readonly createdAt: number;
};

export const keepIdempotencyMs = 72 * 3_600_000;
/** How long a duplicate waits for the call that is still running. */
const waitMs = 2_000;
const maxIdempotencyKeyLength = 255;

export type IdempotentRequest = { partnerId: string; operation: string; key: string; body: unknown };
/** What the work stores, in the same commit as its own results. */
export type PendingRecord = Pick<IdempotencyRecord, "id" | "fingerprint" | "createdAt">;
export type Idempotency = ReturnType<typeof createIdempotency>;

type Outcome = { readonly answer: StoredAnswer; readonly replayed: boolean };

/**
 * Idempotency keys (contract C16). What was answered is known from the record that was committed with the answer.
 * The calls that run in this process are a hint: who sends a key again, with the same body or another, waits for the
 * first one rather than be signed for in vain. Of two bodies under one key another server may be answering the other.
 */
export function createIdempotency(store: IdempotencyStore, secrets: Secrets, clock: Clock) {
  const running = new Map<string, Promise<unknown>>();

  async function findOrWork(
    pendingRecord: PendingRecord,
    work: (pendingRecord: PendingRecord) => Promise<StoredAnswer | null>,
  ): Promise<Outcome | null> {
    const known = await store.find(pendingRecord.id);
    if (known === null || known.createdAt < clock.now() - keepIdempotencyMs) {
      const answer = await work(pendingRecord);
      return answer === null ? null : { answer, replayed: false };
    }
    if (!equalBytes(known.fingerprint, pendingRecord.fingerprint))
      throw new TvsError("IDEMPOTENCY_KEY_REUSED", "this Idempotency-Key was used with a different body");
    return { answer: { headers: known.headers, body: known.body }, replayed: true };
  }

  /** Waits until a call that runs here has ended, however it ends: the record says what became of it. */
  async function follow(first: Promise<unknown>, waitedMs: number): Promise<void> {
    const ended = first.catch(() => {});
    await inTime(ended, { ms: waitMs - waitedMs, late: stillRunning });
  }

  return {
    /**
     * Runs `work` unless a call of this partner, operation and key was answered before. That it is stored once is for the
     * commit to say: another server's answer is found when `work` was refused and this is called again.
     * @param work commits the reservation together with its results, or gives null having stored nothing
     * @returns null when `work` did
     * @throws TvsError IDEMPOTENCY_KEY_INVALID, IDEMPOTENCY_KEY_REUSED (422) when the body
     *   that was answered is another one, IDEMPOTENCY_KEY_IN_USE (409) when a call with it is still running here
     */
    async run(
      request: IdempotentRequest,
      work: (pendingRecord: PendingRecord) => Promise<StoredAnswer | null>,
    ): Promise<Outcome | null> {
      const key = readIdempotencyKey(request.key);
      const id = secrets.mac("idempotency", `${request.partnerId}\0${request.operation}\0${key}`);
      const fingerprint = secrets.mac("idempotency", canonicalJson(request.body));
      const name = Buffer.from(id).toString("base64");
      const pendingRecord: PendingRecord = { id, fingerprint, createdAt: clock.now() };
      const cameAt = performance.now();
      for (let first = running.get(name); first !== undefined; first = running.get(name))
        await follow(first, performance.now() - cameAt);
      const outcome = findOrWork(pendingRecord, work);
      running.set(name, outcome);
      return outcome.finally(() => running.delete(name));
    },
  };
}

/** A string of a structured field (RFC 8941, 3.3.3). */
const quotedKey = /^"(?:[ !#-[\]-~]|\\["\\])*"$/;

/**
 * The key that a header means: bare, or a string in quotation marks, which is the same key.
 * @throws TvsError IDEMPOTENCY_KEY_INVALID
 */
function readIdempotencyKey(text: string): string {
  const isQuoted = text.startsWith('"');
  const key = isQuoted ? text.slice(1, -1).replace(/\\(.)/g, "$1") : text;
  if (key.length >= 1 && key.length <= maxIdempotencyKeyLength && (!isQuoted || quotedKey.test(text)))
    return key;
  const message = `Idempotency-Key must be 1 to ${maxIdempotencyKeyLength} characters, bare or a quoted string`;
  throw new TvsError("IDEMPOTENCY_KEY_INVALID", message);
}

function stillRunning(): TvsError {
  return new TvsError(
    "IDEMPOTENCY_KEY_IN_USE",
    "a call with this Idempotency-Key is still running; try again",
  );
}
