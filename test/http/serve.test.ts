import { afterEach, describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import type { TLSSocket } from "node:tls";
import { Hono } from "hono";
import type { HonoEnv } from "../../src/http/context.ts";
import { readFormBody } from "../../src/http/request-body.ts";
import { type HttpApp, type HttpListener, type ServeOptions, serve } from "../../src/http/serve.ts";
import { makeCertificate } from "../harness/certificates.ts";
import { until } from "../harness/eventually.ts";
import { openClient, rawGet } from "../harness/raw-client.ts";

const serverCertificate = await makeCertificate({ commonName: "localhost" });
const tls = { port: 0, cert: serverCertificate.certPem, key: serverCertificate.keyPem };
const loopback = { host: "127.0.0.1", port: 0 };

const listeners: HttpListener[] = [];
const errors: unknown[] = [];

afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
  errors.length = 0;
});

function createApp() {
  const app = new Hono<HonoEnv>();
  app.get("/env", (c) => c.json(c.env));
  app.post("/form", async (c) => c.text(`read ${await readFormBody(c)}`));
  app.onError((error, c) =>
    c.text(String(error), "code" in error && error.code === "BODY_TOO_LARGE" ? 413 : 400),
  );
  return app;
}

async function start(options: Partial<ServeOptions> = {}, app: HttpApp = createApp()) {
  const onError = (error: unknown) => errors.push(error);
  const listener = await serve(app, { ...loopback, tls, onError, ...options });
  listeners.push(listener);
  return { ...listener, tlsPort: listener.tlsPort ?? 0 };
}

/** Gets a path on a connection of its own. @returns the raw response */
async function get(target: Parameters<typeof openClient>[0], path = "/env"): Promise<string> {
  const client = await openClient(target);
  client.write(rawGet(path, "Connection: close"));
  return client.closed;
}

/** The plain port and the TLS port, as clients open them. */
const bothPorts = ({ port, tlsPort }: { port: number; tlsPort: number }) => [
  { port, tls: false },
  { port: tlsPort, tls: true },
];

/** Parses the last JSON object in a raw HTTP response. */
function json(raw: string) {
  return JSON.parse(raw.slice(raw.indexOf("{", raw.indexOf("\r\n\r\n")), raw.lastIndexOf("}") + 1));
}

