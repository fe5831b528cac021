import { resolveEndpoint } from "../../src/delivery/address-guard.ts";
import { createWebhookHttpClient } from "../../src/delivery/exchange.ts";
import type { WebhookSender, WebhookSenderDependencies } from "../../src/delivery/sender.ts";
import { startWebhookSender } from "../../src/delivery/sender.ts";
import { setWebhook } from "../../src/domain/webhooks.ts";
import { type Endpoint, withEndpoint } from "./endpoint.ts";
import { anApiKey, aPartner, secrets } from "./samples.ts";
import { type TestStores, withStores } from "./store.ts";

export type TestWebhooks = Awaited<ReturnType<typeof openWebhooks>>;

/** The response of an endpoint that accepts everything. */
export const acceptAll = () => ({ status: 200 });

export function regNos(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => `A/B/C/${from + index}`);
}

/** A teacher without a certificate. Adding it causes exactly one event, license.verified. */
const oneEvent = { certificateStatus: "NOT_FOUND" } as const;

/** Runs a function with the real stores, and with senders that send on demand. Each added teacher causes one event. */
export function withWebhooks(act: (world: TestWebhooks) => Promise<void>): Promise<void> {
  return withStores(async (stores) => {
    const closers: (() => Promise<void>)[] = [];
    try {
      await act(await openWebhooks(stores, closers));
    } finally {
      for (const close of closers) await close();
    }
  });
}

/** @param closers gets a function for each sender, which closes it */
async function openWebhooks(stores: TestStores, closers: (() => Promise<void>)[]) {
  const { clock, partners, outbox, rows } = stores;
  const addPartner = (partnerId: string) =>
    partners.add(aPartner(partnerId), anApiKey(partnerId, `key-${partnerId}`));
  type Terms = Partial<Pick<Parameters<typeof setWebhook>[1], "eventFilter">>;
  return {
    ...{ ...stores, secrets, addPartner },
    /** The stores of another process on the same database. */
    other: await stores.another(),
    put: (regNo: string) => stores.put(regNo, oneEvent),
    putMany: (regNos: readonly string[]) => stores.putMany(regNos, oneEvent),
    /** Adds a partner with an endpoint. @returns the secret of the endpoint */
    async subscribe(partnerId: string, url: string, terms: Terms = {}): Promise<string> {
      await addPartner(partnerId);
      const check = (text: string) => resolveEndpoint(text, { allowPrivate: true });
      return (await setWebhook({ ...stores, secrets }, { partnerId, url, check, ...terms })).secret;
    },
    /** Starts a sender that sends only while `settle` runs. It is closed at the end. */
    sender(options: Partial<WebhookSenderDependencies> = {}): WebhookSender {
      const exchange = createWebhookHttpClient({ clock });
      const base = { exchange, secrets, clock, allowPrivate: () => true, version: "9.9.9", outbox };
      const limits = { pollMs: 3_600_000, ...options.limits };
      const sender = startWebhookSender({
        ...base,
        random: () => 0,
        onError: unexpected,
        ...options,
        limits,
      });
      closers.push(async () => {
        await sender.close();
        exchange.close();
      });
      return sender;
    },
    /** `[partner, state, attempts]` of each delivery, in the order in which they were made. */
    async deliveries(): Promise<[string, string, number][]> {
      const found = await rows("SELECT partner_id, state, attempts FROM deliveries ORDER BY id");
      return found.map((row) => [String(row.partner_id), String(row.state), Number(row.attempts)]);
    },
  };
}

/** Runs a function with a partner `board`, whose endpoint gives these responses. */
export function withBoard(
  answer: Parameters<typeof withEndpoint>[0],
  act: (given: Endpoint & { readonly world: TestWebhooks; readonly secret: string }) => Promise<void>,
): Promise<void> {
  return withWebhooks((world) =>
    withEndpoint(answer, async (endpoint) =>
      act({ ...endpoint, world, secret: await world.subscribe("board", endpoint.url) }),
    ),
  );
}

function unexpected(error: unknown): never {
  throw error;
}
