import { expect, test } from "bun:test";
import { openTestService } from "../harness/service.ts";

const question = { identifier: { tId: 204417 }, purpose: "GENERAL_PUBLIC_VERIFICATION" };
const refused = { ...question, purpose: "EMPLOYER_BACKGROUND_CHECK" };

test("X-RateLimit-Remaining is exact in answers, replays and every kind of refusal", async () => {
  const { call, close, operator, service } = await openTestService();
  try {
    await operator.stores.partners.update({ partnerId: "full", scopes: ["eligibility"], perMinute: 6 });
    await service.configuration.refresh();
    async function ask(path: string, body: unknown, key?: string) {
      const headers: Record<string, string> = key === undefined ? {} : { "Idempotency-Key": key };
      const response = await call(`/v1/inter-agency/${path}`, { as: "full", body, headers });
      return [response.status, Number(response.headers.get("X-RateLimit-Remaining"))];
    }
    const lacking = () => ask("batch", { items: [question] });
    const check = (body: unknown, key?: string) => ask("eligibility-check", body, key);
    expect(await lacking()).toEqual([403, 6]);
    expect(await check(question, "k")).toEqual([200, 5]);
    expect(await lacking()).toEqual([403, 5]);
    expect(await check(refused)).toEqual([403, 4]);
    expect(await check({})).toEqual([400, 3]);
    expect(await check({ ...question, context: {} }, "k")).toEqual([422, 2]);
    expect(await check(question, "k")).toEqual([200, 1]);
    expect(await check(question)).toEqual([200, 0]);
    expect(await check(question)).toEqual([429, 0]);
    expect(await lacking()).toEqual([403, 0]);
  } finally {
    await close();
  }
});
