import { openService } from "../../../cli/serve/open-service.ts";
import { readConfig } from "../../../src/config.ts";
import { testWebhook } from "../../../src/domain/webhooks.ts";
import { runJson, runTvs } from "../../harness/command.ts";
import { makeFolder } from "../../harness/folder.ts";
import { anApiKey, aPartner } from "../../harness/samples.ts";
import { withTestContext } from "../../harness/service.ts";

export type WebhookTerminal = Awaited<ReturnType<typeof makeWebhookTerminal>>;

/** Without `retryAt` the delivery is dead. */
type Failure = { error: string; status: number | null; at: number; retryAt?: number };

export async function makeWebhookTerminal() {
  const { path: dataDir, remove } = makeFolder();
  const run = (line: string) => runTvs(line.split(" "), { dataDir });
  return {
    dataDir,
    run,
    json: (line: string) => runJson<ReturnType<typeof JSON.parse>>(line.split(" "), { dataDir }),
    addPartner: (id: string) =>
      withTestContext(dataDir, ({ partners }) => partners.add(aPartner(id), anApiKey(id, `key-${id}`))),
    /** Makes a delivery that has failed, as the sender records it. @returns its id */
    addFailed: (partnerId: string, failure: Failure) => addFailed(dataDir, partnerId, failure),
    remove,
  };
}

function addFailed(dataDir: string, partnerId: string, { error, status, at, retryAt }: Failure) {
  return withTestContext(dataDir, async (operator) => {
    const { outbox, webhooks } = operator;
    const { deliveryId } = await testWebhook(operator, partnerId);
    const lease = { token: `of ${deliveryId}`, now: at, until: at + 60_000 };
    const [delivery] = await outbox.lease([{ partnerId, limit: 1, except: [] }], lease);
    const url = (await webhooks.endpoint(partnerId))?.url;
    if (delivery?.deliveryId !== deliveryId || url === undefined) throw new Error("another one was leased");
    const next = retryAt === undefined ? ("dead" as const) : { dueAt: retryAt };
    const times = { at, finishedAt: at + 12, durationMs: 12 };
    if (!(await outbox.finish({ delivery, url, ...times, status, error, next, isGone: false })))
      throw new Error("the lease was lost");
    return deliveryId;
  });
}

/** Runs something beside a service that sends webhooks, also to this machine, and listens nowhere. */
export async function withSender<T>(dataDir: string, run: () => Promise<T>): Promise<T> {
  const config = readConfig({ data: dataDir, "allow-private-webhooks": true }, {});
  const { close } = await openService(config);
  try {
    return await run();
  } finally {
    // It drains: an attempt whose request has arrived is also recorded.
    await close();
  }
}
