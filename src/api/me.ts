/**
 * The calls by which partners see what is their own: their terms, their deliveries and their events. No scope opens them:
 * the credential says whose. Each costs a call of the minute and none of the day.
 */

import * as v from "valibot";
import { deliveryStates } from "../domain/deliveries.ts";
import { TvsError } from "../domain/errors.ts";
import { describeOwnDelivery, describeSelf } from "../domain/self-service.ts";
import { changeWatches, maxWatchChange, type WatchChange, watchedRegNo } from "../domain/watches.ts";
import { type Handler, type HttpCall, jsonReply, type Reply } from "../http/http-call.ts";
import { check, coded, readBody } from "../http/request-body.ts";
import { maxRegNoLength } from "../partner/reg-no.ts";
import type { Service } from "../service.ts";
import { type Attempt, type CallerParts, forCallers } from "./partner-caller.ts";

/**
 * Answers such a call; its body may be read more than once. Its writes throw `Superseded`, and the call is retried, if the
 * snapshot that it was authenticated by has changed.
 */
export type SelfHandler = (self: Attempt, service: Service) => Promise<Reply>;

/**
 * A route about the partner that asks: credential (401), minute (429), body (413, 400), work. It pays first: what is read
 * is read behind a commit of this thread, so it is never older than what another thread has shown this partner.
 */
export function forSelf(self: SelfHandler, parts: CallerParts): Handler {
  return forCallers(null, parts, (call) => {
    let body: Promise<Uint8Array> | undefined;
    const once = {
      ...call,
      body() {
        body ??= call.body();
        return body;
      },
    };
    return async (attempt) =>
      (await attempt.pay()) ? self({ ...attempt, call: once }, parts.service) : null;
  });
}

const defaultLimit = 100;
const maxLimit = 500;

/** What a page holds, and the cursor of its last entry; null if it is empty. */
type Page = { readonly data: readonly unknown[]; readonly end: string | null; readonly done: boolean };

/**
 * Answers with a page of a list: `?after=CURSOR&limit=`, `{data, iterator, done}`. An empty page repeats the cursor that
 * it was asked for by. `done` says that nothing followed the page when it was read.
 * @throws TvsError REQUEST_INVALID
 */
async function listPage(
  call: Pick<HttpCall, "query">,
  cursor: v.GenericSchema<string, string>,
  read: (asked: { after: string | null; limit: number }) => Promise<Page>,
): Promise<Reply> {
  const asked = call.query("after");
  const after = asked === undefined ? null : check(cursor, asked, "after");
  const limit = Number(call.query("limit") ?? defaultLimit);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit)
    throw new TvsError("REQUEST_INVALID", `limit must be a whole number from 1 to ${maxLimit}`);
  const { data, end, done } = await read({ after, limit });
  return jsonReply(200, { data, iterator: end ?? after, done });
}

export const showSelf: SelfHandler = async (self, { self: own, clock }) => {
  const endpoint = await own.endpoint(self.authenticated.partner.partnerId);
  return jsonReply(200, describeSelf(self, { endpoint, day: self.quota.day(), now: clock.now() }));
};

const idSchema = v.pipe(
  v.string("must be the id that the list gave you"),
  v.uuid("must be the id that the list gave you"),
  v.toLowerCase(),
);

export const fetchEvents: SelfHandler = ({ call, authenticated }, { self: own }) =>
  listPage(call, idSchema, (asked) => own.events(authenticated.partner.partnerId, asked));

const stateSchema = v.picklist(deliveryStates, `must be ${deliveryStates.join(", ")}`);
const placeSchema = v.pipe(
  v.string("must be the iterator that the list gave you"),
  v.regex(/^[1-9]\d{0,14}$/, "must be the iterator that the list gave you"),
);

export const listDeliveries: SelfHandler = ({ call, authenticated }, { self: own }) => {
  const asked = call.query("state");
  const state = asked === undefined ? undefined : check(stateSchema, asked, "state");
  const { partnerId } = authenticated.partner;
  return listPage(call, placeSchema, async ({ after, limit }) => {
    const before = after === null ? undefined : Number(after);
    const page = await own.deliveries({ partnerId, state, before, limit });
    const last = page.at(-1);
    return {
      data: page.map(describeOwnDelivery),
      end: last === undefined ? null : String(last.id),
      done: page.length < limit,
    };
  });
};

export const showDelivery: SelfHandler = async ({ call, authenticated }, { self: own }) => {
  const found = await own.delivery(authenticated.partner.partnerId, call.pathPart("deliveryId"));
  return jsonReply(200, describeOwnDelivery(found));
};

export const retryDelivery: SelfHandler = async (self, { self: own }) =>
  jsonReply(200, describeOwnDelivery(await own.retry(self, self.call.pathPart("deliveryId"))));

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
