import { expect, test } from "bun:test";
import { statement } from "../../src/store/driver/driver.ts";
import { aClock } from "../harness/clock.ts";
import { known, openTestService } from "../harness/service.ts";

const question = { identifier: { tId: known.tId }, purpose: "SCHOOL_EMPLOYMENT_VERIFICATION" };
const connection = { remoteAddress: "127.0.0.1", tls: false, clientCertificate: null };

test("a call that is answered after the turn of its minute tells of the minute, and the day, that it is charged to", async () => {
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
    const request = new Request("http://service.test/v1/inter-agency/eligibility-check", {
      method: "POST",
      headers: { Authorization: `Bearer ${world.keyOf("full")}` },
      body,
      duplex: "half",
    } as RequestInit);
    const response = await world.app.fetch(request, connection);
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

test("a call whose credential ends while it is answered does not become that of another partner's beside it", async () => {
  const world = await openTestService();
  try {
    const headers = {
      Authorization: `Bearer ${world.keyOf("full")}`,
      "x-agency-api-key": world.keyOf("spent") ?? "",
    };
    const body = new ReadableStream({
      async pull(controller) {
        await world.operator.stores.partners.disable("full", Date.now());
        controller.enqueue(new TextEncoder().encode(JSON.stringify(question)));
        controller.close();
      },
    });
    const url = "http://service.test/v1/inter-agency/eligibility-check";
    const request = new Request(url, { method: "POST", headers, body, duplex: "half" } as RequestInit);
    const response = await world.app.fetch(request, connection);
    expect([response.status, response.headers.get("Retry-After")]).toEqual([503, "1"]);
    const again = await world.call("/v1/inter-agency/eligibility-check", { headers, body: question });
    expect([again.status, again.headers.get("X-RateLimit-Limit")]).toEqual([429, "0"]);
    expect(await world.operator.stores.quotaStore.windows()).toEqual([]);
  } finally {
    await world.close();
  }
});

test("a call whose evidence the database refuses costs nothing, and is not kept waiting for a charge", async () => {
  const world = await openTestService();
  try {
    const refuse = "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END";
    await world.operator.driver.batch([
      statement(`CREATE TRIGGER refuses BEFORE INSERT ON attestations ${refuse}`),
    ]);
    const response = await world.call("/v1/inter-agency/eligibility-check", { as: "full", body: question });
    expect(response.status).toBe(503);
    expect(await world.operator.stores.quotaStore.windows()).toEqual([]);
  } finally {
    await world.close();
  }
});

test("a call is told nothing of a register that was moved while the service ran, but to try again", async () => {
  const world = await openTestService();
  try {
    await world.operator.driver.batch([
      statement("INSERT INTO settings (name, value) VALUES ('moved_to', 'https://10.0.0.7:8081')"),
    ]);
    const response = await world.call("/v1/inter-agency/eligibility-check", { as: "full", body: question });
    expect([response.status, response.headers.get("Retry-After")]).toEqual([503, "1"]);
    expect(await response.text()).not.toContain("10.0.0.7");
  } finally {
    await world.close();
  }
});
