import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { resolveEndpoint } from "../../src/delivery/address-guard.ts";
import { createExchange } from "../../src/delivery/exchange.ts";
import { type Sender, type SenderDependencies, startSender } from "../../src/delivery/sender.ts";
import { createCalendar } from "../../src/domain/clock.ts";
import type { Outbox } from "../../src/domain/deliveries.ts";
import type { SettingsStore } from "../../src/domain/live.ts";
import { planWrite, type TeacherStore } from "../../src/domain/teacher-store.ts";
import type { StoredTeacher, TeacherContent } from "../../src/domain/teachers.ts";
import { setWebhook, type WebhookDependencies } from "../../src/domain/webhooks.ts";
import { createCommits } from "../../src/store/driver/commits.ts";
import type { Driver, Value } from "../../src/store/driver/driver.ts";
import { openEmbedded } from "../../src/store/driver/embedded.ts";
import { migrate } from "../../src/store/driver/migrations.ts";
import { createOutbox } from "../../src/store/outbox.ts";
import { createPartnerStore } from "../../src/store/partners.ts";
import { createSettingsStore } from "../../src/store/settings.ts";
import { createTeacherStore } from "../../src/store/teachers.ts";
import { createWebhookStore } from "../../src/store/webhooks.ts";
import { aClock, secrets } from "../domain/samples.ts";
import { withTempDir } from "../harness.ts";
import { anApiKey, aPartner, aTeacher } from "../store/samples.ts";

export const lagos = createCalendar("Africa/Lagos");

/** The stores of one process over the database. */
type Side = { readonly driver: Driver; readonly outbox: Outbox };

export type WebhookWorld = WebhookDependencies &
  Side & {
    readonly folder: string;
    readonly clock: ReturnType<typeof aClock>;
    readonly settings: SettingsStore;
    readonly teachers: TeacherStore;
    /** Another process on the same database. */
    readonly other: Side;
    /** A partner with an endpoint. @returns its secret */
    subscribe(
      partnerId: string,
      url: string,
      terms?: Partial<Pick<Parameters<typeof setWebhook>[1], "events" | "teachers">>,
    ): Promise<string>;
    addPartner(partnerId: string): Promise<void>;
    /** Stores a teacher, as an import at the clock's time does: a license.verified event, and no other. */
    put(regNo: string): Promise<StoredTeacher>;
    putMany(regNos: readonly string[]): Promise<void>;
    /** A sender that works only when it is told to settle; closed with the world. */
    sender(options?: Partial<SenderDependencies>): Sender;
    rows(sql: string, args?: readonly Value[]): Promise<Record<string, unknown>[]>;
    /** `[partner, state, attempts]` of each delivery, in the order in which they were made. */
    deliveries(): Promise<[string, string, number][]>;
  };

/** A real database, a clock that the test moves, and senders that work when the test says so. */
export function withWebhooks(act: (world: WebhookWorld) => Promise<void>): Promise<void> {
  return withTempDir(async (folder) => {
    const file = `${folder}/tvs.db`;
    const drivers = [await openEmbedded({ file }), await openEmbedded({ file })] as const;
    const [driver, second] = drivers;
    const clock = aClock("2026-05-01T09:00:00Z");
    const closers: (() => Promise<void> | void)[] = [];
    const partners = createPartnerStore(driver);
    const teachers = createTeacherStore(driver);
    const plan = (regNo: string) => {
      const content: TeacherContent = aTeacher(regNo, { certificateStatus: "NOT_FOUND" });
      return planWrite(null, content, { action: "import", actor: "test", calendar: lagos, at: clock.now() });
    };
    const world: WebhookWorld = {
      folder,
      driver,
      outbox: createOutbox(driver, createCommits(driver)),
      other: { driver: second, outbox: createOutbox(second, createCommits(second)) },
      clock,
      secrets,
      partners,
      teachers,
      settings: createSettingsStore(driver),
      webhooks: createWebhookStore(driver),
      addPartner: (partnerId) => partners.add(aPartner(partnerId), anApiKey(partnerId, `key-${partnerId}`)),
      async subscribe(partnerId, url, terms = {}) {
        await world.addPartner(partnerId);
        const check = (text: string) => resolveEndpoint(text, { allowPrivate: true });
        return (await setWebhook(world, { partnerId, url, check, ...terms })).secret;
      },
      async put(regNo) {
        await world.putMany([regNo]);
        const stored = await teachers.findStored({ by: "regNo", value: regNo });
        if (stored === null) throw new Error("not in the register");
        return stored;
      },
      async putMany(regNos) {
        await teachers.apply(regNos.map(plan));
      },
      sender(options = {}) {
        const exchange = createExchange({ clock });
        const base = {
          exchange,
          secrets,
          clock,
          allowPrivate: () => true,
          version: "9.9.9",
          outbox: world.outbox,
        };
        const limits = { pollMs: 3_600_000, ...options.limits };
        const sender = startSender({ ...base, random: () => 0, onError: unexpected, ...options, limits });
        closers.push(async () => {
          await sender.close();
          exchange.close();
        });
        return sender;
      },
      rows: (sql, args) => driver.query(sql, args),
      async deliveries() {
        const rows = await driver.query("SELECT partner_id, state, attempts FROM deliveries ORDER BY id");
        return rows.map((row) => [String(row.partner_id), String(row.state), Number(row.attempts)]);
      },
    };
    try {
      await migrate(driver, clock.now());
      await act(world);
    } finally {
      for (const close of closers) await close();
      for (const one of drivers) await one.close();
    }
  });
}

function unexpected(error: unknown): never {
  throw error;
}

export type Received = { readonly headers: IncomingHttpHeaders; readonly body: string };
/** What the endpoint does with a request; null leaves it without an answer. */
export type Answer = { status: number; headers?: Record<string, string> } | null;

export type Endpoint = { readonly url: string; readonly received: Received[] };

/** A receiver of the contract's kind on the loopback interface, gone when `act` has ended. */
export async function withEndpoint(
  answer: (request: Received, count: number) => Answer | Promise<Answer>,
  act: (endpoint: Endpoint) => Promise<void>,
): Promise<void> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", async () => {
      const one = { headers: request.headers, body };
      received.push(one);
      const made = await answer(one, received.length);
      if (made !== null) response.writeHead(made.status, made.headers).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    await act({ url: `http://127.0.0.1:${port}/hook`, received });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
