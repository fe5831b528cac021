import type { ConnectionInfo } from "./connection-info.ts";

/** What handlers of this app find in their Hono context. */
export type AppEnv = {
  Bindings: ConnectionInfo;
  Variables: { requestId: string };
};
