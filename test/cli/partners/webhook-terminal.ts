import { openService } from "../../../cli/serve/open-service.ts";
import { readConfig } from "../../../src/config.ts";
import { testWebhook } from "../../../src/domain/webhooks.ts";
import { runTvs } from "../../harness/command.ts";
import { makeFolder } from "../../harness/folder.ts";
import type { Finished } from "../../harness/program.ts";
import { anApiKey, aPartner } from "../../harness/samples.ts";
import { withTestContext } from "../../harness/service.ts";

export type WebhookTerminal = {
  readonly dataDir: string;
  run(line: string): Promise<Finished>;
  json(line: string): Promise<ReturnType<typeof JSON.parse>>;
  addPartner(partnerId: string): Promise<void>;
  /** Makes a delivery to a partner's endpoint that has failed, as the sender records it. */
  addFailed(partnerId: string, failure: Failure): Promise<string>;
  remove(): Promise<void>;
};

type Failure = {
  readonly error: string;
  readonly status: number | null;
  readonly at: number;
  /** Dead when left out. */
  readonly retryAt?: number;
};

export async function makeWebhookTerminal(): Promise<WebhookTerminal> {
  const { path: dataDir, remove } = await makeFolder();
  const run = (line: string) => runTvs(line.split(" "), { dataDir });
  return {
    dataDir,
    run,
    async json(line) {
      const { code, stdout, stderr } = await run(`${line} --json`);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout);
    },
    addPartner: (partnerId) =>
      withTestContext(dataDir, ({ stores: { partners } }) =>
        partners.add(aPartner(partnerId), anApiKey(partnerId, `key-${partnerId}`)),
      ),
    addFailed: (partnerId, failure) => addFailed(dataDir, partnerId, failure),
    remove,
  };
}

function addFailed(dataDir: string, partnerId: string, failure: Failure): Promise<string> {
  return withTestContext(dataDir, async (operator) => {
    const {
      stores: { outbox, webhooks },
    } = operator;
    const { deliveryId } = await testWebhook(operator, partnerId);
    const { error, status, at, retryAt } = failure;
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

/** The service with its sender, which may send to this machine; it listens nowhere. */
export async function withSender<T>(dataDir: string, act: () => Promise<T>): Promise<T> {
  const config = readConfig({ data: dataDir, "allow-private-webhooks": true }, {});
  const { close } = await openService(config);
  try {
    return await act();
  } finally {
    // It drains: an attempt whose request has arrived is also recorded.
    await close();
  }
}
