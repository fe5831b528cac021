import { expect, test } from "bun:test";
import { bind } from "../../src/store/driver/driver.ts";
import { sendToApp } from "../harness/answer.ts";
import { aClock } from "../harness/clock.ts";
import { addPartner, openTestService, refusedPurpose, type TestService } from "../harness/service.ts";

const api = "/v1/inter-agency";
const question = { identifier: { tId: 204417 }, purpose: "SCHOOL_EMPLOYMENT_VERIFICATION" } as const;
type Name = "full" | "spent" | "unscoped" | "other";

type World = TestService & {
  /** Sends a check with the keys of two partners, and calls `change` before the body arrives. */
  send(keys: { bearer: Name; header: Name }, change: () => unknown, body?: object): Promise<Response>;
};

async function withService(act: (world: World) => Promise<void>, clock = aClock("2026-03-01T09:30:00Z")) {
  const world = await openTestService({ clock });
  try {
    const purposes = [question.purpose, refusedPurpose];
    const other = await addPartner(world.operator, "other", { purposes, perMinute: 7 });
    await world.service.configuration.refresh();
    const keyOf = (name: Name) => (name === "other" ? other.text : (world.keyOf(name) ?? ""));
    const send: World["send"] = async ({ bearer, header }, change, body = question) => {
      const stream = new ReadableStream({
        async pull(controller) {
          await change();
          controller.enqueue(new TextEncoder().encode(JSON.stringify(body)));
          controller.close();
        },
      });
      const keys = { Authorization: `Bearer ${keyOf(bearer)}`, "x-agency-api-key": keyOf(header) };
      const init = {
        method: "POST",
        headers: { ...keys, "Idempotency-Key": "k" },
        body: stream,
        duplex: "half",
      };
      return sendToApp(world.app, `${api}/eligibility-check`, init as RequestInit);
    };
    await act({ ...world, send });
  } finally {
    await world.close();
  }
}

test("a call that runs past midnight reports the quota of the minute and day that it was charged to", () => {
  const clock = aClock("2026-03-01T23:59:59.990Z");
  return withService(async ({ operator, send }) => {
    const { status, headers } = await send({ bearer: "full", header: "other" }, () => clock.add(20));
    expect([status, headers.get("X-RateLimit-Remaining")]).toEqual([200, "4999"]);
    expect(headers.get("X-RateLimit-Reset")).toBe(String(Date.parse("2026-03-02T00:00:00Z") / 1000));
    const stored = await operator.stores.quotaStore.windows();
    expect(stored.sort((a, b) => (a.kind < b.kind ? 1 : -1))).toEqual([
      { partnerId: "full", kind: "minute", startsAt: Date.parse("2026-03-01T23:59:00Z"), used: 1 },
      { partnerId: "full", kind: "day", startsAt: Date.parse("2026-03-01T00:00:00Z"), used: 1 },
    ]);
  }, clock);
});

test("a retried call with two credentials is authenticated by the credential that is still valid", () =>
  withService(async ({ operator: { stores }, send }) => {
    const body = { ...question, purpose: refusedPurpose };
    const disable = (partnerId: string) => () => stores.partners.disable(partnerId, 1);
    const answer = await send({ bearer: "full", header: "other" }, disable("full"), body);
    expect([answer.status, JSON.parse(await answer.text()).audience]).toEqual([200, "other"]);
    const refused = await send({ bearer: "other", header: "spent" }, disable("other"), body);
    expect([refused.status, refused.headers.get("X-RateLimit-Limit")]).toEqual([429, "0"]);
    await stores.partners.disable("other", null);
    const lacking = await send({ bearer: "other", header: "unscoped" }, disable("other"), body);
    expect(lacking.status).toBe(403);
    expect(await lacking.text()).toContain("lacks the scope");
  }));

test("a call whose attestation the database refuses gets 503, is not charged, and has no rate-limit headers", () =>
  withService(async ({ operator, call }) => {
    const refuse = "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END";
    await operator.driver.batch([bind(`CREATE TRIGGER refuses BEFORE INSERT ON attestations ${refuse}`)]);
    const response = await call(`${api}/eligibility-check`, { as: "full", body: question });
    expect([response.status, response.headers.get("X-RateLimit-Remaining")]).toEqual([503, null]);
    expect(await operator.stores.quotaStore.windows()).toEqual([]);
  }));

test("X-RateLimit-Remaining is exact in answers, replays and every kind of refusal", () =>
  withService(async ({ call, operator, service }) => {
    await operator.stores.partners.update({ partnerId: "full", scopes: ["eligibility"], perMinute: 6 });
    await service.configuration.refresh();
    async function ask(path: string, body: unknown, key?: string) {
      const headers: Record<string, string> = key === undefined ? {} : { "Idempotency-Key": key };
      const response = await call(`${api}/${path}`, { as: "full", body, headers });
      return [response.status, Number(response.headers.get("X-RateLimit-Remaining"))];
    }
    const lacking = () => ask("batch", { items: [question] });
    const check = (body: unknown, key?: string) => ask("eligibility-check", body, key);
    expect(await lacking()).toEqual([403, 6]);
    expect(await check(question, "k")).toEqual([200, 5]);
    expect(await lacking()).toEqual([403, 5]);
    expect(await check({ ...question, purpose: refusedPurpose })).toEqual([403, 4]);
    // The form of a request is checked before its purpose.
    const malformed = { identifier: { nin: "7" }, purpose: refusedPurpose };
    expect(await check(malformed)).toEqual([400, 3]);
    expect(await check({ ...question, context: {} }, "k")).toEqual([422, 2]);
    expect(await check(question, "k")).toEqual([200, 1]);
    expect(await check(question)).toEqual([200, 0]);
    expect(await check(question)).toEqual([429, 0]);
    expect(await lacking()).toEqual([403, 0]);
  }));
