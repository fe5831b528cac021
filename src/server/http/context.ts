import type { CallTrace } from "./call-trace.ts";
import type { ConnectionInfo } from "./connection-info.ts";

/** What handlers of this app find in their Hono context. */
export type AppEnv = {
  Bindings: ConnectionInfo;
  Variables: { trace: CallTrace };
};
