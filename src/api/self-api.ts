/** What partners see and change of their own: each call from its parts to the act of the domain, and to its answer. */

import { type EventPlace, eventsList } from "../domain/fetched-events.ts";
import { describeSelf } from "../domain/self-service.ts";
import { jsonReply } from "../http/http-call.ts";
import { listPage } from "./list-page.ts";
import type { SelfHandler } from "./self-service.ts";

export const showSelf: SelfHandler = async (self, { self: own, clock }) => {
  const endpoint = await own.endpoint(self.authenticated.partner.partnerId);
  if (!(await self.pay())) return null;
  return jsonReply(200, describeSelf(self, { endpoint, day: self.quota.day(), now: clock.now() }));
};

/**
 * It pays first, so that what is read is read behind a commit of this thread: never a moment old, as what a lookup reads
 * may be, and never behind what another thread has shown this partner.
 */
export const fetchEvents: SelfHandler = async (self, { self: own }) => {
  if (!(await self.pay())) return null;
  const { partnerId } = self.authenticated.partner;
  const list = { iterators: own.iterators, partnerId, list: eventsList };
  return listPage<EventPlace>(self.call, list, (asked) => own.events.page(self, asked));
};
