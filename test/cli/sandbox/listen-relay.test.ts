import { afterEach, expect, test } from "bun:test";
import { isListening, type RelayedDelivery, startRelay } from "../../../cli/sandbox/listen-relay.ts";
import { mayBeRelay } from "../../../src/domain/sandbox/state.ts";
import { withEndpoint } from "../../harness/endpoint.ts";

const seen: RelayedDelivery[] = [];
let relay: Awaited<ReturnType<typeof startRelay>> | undefined;

afterEach(async () => {
  await relay?.close();
  seen.length = 0;
});

async function start(target: string | null) {
  relay = await startRelay({
    target: target === null ? null : new URL(target),
    onDelivery: (delivery) => seen.push(delivery),
  });
  return relay;
}

const body = '{"eventId":"e-1", "data":{"regNo":"A/B/C/1","tId":7},"é":"\\u00e9"}\n';
const headers = {
  "Content-Type": "application/json",
  "User-Agent": "tvs-webhooks/1",
  "X-AGENCY-Signature": "t=1,v1=00",
  "X-AGENCY-Event-Id": "e-1",
  "X-AGENCY-Event-Type": "license.revoked",
  "X-AGENCY-Delivery-Id": "d-1",
};
const post = (url: string) => fetch(url, { method: "POST", headers, body });

test("a delivery is handed on byte for byte with its headers, and the answer goes back with its own", () =>
  withEndpoint(
    () => ({ status: 429, headers: { "Retry-After": "7" } }),
    async ({ url, received }) => {
      const { url: at } = await start(url);
      const answer = await post(at);
      expect([answer.status, answer.headers.get("Retry-After")]).toEqual([429, "7"]);
      expect(received[0]?.body).toBe(body);
      const { host, ...passed } = received[0]?.headers ?? {};
      expect(host).toBe(new URL(url).host);
      for (const [name, value] of Object.entries(headers)) expect(passed[name.toLowerCase()]).toBe(value);
      expect(seen[0]).toMatchObject({
        eventType: "license.revoked",
        deliveryId: "d-1",
        attempt: 1,
        regNo: "A/B/C/1",
        tId: 7,
        status: 429,
        error: null,
        signature: "t=1,v1=00",
        body,
      });
      await post(at);
      expect(seen[1]?.attempt).toBe(2);
    },
  ));

test("a receiver that is not there is told as 502", async () => {
  const { url } = await start("http://127.0.0.1:9/nobody");
  const answer = await post(url);
  expect([answer.status, await answer.text()]).toEqual([502, "nothing listens there"]);
  expect(seen[0]).toMatchObject({ status: null, error: "nothing listens there" });
});

test("without a receiver each delivery is acknowledged", async () => {
  const { url } = await start(null);
  expect((await post(url)).status).toBe(204);
});

test("nothing that does not know its path gets through, and it says whether it is there", async () => {
  const { url } = await start(null);
  expect((await post(new URL("/", url).href)).status).toBe(404);
  expect(seen).toEqual([]);
  expect(await isListening(url)).toBe(true);
  expect(await isListening(new URL("/other", url).href)).toBe(false);
  await relay?.close();
  expect(await isListening(url)).toBe(false);
});

test("only an address of this machine is asked whether a relay is there, and sends nobody on", async () => {
  const { url } = await start(null);
  const { port } = new URL(url);
  expect(await isListening(url)).toBe(true);
  expect(await isListening(url.replace("127.0.0.1", "localhost"))).toBe(false);
  expect(mayBeRelay(`http://127.0.0.1:${port}@localhost:${port}/`)).toBe(false);
  await withEndpoint(
    () => ({ status: 302, headers: { Location: url } }),
    async (other) => expect(await isListening(other.url)).toBe(false),
  );
});
