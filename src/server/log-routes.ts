/** The rows of the table of routes for the evidence log. */

import * as log from "./log-api.ts";
import type { ResponsesByStatus } from "./openapi/document.ts";
import type { PublicRoute } from "./routes.ts";

const under = "/v1/inter-agency/log";
const limits =
  "Counts as a lookup under the limit of the source IP address. Readable by scripts of any site (CORS).";

const responses = {
  304: "NotModified",
  429: "QuotaExceeded",
  503: "Unavailable",
} as const satisfies ResponsesByStatus;

const base = { method: "GET", traffic: "other", cors: true } as const;

export const logRoutes: readonly PublicRoute[] = [
  {
    ...base,
    path: `${under}/checkpoint`,
    handler: log.logCheckpoint,
    operation: {
      id: "getLogCheckpoint",
      tag: "log",
      summary: "The newest checkpoint",
      description:
        "A signed note (c2sp.org/tlog-checkpoint). There is a new one at least once a minute while calls are answered. " +
        `Keep it: \`/log/consistency\` then proves that the log has only grown since. ${limits}`,
      parameters: ["ifNoneMatch"],
      responses: { ...responses, 200: "LogCheckpoint", 404: "NoCheckpoint" },
    },
  },
  {
    ...base,
    path: `${under}/key`,
    handler: log.logKey,
    operation: {
      id: "getLogKey",
      tag: "log",
      summary: "The key of the log",
      description:
        "One verifier key a line, the newest first; there are several when the log was begun anew after a restore. Keep " +
        `it: a proof is worth as much as the way by which you came to the key. ${limits}`,
      parameters: ["ifNoneMatch"],
      responses: { ...responses, 200: "LogKey" },
    },
  },
  {
    ...base,
    path: `${under}/inclusion/{leafHash}`,
    handler: log.logInclusion,
    operation: {
      id: "proveInclusion",
      tag: "log",
      summary: "Proof that an envelope is in the log",
      description:
        "Who asks has the envelope, since its signature makes the hash; leaves are never listed. Together with the " +
        "envelope it is evidence of when it was answered, at the latest. The proof file that `tvs verify` and the page " +
        "`/verify-envelope` read (c2sp.org/tlog-proof) is text: the line `c2sp.org/tlog-proof@v1`, the line `index N` " +
        `with \`leafIndex\`, the \`hashes\` one a line, an empty line, and \`checkpoint\` as it is. ${limits}`,
      parameters: ["leafHash", "size", "ifNoneMatch"],
      responses: { ...responses, 200: "LogInclusion", 400: "LogInvalid", 404: "LeafUnknown" },
    },
  },
  {
    ...base,
    path: `${under}/consistency`,
    handler: log.logConsistency,
    operation: {
      id: "proveConsistency",
      tag: "log",
      summary: "Proof that the log has only grown",
      description: `Between two sizes of the newest epoch's tree, such as those of two checkpoints. ${limits}`,
      parameters: ["from", "to", "ifNoneMatch"],
      responses: { ...responses, 200: "LogConsistency", 400: "LogInvalid", 404: "SizeUnknown" },
    },
  },
];
