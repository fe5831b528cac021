import type { Stores } from "../../cli/open.ts";
import { resolveEndpoint } from "../../src/delivery/address-guard.ts";
import { createWebhookHttp } from "../../src/delivery/exchange.ts";
import { type Sender, type SenderDependencies, startSender } from "../../src/delivery/sender.ts";
import type { Secrets } from "../../src/domain/secrets.ts";
import { setWebhook } from "../../src/domain/webhooks.ts";
import { type Endpoint, withEndpoint } from "./endpoint.ts";
import { anApiKey, aPartner, secrets } from "./samples.ts";
import { type TestStores, withStores } from "./store.ts";

export type TestWebhooks = TestStores & {
  readonly secrets: Secrets;
  /** The stores of another process on the same database. */
  readonly other: Stores;
  /** Adds a partner with an endpoint. @returns the secret of the endpoint */
  subscribe(
    partnerId: string,
    url: string,
    terms?: Partial<Pick<Parameters<typeof setWebhook>[1], "eventFilter">>,
  ): Promise<string>;
  addPartner(partnerId: string): Promise<void>;
  /** Starts a sender that sends only while `settle` runs. It is closed at the end. */
  sender(options?: Partial<SenderDependencies>): Sender;
  /** `[partner, state, attempts]` of each delivery, in the order in which they were made. */
  deliveries(): Promise<[string, string, number][]>;
};

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
    const { clock, partners, outbox, rows } = stores;
    const closers: (() => Promise<void>)[] = [];
    const world: TestWebhooks = {
      ...stores,
      secrets,
      other: await stores.another(),
      put: (regNo) => stores.put(regNo, oneEvent),
      putMany: (regNos) => stores.putMany(regNos, oneEvent),
      addPartner: (partnerId) => partners.add(aPartner(partnerId), anApiKey(partnerId, `key-${partnerId}`)),
      async subscribe(partnerId, url, terms = {}) {
        await world.addPartner(partnerId);
        const check = (text: string) => resolveEndpoint(text, { allowPrivate: true });
        return (await setWebhook(world, { partnerId, url, check, ...terms })).secret;
      },
      sender(options = {}) {
        const exchange = createWebhookHttp({ clock });
        const base = { exchange, secrets, clock, allowPrivate: () => true, version: "9.9.9", outbox };
        const limits = { pollMs: 3_600_000, ...options.limits };
        const sender = startSender({ ...base, random: () => 0, onError: unexpected, ...options, limits });
        closers.push(async () => {
          await sender.close();
          exchange.close();
        });
        return sender;
      },
      async deliveries() {
        const found = await rows("SELECT partner_id, state, attempts FROM deliveries ORDER BY id");
        return found.map((row) => [String(row.partner_id), String(row.state), Number(row.attempts)]);
      },
    };
    try {
      await act(world);
    } finally {
      for (const close of closers) await close();
    }
  });
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
