/** The evidence log for everybody (decision D13.5): the newest checkpoint, the keys, and proofs. */

import { TvsError } from "../domain/errors.ts";
import type { HttpCall } from "../http/http-call.ts";
import { asKeys, documentReply } from "../http/public-document.ts";
import { check } from "../http/request-body.ts";
import { type PublicHandler, withinLimit } from "./public-api.ts";
import { leafHashSchema, treeSizeSchema } from "./requests.ts";

/** A new one comes every half minute while there are calls. */
const asCheckpoint = "public, max-age=5";
/** The leaf stays where it is, and the checkpoint in the answer says for which tree it holds. */
const forEver = "public, max-age=31536000, immutable";
/** The same two sizes may be asked of a later epoch's tree; to ask whether the answer is still good costs nothing. */
const whileConfirmed = "public, no-cache";

export const logCheckpoint: PublicHandler = withinLimit(async (call, { evidence }) =>
  documentReply(call, await evidence.checkpoint(), asCheckpoint),
);

export const logKey: PublicHandler = withinLimit(async (call, { evidence }) =>
  documentReply(call, await evidence.key(), asKeys),
);

export const logInclusion: PublicHandler = withinLimit(async (call, { evidence }) => {
  const leafHash = check(leafHashSchema, call.pathPart("leafHash"), "leafHash");
  const size = call.query("size") === undefined ? undefined : treeSize(call, "size");
  return documentReply(call, await evidence.inclusion(leafHash, size), forEver);
});

export const logConsistency: PublicHandler = withinLimit(async (call, { evidence }) => {
  const from = treeSize(call, "from");
  const to = treeSize(call, "to");
  if (from > to) throw new TvsError("REQUEST_INVALID", "from must not be above to");
  return documentReply(call, await evidence.consistency(from, to), whileConfirmed);
});

/** A size in the query, which has one spelling. @throws TvsError REQUEST_INVALID */
function treeSize(call: HttpCall, name: "size" | "from" | "to"): number {
  const text = call.query(name);
  const isDecimal = text !== undefined && /^[1-9]\d*$/.test(text);
  return check(treeSizeSchema, isDecimal ? Number(text) : text, name);
}
