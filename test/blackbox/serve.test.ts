import { beforeAll, expect, test } from "bun:test";
import { until } from "../harness/eventually.ts";
import { type Service, startService } from "../harness/program.ts";
import { openClient } from "../harness/raw-client.ts";
import type { Health } from "./contract.ts";
import { type Partner, sharedWorld } from "./world.ts";

const world = sharedWorld({ rows: [], isStopped: true });
let partner: Partner;
beforeAll(async () => {
  partner = await world.partner();
});

const health = async (service: Service) =>
  (await (await fetch(`${service.url}/v1/inter-agency/health`)).json()) as Health;

test("tvs serve prints only its URL on stdout, and writes its structured log to stderr", async () => {
  const service = await world.serving(async (one) => {
    expect((await health(one)).status).toBe("ok");
    return one;
  });
  expect(service.stdout()).toBe(`listening on ${service.url}\n`);
  const lines = service.stderr().trim().split("\n");
  for (const line of lines) expect(typeof (JSON.parse(line) as object)).toBe("object");
});

test("tvs serve without signer threads answers a check with a signed envelope", () =>
  world.serving(async () => {
    const response = await partner.get("/lookup/by-tid/1");
    expect(response.status).toBe(200);
    expect(await response.json()).toHaveProperty("signature", expect.stringMatching(/^[\w-]+(\.[\w-]+){2}$/));
  }, ["--signers", "0"]));

test.each([
  ["SIGTERM", 1],
  ["SIGINT", 1],
  ["SIGTERM", 2],
] as const)(
  "%s, sent %d times, ends tvs serve with exit code 0, although an idle connection is open",
  async (signal, times) => {
    const service = await startService({ dataDir: world.dataDir });
    const { socket } = await connectTo(service);
    for (let n = 0; n < times; n++) service.signal(signal);
    expect(await service.exited).toBe(0);
    socket.destroy();
  },
);

test.each([
  ["head", 20],
  ["body", -5],
])(
  "a request whose %s is being sent at SIGTERM is answered, new requests are refused, and tvs serve exits with 0",
  async (_part, at) => {
    const service = await startService({ dataDir: world.dataDir });
    const client = await connectTo(service);
    const body = JSON.stringify({ identifier: { tId: 1 }, purpose: "GENERAL_PUBLIC_VERIFICATION" });
    const head = `POST /v1/inter-agency/eligibility-check HTTP/1.1\r\nHost: x\r\nx-agency-api-key: ${partner.apiKey}\r\n`;
    const request = `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    client.write(request.slice(0, at));
    // An answer on another connection shows that the service has read the first bytes of this one.
    await health(service);
    service.signal("SIGTERM");
    await refused(service);
    client.write(request.slice(at));
    const answer = await client.closed;
    expect(answer).toStartWith("HTTP/1.1 200 OK");
    expect(answer).toContain('"signature":"');
    expect(await service.exited).toBe(0);
  },
);

const connectTo = ({ url }: Service) => openClient({ port: Number(new URL(url).port) });

/** Waits until the service accepts no new connection. */
async function refused(service: Service): Promise<void> {
  await until(async () => {
    const opened = await connectTo(service).catch(() => null);
    // The listener or the system's queue accepted this connection before the listener closed. It gets no answer.
    opened?.socket.destroy();
    return opened === null;
  });
}
