/** A thread of shared-port.test.ts: listens beside the main one, and says whether it does. */

import { parentPort, workerData } from "node:worker_threads";
import { listen } from "../../src/http/listen.ts";

const app = { pages: { fetch: () => new Response("thread", { headers: { Connection: "close" } }) } };
const said = await listen(app, { ...workerData, sharing: "further" }).then(
  () => "listening",
  (error: Error) => error.message,
);
parentPort?.postMessage(said);
