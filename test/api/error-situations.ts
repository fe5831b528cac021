/** Lists the situations that cause each error code of the API. The compiler refuses a code without an entry. */
import { createApp } from "../../src/app.ts";
import type { LoggedCall } from "../../src/domain/calls.ts";
import { mintApiKey } from "../../src/domain/credentials.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { createIdempotentRunner } from "../../src/domain/idempotency.ts";
import type { Partner } from "../../src/domain/partners.ts";
import { queueTestEvent, setWebhook } from "../../src/domain/webhooks.ts";
import { serve } from "../../src/http/serve.ts";
import type { ApiErrorCode } from "../../src/partner/error-codes.ts";
import type { Service } from "../../src/service.ts";
import { sendToApp } from "../harness/answer.ts";
import { openClient } from "../harness/raw-client.ts";
import { addPartner, knownTeacher, openTestService, refusedPurpose } from "../harness/service.ts";

type Asked = {
  readonly key?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly from?: string;
  /** Parts that replace those of the service. */
  readonly but?: Partial<Service>;
};

export type Situations = Awaited<ReturnType<typeof openSituations>>;

type Cause = (on: Situations, headers: Record<string, string>) => Promise<Response>;

export async function openSituations() {
  const world = await openTestService();
  const { operator, service } = world;
  const { partners } = operator.stores;
  const now = service.clock.now();
  const calls: LoggedCall[] = [];
  const observed = { ...service, onCall: (call: LoggedCall) => void calls.push(call) };

  async function partner(partnerId: string, changes: Partial<Partner>, expiresAt: number | null = null) {
    const like = { scopes: ["eligibility", "batch"], perMinute: 1_000, perDay: 1_000 } as const;
    return addPartner(operator, partnerId, { ...like, ...changes }, expiresAt);
  }
  const revoked = await partner("revoked", {});
  await partners.revokeKey(revoked.keyId, now);
  const keys = {
    full: world.keyOf("full") ?? "",
    unscoped: world.keyOf("unscoped") ?? "",
    noMinute: world.keyOf("spent") ?? "",
    noDay: (await partner("no-day", { perDay: 0 })).text,
    watcher: (await partner("watcher", { watchLimit: 1 })).text,
    hooked: (await partner("hooked", {})).text,
    unhooked: (await partner("unhooked", {})).text,
    revoked: revoked.text,
    expired: (await partner("expired", {}, now - 1)).text,
    disabled: (await partner("disabled", { disabledAt: now })).text,
    unknown: mintApiKey("nobody", { kind: "live", secrets: operator.secrets, now }).text,
    sandbox: mintApiKey("nobody", { kind: "test", secrets: operator.secrets, now }).text,
  };
  // Webhooks are held, so that each delivery stays in the state that a situation gives it.
  await operator.stores.settings.write({ hold_webhooks: "true" });
  const { webhooks } = operator.stores;
  const hooks = { webhooks, partners, secrets: operator.secrets, clock: service.clock };
  const setHook = (partnerId: string) =>
    setWebhook(hooks, { partnerId, url: "https://hooks.example/", check: async () => {} });
  for (const partnerId of ["hooked", "unhooked"]) await setHook(partnerId);
  const delivered = (partnerId: string) => queueTestEvent(hooks, partnerId).then((one) => one.deliveryId);
  await service.configuration.refresh();

  async function ask(path: string, asked: Asked = {}): Promise<Response> {
    const { key, body, from, but } = asked;
    const app = createApp({ ...observed, ...but }, { publicPerMinute: 1, trustedProxies: [] });
    const headers = new Headers(asked.headers);
    if (key !== undefined) headers.set("Authorization", `Bearer ${key}`);
    const sent = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const method = asked.method ?? (sent === undefined ? "GET" : "POST");
    const init: RequestInit = { method, headers, ...(sent === undefined ? {} : { body: sent }) };
    const response = await sendToApp(app, path, init, from);
    // Each app has its own limit of one public lookup, so the second lookup is refused.
    return response.ok && from !== undefined ? sendToApp(app, path, init, from) : response;
  }

  /** Sends bytes to a listener, and returns its answer. */
  async function send(bytes: string): Promise<Response> {
    const listener = await serve(world.app, { host: "127.0.0.1", port: 0 });
    try {
      const client = await openClient({ port: listener.port });
      client.write(bytes);
      const [, status, head = "", body] =
        /^HTTP\/1\.1 (\d+)[^\r]*\r\n(.*?)\r\n\r\n(.*)$/s.exec(await client.closed) ?? [];
      const headers = head.split("\r\n").map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]);
      return new Response(body, { status: Number(status), headers });
    } finally {
      await listener.close();
    }
  }

  return { world, keys, setHook, delivered, calls, ask, send, close: () => world.close() };
}

