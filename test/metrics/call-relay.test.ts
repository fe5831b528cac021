import { describe, expect, test } from "bun:test";
import type { Call } from "../../src/domain/calls.ts";
import { type CallsOfThread, createCallRelay } from "../../src/metrics/call-relay.ts";
import { until } from "../harness/eventually.ts";

const call = (change: Partial<Call> = {}): Call => ({
  requestId: "0192f0c1-2f3b-7cc0-8000-000000000000",
  route: "/v1/inter-agency/batch",
  method: "POST",
  status: 200,
  partnerId: "a",
  keyId: "k1",
  ms: 1,
  error: null,
  replayed: false,
  ...change,
});

function openRelay(wantsAll: boolean) {
  const sent: CallsOfThread[] = [];
  return { sent, relay: createCallRelay({ send: (batch) => sent.push(batch), wantsAll }) };
}

describe("the calls that a thread tells the main one of", () => {
  test("are the refused ones, and all of them where an access log is kept", () => {
    const refused = [call({ status: 403 }), call({ status: 401, partnerId: null })];
    const others = [call(), call({ status: 503 }), call({ status: 404, partnerId: null })];
    const { relay, sent } = openRelay(false);
    for (const one of [...others, ...refused]) relay.observe(one);
    relay.end();
    expect(sent).toEqual([{ calls: refused, dropped: 0 }]);
    const all = openRelay(true);
    for (const one of others) all.relay.observe(one);
    all.relay.end();
    expect(all.sent).toEqual([{ calls: others, dropped: 0 }]);
  });

  test("leave together, and further ones when those were taken", async () => {
    const { relay, sent } = openRelay(true);
    relay.observe(call({ ms: 1 }));
    relay.observe(call({ ms: 2 }));
    await until(() => sent.length === 1);
    relay.observe(call({ ms: 3 }));
    relay.taken();
    await until(() => sent.length === 2);
    expect(sent.map(({ calls }) => calls.map(({ ms }) => ms))).toEqual([[1, 2], [3]]);
  });

  test("are dropped, and their number told, when very many wait", () => {
    const { relay, sent } = openRelay(true);
    for (let n = 0; n < 15_007; n++) relay.observe(call());
    relay.end();
    expect(sent.map(({ calls, dropped }) => [calls.length, dropped])).toEqual([[15_000, 7]]);
    relay.end();
    expect(sent).toHaveLength(1);
  });

  test("of strangers take no partner's place, however many there are", () => {
    const { relay, sent } = openRelay(true);
    for (let n = 0; n < 50_000; n++) relay.observe(call({ partnerId: null, status: 401 }));
    relay.observe(call());
    relay.end();
    expect(sent.map(({ calls, dropped }) => [calls.length, dropped])).toEqual([[5_001, 45_000]]);
    expect(sent[0]?.calls.at(-1)).toMatchObject({ partnerId: "a" });
  });
});
