/** What partners see and change of their own: each call from its parts to the act of the domain, and to its answer. */

import { describeSelf } from "../domain/self-service.ts";
import { jsonReply } from "../http/http-call.ts";
import type { SelfHandler } from "./self-service.ts";

export const showSelf: SelfHandler = async (self, { self: own, clock }) => {
  const endpoint = await own.endpoint(self.authenticated.partner.partnerId);
  if (!(await self.pay())) return null;
  return jsonReply(200, describeSelf(self, { endpoint, day: self.quota.day(), now: clock.now() }));
};
