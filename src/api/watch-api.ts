/** Whom a partner watches: its calls, from their parts to the act of the domain, and to their answers. */

import * as v from "valibot";
import { TvsError } from "../domain/errors.ts";
import { changeWatches, maxWatchChange, type WatchChange, watchedRegNo } from "../domain/watches.ts";
import { jsonReply } from "../http/http-call.ts";
import { check, coded, readBody } from "../http/request-body.ts";
import { maxRegNoLength } from "../partner/reg-no.ts";
import type { Service } from "../service.ts";
import { listPage, type SelfHandler } from "./me.ts";
import type { Attempt } from "./partner-caller.ts";

const numberSchema = v.pipe(
  v.string("must be text"),
  v.maxLength(maxRegNoLength, `must have at most ${maxRegNoLength} characters`),
  v.transform(watchedRegNo),
  v.string("must have four segments separated by /"),
);
const sizeForm = coded(
  "BATCH_SIZE",
  `must have at most ${maxWatchChange} numbers, those of both lists together`,
);
// Counted before any is looked at: a body has room for many more.
const numbersSchema = v.optional(
  v.pipe(
    v.array(v.unknown(), "must be an array"),
    v.maxLength(maxWatchChange, sizeForm),
    v.array(numberSchema),
  ),
  [],
);
const changeSchema = v.pipe(
  v.unknown(),
  v.check((body) => !Array.isArray(body), "must be an object"),
  // Other names are ignored: of a slip in these, nobody would be watched and the caller told that all is well.
  v.check(
    (body) => typeof body !== "object" || body === null || "add" in body || "remove" in body,
    "must have add or remove",
  ),
  v.object({ add: numbersSchema, remove: numbersSchema }, "must be an object"),
  v.check(({ add, remove }) => add.length + remove.length <= maxWatchChange, sizeForm),
);

export const watchOne: SelfHandler = async (self, service) => {
  await change(self, service, { add: [numberIn(self)], remove: [] });
  return nothing();
};

export const unwatchOne: SelfHandler = async (self, service) => {
  await change(self, service, { add: [], remove: [numberIn(self)] });
  return nothing();
};

export const changeWatched: SelfHandler = async (self, service) => {
  const { value } = await readBody(self.call, changeSchema);
  const [add, remove] = [new Set(value.add), new Set(value.remove)];
  const both = value.add.findIndex((regNo) => remove.has(regNo));
  if (both >= 0) throw new TvsError("REQUEST_INVALID", `add[${both}] must not be in remove as well`);
  return jsonReply(200, { watched: await change(self, service, { add: [...add], remove: [...remove] }) });
};

export const listWatched: SelfHandler = ({ call, authenticated }, { self: own }) => {
  const { partnerId } = authenticated.partner;
  return listPage(call, numberSchema, async ({ after, limit }) => {
    const found = await own.watches.page(partnerId, { after: after ?? "", limit: limit + 1 });
    const data = found.slice(0, limit);
    return { data, end: data.at(-1) ?? null, done: found.length <= limit };
  });
};

function numberIn({ call }: Attempt): string {
  return check(numberSchema, call.pathPart("regNo"), "regNo");
}

/** What the caller was judged by holds in the commit of the change. */
function change({ snapshot, authenticated }: Attempt, { self: own }: Service, changed: WatchChange) {
  return changeWatches(own.watches, authenticated.partner, changed, snapshot.revision);
}

const nothing = () => ({ status: 204, headers: {}, body: "" });