const api = "/v1/inter-agency";
const eligibility = `${api}/eligibility-check`;
const purpose = "GENERAL_PUBLIC_VERIFICATION";
const question = { identifier: { tId: knownTeacher.tId }, purpose };
const lookup = `/teacher/verify-license?searchTerm=${knownTeacher.tId}`;

const body =
  (value: unknown, path = eligibility): Cause =>
  ({ ask, keys }, headers) =>
    ask(path, { key: keys.full, headers, body: value });

const withKey =
  (name: keyof Situations["keys"], changes: Partial<Asked> = {}): Cause =>
  ({ ask, keys }, headers) =>
    ask(eligibility, { key: keys[name], headers, body: question, ...changes });

const withHeaders =
  (more: Record<string, string>): Cause =>
  ({ ask, keys }, headers) =>
    ask(eligibility, { key: keys.full, headers: { ...headers, ...more }, body: question });

const withSelf =
  (name: keyof Situations["keys"], method: string, path: string): Cause =>
  ({ ask, keys }, headers) =>
    ask(`${api}/me${path}`, { key: keys[name], method, headers });

const uuid = "00000000-0000-7000-8000-000000000000";

const failing =
  (error: Error): Cause =>
  ({ ask, keys, world }, headers) => {
    const answer = () => Promise.reject(error);
    const verification = { ...world.service.verification, answer };
    return ask(eligibility, { key: keys.full, headers, body: question, but: { verification } });
  };

const registerEmpty = new TvsError("REGISTER_EMPTY", "the register is empty");

const items = (length: number) => ({ items: new Array(length).fill(question) });
const roster = (length: number) => ({
  purpose,
  list: { name: "A school" },
  teachers: Array.from({ length }, (_, tId) => ({ tId })),
});

