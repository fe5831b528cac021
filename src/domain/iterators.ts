import { Buffer } from "node:buffer";
import { TvsError } from "./errors.ts";
import type { Secrets } from "./secrets.ts";

/**
 * Where a reader of a list is, as a text that says nothing to anybody: it is sealed for one partner and one list, by the
 * master key, so that every thread and node takes it, and one that was never given is told from one that was.
 */
export type Iterators = ReturnType<typeof createIterators>;

const utf8 = new TextDecoder();

export function createIterators({ iterators }: Pick<Secrets, "iterators">) {
  return {
    /** @param value what {@link open} gives back, in JSON */
    seal: (partnerId: string, list: string, value: unknown): string =>
      Buffer.from(iterators.seal(Buffer.from(JSON.stringify(value)), nameOf(partnerId, list))).toString(
        "base64url",
      ),
    /** @throws TvsError ITERATOR_INVALID for what was not sealed for this partner's list */
    open(partnerId: string, list: string, text: string): unknown {
      try {
        const sealed = new Uint8Array(Buffer.from(text, "base64url"));
        return JSON.parse(utf8.decode(iterators.open(sealed, nameOf(partnerId, list))));
      } catch {
        throw new TvsError("ITERATOR_INVALID", "after must be an iterator that this list gave you");
      }
    },
  };
}

/** A partner's id has no space. */
function nameOf(partnerId: string, list: string): string {
  return `${partnerId} ${list}`;
}
