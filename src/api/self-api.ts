/** What partners see and change of their own: each call from its parts to the act of the domain, and to its answer. */

import { isoTime } from "../domain/clock.ts";
import { credentialsOf } from "../domain/credentials.ts";
import { type EventPlace, eventsList } from "../domain/fetched-events.ts";
import {
  describeCredential,
  describeOwnDelivery,
  describeOwnWebhook,
  describeSelf,
} from "../domain/self-service.ts";
import { jsonReply } from "../http/http-call.ts";
import { check, readBody, readOptionalBody } from "../http/request-body.ts";
import { listPage } from "./list-page.ts";
import {
  deliveryStateSchema,
  keyRequestSchema,
  rotationSchema,
  toldSchema,
  webhookSchema,
} from "./requests.ts";
import type { SelfHandler } from "./self-service.ts";

export const showSelf: SelfHandler = async (self, { self: own, clock }) => {
  const endpoint = await own.endpoint(self.authenticated.partner.partnerId);
  return jsonReply(200, describeSelf(self, { endpoint, day: self.quota.day(), now: clock.now() }));
};

export const fetchEvents: SelfHandler = (self, { self: own }) => {
  const { partnerId } = self.authenticated.partner;
  const list = { iterators: own.iterators, partnerId, list: eventsList };
  return listPage<EventPlace>(self.call, list, (asked) => own.events.page(self, asked));
};

export const setTold: SelfHandler = async (self, { self: own }) => {
  const { value } = await readBody(self.call, toldSchema);
  return jsonReply(200, await own.setTold(self, value));
};

export const makeKey: SelfHandler = async (self, { self: own }) => {
  const { overlap } = await readOptionalBody(self.call, keyRequestSchema);
  const { text, record, previous } = await own.issueKey(self, overlap);
  const ends = previous && { keyId: previous.keyId, expiresAt: isoTime(previous.expiresAt) };
  return jsonReply(200, { ...describeCredential(record), apiKey: text, previous: ends });
};

export const deleteKey: SelfHandler = async (self, { self: own, configuration, clock }) => {
  await own.deleteKey(self, self.call.pathPart("keyId"));
  const { credentials } = await configuration.refresh();
  const left = credentialsOf(credentials, self.authenticated.partner.partnerId, clock.now());
  return jsonReply(200, { credentials: left.map(describeCredential) });
};

export const setWebhook: SelfHandler = async (self, { self: own }) => {
  const { value } = await readBody(self.call, webhookSchema);
  const { endpoint, secret, isNew } = await own.setWebhook(self, value.url);
  return jsonReply(200, { ...describeOwnWebhook(endpoint), ...(isNew ? { secret } : {}) });
};

export const rotateSecret: SelfHandler = async (self, { self: own }) => {
  const { overlap } = await readOptionalBody(self.call, rotationSchema);
  const { endpoint, secret } = await own.rotateSecret(self, overlap);
  const previousSecretUntil = isoTime(endpoint.previousUntil);
  return jsonReply(200, { ...describeOwnWebhook(endpoint), secret, previousSecretUntil });
};

export const testWebhook: SelfHandler = async (self, { self: own }) =>
  jsonReply(200, describeOwnDelivery(await own.test(self)));

export const listDeliveries: SelfHandler = ({ call, authenticated }, { self: own }) => {
  const asked = call.query("state");
  const state = asked === undefined ? undefined : check(deliveryStateSchema, asked, "state");
  const { partnerId } = authenticated.partner;
  const which = { iterators: own.iterators, partnerId, list: `deliveries ${state ?? ""}` };
  return listPage<number>(call, which, async ({ after, limit }) => {
    const page = await own.deliveries({ partnerId, state, before: after ?? undefined, limit });
    return { data: page.map(describeOwnDelivery), end: page.at(-1)?.id ?? null, done: page.length < limit };
  });
};

export const showDelivery: SelfHandler = async ({ call, authenticated }, { self: own }) =>
  jsonReply(
    200,
    describeOwnDelivery(await own.delivery(authenticated.partner.partnerId, call.pathPart("deliveryId"))),
  );

export const retryDelivery: SelfHandler = async (self, { self: own }) =>
  jsonReply(200, describeOwnDelivery(await own.retry(self, self.call.pathPart("deliveryId"))));