describe("a listener", () => {
  test("a listener gives the handler the client's address and certificate, with and without TLS", async () => {
    const listener = await start();
    expect(listener.url).toBe(`http://127.0.0.1:${listener.port}`);
    for (const target of bothPorts(listener)) {
      const { tls } = target;
      expect(json(await get(target))).toEqual({ remoteAddress: "127.0.0.1", tls, clientCertificate: null });
    }
  });

  for (const tlsVersion of ["TLSv1.2", "TLSv1.3"] as const) {
    test(`a listener accepts any client certificate over ${tlsVersion} and gives the handler its fingerprint`, async () => {
      const { tlsPort } = await start();
      const notAfter = new Date("2020-01-02T03:04:05Z");
      const notBefore = new Date("2019-01-02T03:04:05Z");
      const certificate = await makeCertificate({ commonName: "expired agency", notBefore, notAfter });
      const seen = json(await get({ port: tlsPort, tls: true, certificate, tlsVersion }));
      expect(seen.clientCertificate).toEqual({
        fingerprint: certificate.fingerprint256,
        validFrom: notBefore.getTime(),
        validTo: notAfter.getTime(),
      });
    });

    test(`a resumed ${tlsVersion} session has the client certificate of its first handshake`, async () => {
      const { tlsPort } = await start();
      const [first, second] = await Promise.all(
        ["A", "B"].map((commonName) => makeCertificate({ commonName })),
      );
      if (!first || !second) throw new Error("two certificates");
      const session = await sessionOf({ port: tlsPort, tls: true, tlsVersion, certificate: first });
      for (const certificate of [first, undefined, second]) {
        const options = { port: tlsPort, tls: true, tlsVersion, ...(session ? { session } : {}) };
        const resumed = await openClient(certificate ? { ...options, certificate } : options);
        const reused = (resumed.socket as TLSSocket).isSessionReused();
        resumed.write(rawGet("/env", "Connection: close"));
        const seen = json(await resumed.closed).clientCertificate?.fingerprint ?? null;
        // A resumed session has the certificate of its first handshake; a new session has the one presented now.
        expect(seen).toBe((reused ? first : certificate)?.fingerprint256 ?? null);
      }
    });
  }

  test("a listener refuses TLS 1.1", async () => {
    const { tlsPort } = await start();
    const hello = await openClient({ port: tlsPort });
    // A ClientHello whose highest version is TLS 1.1 (0x0302), with one cipher suite.
    const body = `0302${"11".repeat(32)}00${"0002c009"}0100`;
    const handshake = `010000${(body.length / 2).toString(16).padStart(2, "0")}${body}`;
    const record = `160301${(handshake.length / 2).toString(16).padStart(4, "0")}${handshake}`;
    hello.write(Buffer.from(record, "hex"));
    const answer = Buffer.from(await hello.closed, "latin1");
    // 0x15 is an alert, so no handshake was begun; no answer at all is accepted too.
    expect(answer[0] ?? 0x15).toBe(0x15);
  });

  test("a listener answers 500 and calls onError if the app throws an error", async () => {
    const failure = new Error("secret detail");
    const fetch: HttpApp["fetch"] = ({ url }) => {
      if (url.endsWith("/sync")) throw failure;
      return Promise.reject(failure);
    };
    for (const target of bothPorts(await start({}, { fetch }))) {
      for (const path of ["/sync", "/async"]) {
        const raw = await get(target, path);
        expect(raw).toStartWith("HTTP/1.1 500 ");
        expect(raw).not.toContain("secret detail");
        expect(json(raw)).toMatchObject({ statusCode: 500 });
      }
    }
    expect(errors).toEqual([failure, failure, failure, failure]);
  });

  test("a listener still answers after clients have disconnected in the middle of a request", async () => {
    const aborted = Promise.withResolvers<void>();
    const arrived: string[] = [];
    const fetch = async (request: Request) => {
      arrived.push(request.method);
      if (request.method === "POST") return new Response(await request.text().catch(() => ""));
      if (!request.url.endsWith("/wait")) return new Response("fine");
      await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
      aborted.resolve();
      return new Response("nobody reads this");
    };
    for (const target of bothPorts(await start({}, { fetch }))) {
      arrived.length = 0;
      const clients = await Promise.all([0, 1, 2].map(() => openClient(target)));
      clients[0]?.write("GET / HT");
      clients[1]?.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc");
      clients[2]?.write(rawGet("/wait"));
      await until(() => arrived.length === 2);
      for (const { socket } of clients) {
        if (target.tls) socket.destroy();
        else socket.resetAndDestroy();
      }
      await aborted.promise;
      expect(await get(target, "/")).toContain("fine");
    }
    expect(errors).toEqual([]);
  });

  test("a listener does not read the rest of a too large body as another request", async () => {
    for (const target of bothPorts(await start())) {
      const client = await openClient(target);
      client.write("POST /form HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
      client.write(`4e20\r\n${"a".repeat(20_000)}\r\n`);
      // The rest of the body looks like a request and must not be taken for one.
      const smuggled = rawGet("/env");
      client.write(`${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`);
      await client.receives("HTTP/1.1 413 ");
      client.write(rawGet("/env", "Connection: close"));
      expect((await client.closed).split("remoteAddress")).toHaveLength(2);
    }
  });

  test("a request that arrives before the app is ready waits for the app", async () => {
    const opening = Promise.withResolvers<HttpApp>();
    const listener = await serve(opening.promise, loopback);
    listeners.push(listener);
    const client = await openClient({ port: listener.port });
    client.write(rawGet("/env", "Connection: close"));
    opening.resolve(createApp());
    expect(await client.closed).toStartWith("HTTP/1.1 200 ");
  });
});

test("a listener whose plain or TLS port is in use cannot start, and its error says so", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as { port: number };
  const plain = serve(createApp(), { host: "127.0.0.1", port });
  await expect(plain).rejects.toMatchObject({
    code: "REFUSED",
    message: expect.stringContaining(`127.0.0.1:${port} is in use`),
  });
  const secure = serve(createApp(), { ...loopback, tls: { ...tls, port } });
  await expect(secure).rejects.toThrow("is in use");
  await new Promise((resolve) => taken.close(resolve));
});

test("the error of a listener whose host is not this machine names the host", async () => {
  for (const host of ["no-such-host.invalid", "192.0.2.1", "not a host"]) {
    const attempt = serve(createApp(), { host, port: 0, tls });
    await expect(attempt).rejects.toMatchObject({
      code: "REFUSED",
      message: expect.stringContaining(`${host}:0 is no IP address of this machine`),
    });
  }
});

test("the error of a listener with wrong TLS files says what is wrong with them", async () => {
  const other = await makeCertificate({ commonName: "other" });
  for (const wrong of [{ cert: "junk" }, { key: "junk" }, { key: other.keyPem }]) {
    const attempt = serve(createApp(), { ...loopback, tls: { ...tls, ...wrong } });
    await expect(attempt).rejects.toThrow(
      /^the TLS (certificate or its key cannot be read|key does not belong)/,
    );
  }
});

/** Makes a full handshake and one request. @returns the session ticket that the server gave */
async function sessionOf(options: Parameters<typeof openClient>[0]): Promise<Buffer | undefined> {
  const client = await openClient(options);
  const ticket = new Promise<Buffer>((resolve) => client.socket.once("session", resolve));
  client.write(rawGet("/env"));
  await client.receives("}");
  const session = await Promise.race([ticket, client.closed.then(() => undefined)]);
  client.socket.destroy();
  return session ?? (client.socket as { getSession?: () => Buffer }).getSession?.();
}
