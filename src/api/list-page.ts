/** The lists that are read a page at a time: what every one of them takes, and how its pages look. */

import { TvsError } from "../domain/errors.ts";
import type { Iterators } from "../domain/iterators.ts";
import { type HttpCall, jsonReply, type Reply } from "../http/http-call.ts";

const defaultLimit = 100;
const maxLimit = 500;

/** Which page is asked for. @template Place where a list is read on from, as its own page said */
type AskedPage<Place> = { readonly after: Place | null; readonly limit: number };

/** What a page comes to. @see listPage */
type ReadPage<Place> = {
  readonly data: readonly unknown[];
  /** Where the page ends; null where it is where it began. */
  readonly end: Place | null;
  /** Whether nothing came behind it when it was read. */
  readonly done: boolean;
};

/**
 * Answers with a page of a list: `?after=ITERATOR&limit=`, `{data, iterator, done}`. An empty page gives back the iterator
 * it was asked for by.
 * @param list by which iterators of one list are told from those of another; it changes with what they hold
 * @param read the page; null to be judged anew
 * @throws TvsError REQUEST_INVALID, ITERATOR_INVALID
 */
export async function listPage<Place>(
  call: Pick<HttpCall, "query">,
  { iterators, partnerId, list }: { iterators: Iterators; partnerId: string; list: string },
  read: (asked: AskedPage<Place>) => Promise<ReadPage<Place> | null>,
): Promise<Reply | null> {
  const after = call.query("after");
  const limit = Number(call.query("limit") ?? defaultLimit);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit)
    throw new TvsError("REQUEST_INVALID", `limit must be a whole number from 1 to ${maxLimit}`);
  const place = after === undefined ? null : (iterators.open(partnerId, list, after) as Place);
  const page = await read({ after: place, limit });
  if (page === null) return null;
  const { data, end, done } = page;
  const iterator = end === null ? (after ?? null) : iterators.seal(partnerId, list, end);
  return jsonReply(200, { data, iterator, done });
}
