/**
 * The routes for a partner's own data: agreement, deliveries, events and watched teachers. They need a credential and no scope.
 * Each call is charged to the minute quota and not to the day quota.
 */

import { Hono } from "hono";
import * as v from "valibot";
import { deliveryStates } from "../domain/deliveries.ts";
import { TvsError } from "../domain/errors.ts";
import { describeOwnAccount, describeOwnDelivery } from "../domain/self-service.ts";
import type { WatchChange } from "../domain/watches.ts";
import { changeWatchList, maxWatchListChanges, parseWatchedRegNo } from "../domain/watches.ts";
import { type HonoEnv, readPathParameter } from "../http/context.ts";
import { readJsonBody, registerErrorCode, validateBySchema } from "../http/request-body.ts";
import { maxRegNoCharacters } from "../partner/reg-no.ts";
import type { Service } from "../service.ts";
import { type AuthorizedCall, createPartnerHandler } from "./partner-caller.ts";
import type { ApiHandler, HonoContext } from "./public-api.ts";

/** A handler of one attempt at a call. A write throws `ConflictError` if the snapshot is outdated, and the call is retried. */
type SelfServiceHandler = (call: AuthorizedCall, service: Service) => Promise<Response>;

/**
 * Makes a handler that checks in this order: credential (401), minute quota (429), body (413, 400). The charge is
 * committed before `handle` runs, so `handle` reads at least the data that earlier responses to this partner showed.
 */
function createHandler(handle: SelfServiceHandler): ApiHandler {
  return createPartnerHandler(null, async (call) =>
    (await call.charge()) ? handle(call, call.c.get("parts").service) : null,
  );
}

const defaultLimit = 100;
const maxLimit = 500;

/** A page of a list. `end` is the cursor of the page's last entry; it is null if the page is empty. */
type Page = { readonly data: readonly unknown[]; readonly end: string | null; readonly done: boolean };

/**
 * Answers `?after=CURSOR&limit=` with `{data, iterator, done}`. If a page is empty, `iterator` is the request's cursor.
 * `done` is true if no entry followed the page when the page was read.
 * @throws TvsError REQUEST_INVALID
 */
async function listPage(
  c: HonoContext,
  cursor: v.GenericSchema<string, string>,
  read: (asked: { after: string | null; limit: number }) => Promise<Page>,
): Promise<Response> {
  const asked = c.req.query("after");
  const after = asked === undefined ? null : validateBySchema(cursor, asked, "after");
  const limit = Number(c.req.query("limit") ?? defaultLimit);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit)
    throw new TvsError("REQUEST_INVALID", `limit must be a whole number from 1 to ${maxLimit}`);
  const { data, end, done } = await read({ after, limit });
  return c.json({ data, iterator: end ?? after, done });
}

const showSelf: SelfServiceHandler = async (call, { self: own, clock }) => {
  const endpoint = await own.endpoint(call.authenticated.partner.partnerId);
  return call.c.json(describeOwnAccount(call, { endpoint, day: call.quota.day(), now: clock.now() }));
};

const idForm = "must be the id that the list gave you";
const idSchema = v.pipe(v.string(idForm), v.uuid(idForm), v.toLowerCase());

const fetchEvents: SelfServiceHandler = ({ c, authenticated }, { self: own }) =>
  listPage(c, idSchema, (asked) => own.events(authenticated.partner.partnerId, asked));

const stateSchema = v.picklist(deliveryStates, `must be ${deliveryStates.join(", ")}`);
const cursorForm = "must be the iterator that the list gave you";
const deliveryCursorSchema = v.pipe(v.string(cursorForm), v.regex(/^[1-9]\d{0,14}$/, cursorForm));

const listDeliveries: SelfServiceHandler = ({ c, authenticated }, { self: own }) => {
  const asked = c.req.query("state");
  const state = asked === undefined ? undefined : validateBySchema(stateSchema, asked, "state");
  const { partnerId } = authenticated.partner;
  return listPage(c, deliveryCursorSchema, async ({ after, limit }) => {
    const before = after === null ? undefined : Number(after);
    const page = await own.deliveries({ partnerId, state, before, limit });
    const last = page.at(-1);
    const end = last === undefined ? null : String(last.id);
    return { data: page.map(describeOwnDelivery), end, done: page.length < limit };
  });
};

