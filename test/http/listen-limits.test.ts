import { afterEach, describe, expect, test } from "bun:test";
import type { ListenLimits } from "../../src/http/limits.ts";
import { type Listener, listen } from "../../src/http/listen.ts";
import { makeCertificate } from "../harness/certificates.ts";
import { sleep } from "../harness/eventually.ts";
import { get, openClient } from "../harness/raw-client.ts";

const serverCertificate = await makeCertificate({ commonName: "localhost" });
const tls = { port: 0, cert: serverCertificate.certPem, key: serverCertificate.keyPem };

/** Out of the way, so that each test shortens only the limit it is about. */
const PATIENT = 600_000;
const PATIENT_LIMITS: Partial<ListenLimits> = {
  headersTimeoutMs: PATIENT,
  requestTimeoutMs: PATIENT,
  responseTimeoutMs: PATIENT,
  keepAliveTimeoutMs: PATIENT,
  handshakeTimeoutMs: PATIENT,
  drainTimeoutMs: 50,
};

const listeners: Listener[] = [];

afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
});

async function start(limits: Partial<ListenLimits>) {
  const givenUp = Promise.withResolvers<void>();
  const fetch = (request: Request) => {
    request.signal.addEventListener("abort", () => givenUp.resolve());
    return answer(request);
  };
  const options = { host: "127.0.0.1", port: 0, tls, limits: { ...PATIENT_LIMITS, ...limits } };
  const listener = await listen({ pages: { fetch } }, options);
  listeners.push(listener);
  return {
    http: { port: listener.port },
    https: { port: listener.tlsPort ?? 0, tls: true },
    givenUp: givenUp.promise,
  };
}

async function answer(request: Request): Promise<Response> {
  if (request.url.endsWith("/large")) return new Response(new Uint8Array(LARGE_BYTES));
  if (request.url.endsWith("/slow")) await sleep(700);
  try {
    return new Response(`read ${(await request.text()).length}`);
  } catch {
    return new Response("cut off", { status: 400 });
  }
}

/** More than the kernel's buffers take in while the client does not read. */
const LARGE_BYTES = 32 * 1024 * 1024;

const POST = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\nabc";

for (const scheme of ["http", "https"] as const) {
  describe(`limits of the ${scheme} listener`, () => {
    const short = { headersTimeoutMs: 40, requestTimeoutMs: 40 };
    const head = "GET / HTTP/1.1\r\nHost: test\r\nX: ";
    test.each<[what: string, limits: Partial<ListenLimits>, sent: string, drips: boolean, answer: RegExp]>([
      ["that never sends a request is told so", short, "", false, /^HTTP\/1\.1 408 /],
      ["whose head stops is refused", short, "GET / HTTP/1.1\r\nHos", false, /^HTTP\/1\.1 408 /],
      ["whose head drips is refused", short, head, true, /^HTTP\/1\.1 408 /],
      ["whose body stops is cut off", short, POST, false, /^(?!HTTP\/1\.1 200)/],
      ["whose body drips is cut off", short, POST, true, /^(?!HTTP\/1\.1 200)/],
      ["that is idle ends without a word", { keepAliveTimeoutMs: 40 }, get("/"), false, /read 0$/],
    ])("a connection %s", async (_what, limits, sent, drips, answer) => {
      const target = (await start(limits))[scheme];
      // The listener counts from when it has the connection, which is before the client is told so.
      const began = performance.now();
      const client = await openClient(target);
      if (sent !== "") client.write(sent);
      if (drips) client.drip();
      expect(await client.closed).toMatch(answer);
      expect(performance.now() - began).toBeGreaterThan(20);
    });

    test("the head of a second request that drips ends the connection", async () => {
      // The first one is whole within it, on a busy machine too.
      const target = (await start({ headersTimeoutMs: 600 }))[scheme];
      const client = await openClient(target);
      client.write(get("/"));
      await client.receives("read 0");
      client.write("GET / HTTP/1.1\r\nHost: test\r\nX: ");
      client.drip();
      expect(await client.closed).toContain("read 0");
    });

    test("a handler may take longer than the request did", async () => {
      const limits = {
        headersTimeoutMs: 300,
        requestTimeoutMs: 300,
        keepAliveTimeoutMs: 300,
        responseTimeoutMs: 300,
      };
      const target = (await start(limits))[scheme];
      for (const request of [
        get("/slow", "Connection: close"),
        "POST /slow HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
      ]) {
        const client = await openClient(target);
        client.write(request);
        expect(await client.closed).toStartWith("HTTP/1.1 200 ");
      }
    });

    test("an answer that nobody reads is given up", async () => {
      const started = await start({ responseTimeoutMs: 100 });
      const client = await openClient(started[scheme]);
      client.socket.pause();
      client.write(get("/large"));
      await started.givenUp;
      client.socket.resume();
      expect((await client.closed).length).toBeLessThan(LARGE_BYTES);
    });

    test("a head above the limit is refused", async () => {
      const target = (await start({ maxHeaderBytes: 2048 }))[scheme];
      const client = await openClient(target);
      client.write(get("/", `X-Long: ${"a".repeat(8000)}`));
      expect(await client.closed).toStartWith("HTTP/1.1 431 ");
    });
  });
}

describe("limits of the TLS handshake", () => {
  test("one that is silent, and one that drips, is closed", async () => {
    const { https } = await start({ handshakeTimeoutMs: 60 });
    const began = performance.now();
    const silent = await openClient({ port: https.port });
    const dripping = await openClient({ port: https.port });
    // The head of a handshake record of 512 bytes, a ClientHello; the drip fills it slowly.
    dripping.write(Buffer.from("1603010200010001fc0303", "hex"));
    dripping.drip();
    expect(await Promise.all([silent.closed, dripping.closed])).toEqual(["", ""]);
    expect(performance.now() - began).toBeGreaterThan(30);
  });

  test("plain text on the TLS port ends the connection", async () => {
    const { https } = await start({});
    const client = await openClient({ port: https.port });
    client.write(get("/"));
    expect(await client.closed).not.toContain("HTTP/1.1");
  });
});