export const errorSituations: Readonly<Record<ApiErrorCode, Readonly<Record<string, Cause>>>> = {
  CREDENTIAL_REQUIRED: {
    "no credential": ({ ask }, headers) => ask(eligibility, { headers, body: question }),
    "a key without the word Bearer": ({ ask, keys }, headers) =>
      ask(eligibility, { headers: { ...headers, Authorization: keys.full }, body: question }),
  },
  CREDENTIAL_MISTYPED: {
    "a key that was cut off": ({ ask, keys }, headers) =>
      ask(eligibility, { key: keys.full.slice(0, -1), headers, body: question }),
  },
  CREDENTIAL_WRONG_SERVICE: {
    "a sandbox's key": withKey("sandbox"),
    "a live key, in a sandbox": withKey("full", { but: { keyKind: "test" } }),
  },
  CREDENTIAL_INVALID: {
    "an unknown key": withKey("unknown"),
    "a revoked key": withKey("revoked"),
    "an expired key": withKey("expired"),
    "a disabled partner's key": withKey("disabled"),
  },
  SCOPE_MISSING: { "a call that was not agreed": withKey("unscoped") },
  PURPOSE_NOT_ALLOWED: { "a purpose that was not agreed": body({ ...question, purpose: refusedPurpose }) },
  PURPOSE_UNKNOWN: { "a purpose that there is not": body({ ...question, purpose: "CURIOSITY" }) },
  BODY_NOT_JSON: { "half of a body": body('{"identifier":') },
  BODY_TOO_LARGE: { "257 KiB": body(" ".repeat(257 * 1024)) },
  REQUEST_INVALID: {
    "no purpose": body({ identifier: question.identifier }),
    "an id of letters": ({ ask, keys }, headers) =>
      ask(`${api}/lookup/by-tid/x`, { key: keys.full, headers }),
    "no search term": ({ ask }, headers) => ask("/teacher/verify-license", { headers }),
    "a search term of 321 characters": ({ ask }, headers) =>
      ask(`/teacher/verify-license?searchTerm=${"x".repeat(321)}`, { headers }),
    "a cursor that no list gave": ({ ask, keys }, headers) =>
      ask(`${api}/watch?after=x`, { key: keys.full, headers }),
  },
  BATCH_SIZE: {
    "101 items": body(items(101), `${api}/batch`),
    "an empty roster": body(roster(0), `${api}/rosters`),
    "2,001 teachers": body(roster(2_001), `${api}/rosters`),
  },
  IDEMPOTENCY_KEY_INVALID: { "half of a quoted string": withHeaders({ "Idempotency-Key": '"k' }) },
  IDEMPOTENCY_KEY_IN_USE: {
    // Takes two seconds, because a duplicate waits that long for the first call.
    "the first call is still running": async ({ ask, keys, world: { operator, service } }, headers) => {
      const idempotency = createIdempotentRunner(
        operator.stores.idempotencyStore,
        service.secrets,
        service.clock,
      );
      const call = { partnerId: "full", operation: "", key: "k", body: {} };
      const held = Promise.withResolvers<null>();
      const first = idempotency.run(call, () => held.promise);
      const answer = () => idempotency.run(call, () => held.promise) as never;
      const verification = { ...service.verification, answer };
      const refused = await ask(eligibility, {
        key: keys.full,
        headers,
        body: question,
        but: { verification },
      });
      held.resolve(null);
      await first;
      return refused;
    },
  },
  IDEMPOTENCY_KEY_REUSED: {
    "another body": async ({ ask, keys }, headers) => {
      const asked = { key: keys.full, headers: { ...headers, "Idempotency-Key": "used" } };
      await ask(eligibility, { ...asked, body: question });
      return ask(eligibility, { ...asked, body: { ...question, context: {} } });
    },
  },
  MINUTE_QUOTA: { "a spent minute": withKey("noMinute") },
  DAY_QUOTA: { "a spent day": withKey("noDay") },
  ADDRESS_QUOTA: {
    "a spent address": ({ ask }, headers) => ask(lookup, { headers, from: "192.0.2.1" }),
    "on the page": ({ ask }, headers) => ask(`/?tId=${knownTeacher.tId}`, { headers, from: "192.0.2.1" }),
  },
  DELIVERY_UNKNOWN: { "an id that nothing has": withSelf("full", "GET", `/deliveries/${uuid}`) },
  DELIVERY_UNDER_WAY: {
    "an attempt is in progress": async (on, headers) => {
      const id = await on.delivered("hooked");
      const now = on.world.service.clock.now();
      const lease = { token: `${uuid} x`, now, until: now + 30_000 };
      await on.world.operator.stores.outbox.lease([{ partnerId: "hooked", limit: 9, except: [] }], lease);
      return withSelf("hooked", "POST", `/deliveries/${id}/retry`)(on, headers);
    },
  },
  NO_WEBHOOK: {
    "a delivery to a webhook that was removed": async (on, headers) => {
      const id = await on.delivered("unhooked");
      await on.world.operator.stores.webhooks.remove("unhooked");
      const answer = await withSelf("unhooked", "POST", `/deliveries/${id}/retry`)(on, headers);
      await on.setHook("unhooked");
      return answer;
    },
  },
  EVENTS_GONE: {
    "an event that is not kept": ({ ask, keys }, headers) =>
      ask(`${api}/events?after=${uuid}`, { key: keys.full, headers }),
  },
  WATCH_LIMIT: {
    "two more, where one fits": ({ ask, keys }, headers) =>
      ask(`${api}/watch`, { key: keys.watcher, headers, body: { add: ["A/B/C/1", "A/B/C/2"] } }),
  },
  PATH_UNKNOWN: {
    "no such call": ({ ask }, headers) => ask(`${api}/nothing`, { headers }),
    "no such page": ({ ask }, headers) => ask("/nothing", { headers }),
  },
  NOT_KNOWN: {
    "a leaf that is not in the log": ({ ask }, headers) =>
      ask(`${api}/log/inclusion/${"0".repeat(64)}`, { headers }),
    "a list that there is not": ({ ask }, headers) => ask(`${api}/status/999999`, { headers }),
  },
  METHOD_NOT_ALLOWED: {
    "of a call": ({ ask }, headers) => ask(eligibility, { method: "DELETE", headers }),
    "of the public lookup": ({ ask }, headers) => ask("/teacher/verify-license", { method: "POST", headers }),
  },
  REQUEST_MALFORMED: {
    "a host that is none": ({ send }) => send("GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n"),
  },
  INTERNAL: { "what nobody expected": failing(new Error("a secret cause")) },
  SERVICE_UNAVAILABLE: {
    "a clock that is wrong": withKey("full", { but: { isClockWrong: () => true } }),
    "a database that is gone": failing(new TvsError("STORE_UNAVAILABLE", "a secret cause")),
    "a health probe that fails": ({ ask }, headers) =>
      ask(`${api}/health`, {
        headers,
        but: { probe: () => Promise.reject(new TvsError("STORE_UNAVAILABLE", "a secret cause")) },
      }),
  },
  REGISTER_EMPTY: {
    "a check, of a register without teachers": failing(registerEmpty),
    "a public lookup, of a register without teachers": ({ ask }, headers) =>
      ask("/teacher/verify-license?searchTerm=7", {
        headers,
        but: { publicLookup: () => Promise.reject(registerEmpty) },
      }),
  },
  OVERLOADED: { "too many that wait": failing(new TvsError("OVERLOADED", "too much at once; try again")) },
};
