import { expect, test } from "bun:test";
import { bind } from "../../src/store/driver/driver.ts";
import { sendToApp } from "../harness/answer.ts";
import { aClock } from "../harness/clock.ts";
import {
  addPartner,
  knownTeacher,
  openTestService,
  refusedPurpose,
  type TestService,
} from "../harness/service.ts";

const question = {
  identifier: { tId: knownTeacher.tId },
  purpose: "SCHOOL_EMPLOYMENT_VERIFICATION",
} as const;

test("a call that ends after its minute and day have ended reports the minute and day that it was charged to", async () => {
  const clock = aClock("2026-03-01T23:59:59.990Z");
  const world = await openTestService({ clock });
  try {
    // The body comes when the next day has begun.
    const body = new ReadableStream({
      pull(controller) {
        clock.add(20);
        controller.enqueue(new TextEncoder().encode(JSON.stringify(question)));
        controller.close();
      },
    });
    const response = await sendToApp(world.app, "/v1/inter-agency/eligibility-check", {
      method: "POST",
      headers: { Authorization: `Bearer ${world.keyOf("full")}` },
      body,
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(200);
    expect(response.headers.get("X-RateLimit-Remaining")).toBe("4999");
    expect(response.headers.get("X-RateLimit-Reset")).toBe(String(Date.parse("2026-03-02T00:00:00Z") / 1000));
    const stored = (await world.operator.stores.quotaStore.windows()).sort((a, b) =>
      a.kind < b.kind ? 1 : -1,
    );
    expect(stored).toEqual([
      { partnerId: "full", kind: "minute", startsAt: Date.parse("2026-03-01T23:59:00Z"), used: 1 },
      { partnerId: "full", kind: "day", startsAt: Date.parse("2026-03-01T00:00:00Z"), used: 1 },
    ]);
  } finally {
    await world.close();
  }
});

const path = "/v1/inter-agency/eligibility-check";

/** A service with a further partner, and a call with the keys of two whose body comes when a change is committed. */
async function withTwo(
  act: (two: {
    world: TestService;
    otherKey: string;
    send(keys: { bearer: string; header: string }, change: () => Promise<unknown>): Promise<Response>;
  }) => Promise<void>,
  body: object = question,
): Promise<void> {
  const world = await openTestService();
  try {
    const purposes = [question.purpose, refusedPurpose];
    const { text } = await addPartner(world.operator, "other", { purposes, perMinute: 7 });
    await world.service.configuration.refresh();
    const send = async (keys: { bearer: string; header: string }, change: () => Promise<unknown>) => {
      const stream = new ReadableStream({
        async pull(controller) {
          await change();
          controller.enqueue(new TextEncoder().encode(JSON.stringify(body)));
          controller.close();
        },
      });
      const headers = {
        Authorization: `Bearer ${keys.bearer}`,
        "x-agency-api-key": keys.header,
        "Idempotency-Key": "k",
      };
      const init = { method: "POST", headers, body: stream, duplex: "half" } as RequestInit;
      return sendToApp(world.app, path, init);
    };
    await act({ world, otherKey: text, send });
  } finally {
    await world.close();
  }
}

const disable = ({ operator }: TestService, partnerId: string) =>
  operator.stores.partners.disable(partnerId, Date.now());

test("a retried call with two credentials is authenticated by the credential that is still valid", () =>
  withTwo(
    async ({ world, otherKey, send }) => {
      const keys = { bearer: world.keyOf("full") ?? "", header: otherKey };
      const answer = await send(keys, () => disable(world, "full"));
      expect([answer.status, JSON.parse(await answer.text()).audience]).toEqual([200, "other"]);
      const toSpent = { bearer: otherKey, header: world.keyOf("spent") ?? "" };
      const refused = await send(toSpent, () => disable(world, "other"));
      expect([refused.status, refused.headers.get("X-RateLimit-Limit")]).toEqual([429, "0"]);
      const toUnscoped = { bearer: otherKey, header: world.keyOf("unscoped") ?? "" };
      await world.operator.stores.partners.disable("other", null);
      const lacking = await send(toUnscoped, () => disable(world, "other"));
      expect([lacking.status, await lacking.text()]).toEqual([
        403,
        expect.stringContaining("lacks the scope"),
      ]);
    },
    { ...question, purpose: refusedPurpose },
  ));

test("a call whose attestation the database refuses gets 503, is not charged, and has no rate-limit headers", async () => {
  const world = await openTestService();
  try {
    const refuse = "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END";
    await world.operator.driver.batch([
      bind(`CREATE TRIGGER refuses BEFORE INSERT ON attestations ${refuse}`),
    ]);
    const response = await world.call("/v1/inter-agency/eligibility-check", { as: "full", body: question });
    expect([response.status, response.headers.get("X-RateLimit-Remaining")]).toEqual([503, null]);
    expect(await world.operator.stores.quotaStore.windows()).toEqual([]);
  } finally {
    await world.close();
  }
});
