import type { Stores } from "../../cli/open.ts";
import { resolveEndpoint } from "../../src/delivery/address-guard.ts";
import { createExchange } from "../../src/delivery/exchange.ts";
import { type Sender, type SenderDependencies, startSender } from "../../src/delivery/sender.ts";
import type { Secrets } from "../../src/domain/secrets.ts";
import { setWebhook } from "../../src/domain/webhooks.ts";
import { type Endpoint, withEndpoint } from "./endpoint.ts";
import { anApiKey, aPartner, secrets } from "./samples.ts";
import { type TestStores, withStores } from "./store.ts";

export type TestWebhooks = TestStores & {
  readonly secrets: Secrets;
  /** Another process on the same database. */
  readonly other: Stores;
  /** A partner with an endpoint. @returns its secret */
  subscribe(
    partnerId: string,
    url: string,
    terms?: Partial<Pick<Parameters<typeof setWebhook>[1], "eventFilter">>,
  ): Promise<string>;
  addPartner(partnerId: string): Promise<void>;
  /** A sender that works only while `settle` runs; closed at the end. */
  sender(options?: Partial<SenderDependencies>): Sender;
  /** `[partner, state, attempts]` of each delivery, in the order in which they were made. */
  deliveries(): Promise<[string, string, number][]>;
};

/** An endpoint that takes everything. */
export const takesAll = () => ({ status: 200 });

export function regNos(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => `A/B/C/${from + index}`);
}

/** A teacher without a certificate: whoever puts one into the register makes one event, license.verified. */
const oneEvent = { certificateStatus: "NOT_FOUND" } as const;

/** The real stores, and senders that work when the test says so. A teacher that is put there makes one event. */
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
        const exchange = createExchange({ clock });
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

/** A partner, `board`, with an endpoint that answers so. */
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
