import type { Authenticated } from "../domain/credentials.ts";
import type { QuotaCall } from "../domain/quota.ts";
import type { ConnectionInfo } from "./connection-info.ts";

/** What handlers of this app find in their Hono context. */
export type AppEnv = {
  Bindings: ConnectionInfo;
  Variables: {
    requestId: string;
    /** Set by the partner routes' middleware, in this order. */
    caller: Authenticated;
    quotaCall: QuotaCall;
  };
};