const showDelivery: SelfServiceHandler = async ({ c, authenticated }, { self: own }) => {
  const found = await own.delivery(authenticated.partner.partnerId, readPathParameter(c, "deliveryId"));
  return c.json(describeOwnDelivery(found));
};

const retryDelivery: SelfServiceHandler = async (call, { self: own }) =>
  call.c.json(describeOwnDelivery(await own.retry(call, readPathParameter(call.c, "deliveryId"))));

const numberSchema = v.pipe(
  v.string("must be text"),
  v.maxLength(maxRegNoCharacters, `must have at most ${maxRegNoCharacters} characters`),
  v.transform(parseWatchedRegNo),
  v.string("must have four segments separated by /"),
);
const tooMany = `must have at most ${maxWatchListChanges} numbers, those of both lists together`;
const sizeForm = registerErrorCode("BATCH_SIZE", tooMany);
// The length is checked before the elements, because a body of 256 KiB can have far more numbers than are allowed.
const numbersSchema = v.optional(
  v.pipe(
    v.array(v.unknown(), "must be an array"),
    v.maxLength(maxWatchListChanges, sizeForm),
    v.array(numberSchema),
  ),
  [],
);
const changeSchema = v.pipe(
  v.unknown(),
  v.check((body) => !Array.isArray(body), "must be an object"),
  // Unknown members are ignored: without this check, a body with only a misspelled member would get 200 and change nothing.
  v.check(
    (body) => typeof body !== "object" || body === null || "add" in body || "remove" in body,
    "must have add or remove",
  ),
  v.object({ add: numbersSchema, remove: numbersSchema }, "must be an object"),
  v.check(({ add, remove }) => add.length + remove.length <= maxWatchListChanges, sizeForm),
);

/** Makes the handler that adds the path's registration number to the watch list, or removes the number from the list. */
function createWatchHandler(how: keyof WatchChange): SelfServiceHandler {
  return async (call, service) => {
    const regNo = validateBySchema(numberSchema, readPathParameter(call.c, "regNo"), "regNo");
    await change(call, service, { add: [], remove: [], [how]: [regNo] });
    return call.c.body(null, 204);
  };
}

const changeWatched: SelfServiceHandler = async (call, service) => {
  const { value } = await readJsonBody(call.c, changeSchema);
  const [add, remove] = [new Set(value.add), new Set(value.remove)];
  const both = value.add.findIndex((regNo) => remove.has(regNo));
  if (both >= 0) throw new TvsError("REQUEST_INVALID", `add[${both}] must not be in remove as well`);
  return call.c.json({ watched: await change(call, service, { add: [...add], remove: [...remove] }) });
};

const listWatched: SelfServiceHandler = ({ c, authenticated }, { self: own }) => {
  const { partnerId } = authenticated.partner;
  return listPage(c, numberSchema, async ({ after, limit }) => {
    const found = await own.watches.page(partnerId, { after: after ?? "", limit: limit + 1 });
    const data = found.slice(0, limit);
    return { data, end: data.at(-1) ?? null, done: found.length <= limit };
  });
};

/** Changes the partner's watch list. @throws ConflictError if the configuration is newer than the snapshot */
function change({ snapshot, authenticated }: AuthorizedCall, { self: own }: Service, changed: WatchChange) {
  return changeWatchList(own.watches, authenticated.partner, changed, snapshot.revision);
}

export const selfServiceApi = new Hono<HonoEnv>()
  .get("/me", createHandler(showSelf))
  .get("/watch", createHandler(listWatched))
  .post("/watch", createHandler(changeWatched))
  .put("/watch/:regNo{.+}", createHandler(createWatchHandler("add")))
  .delete("/watch/:regNo{.+}", createHandler(createWatchHandler("remove")))
  .get("/events", createHandler(fetchEvents))
  .get("/me/deliveries", createHandler(listDeliveries))
  .get("/me/deliveries/:deliveryId", createHandler(showDelivery))
  .post("/me/deliveries/:deliveryId/retry", createHandler(retryDelivery));
