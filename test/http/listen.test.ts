import { afterEach, describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import type { TLSSocket } from "node:tls";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { timeOfUuid } from "../../src/domain/clock.ts";
import type { ConnectionInfo } from "../../src/http/http-call.ts";
import { type Listener, type ListenOptions, listen } from "../../src/http/listen.ts";
import type { App } from "../../src/http/request-listener.ts";
import { makeCertificate } from "../harness/certificates.ts";
import { sleep } from "../harness/eventually.ts";
import { get, openClient } from "../harness/raw-client.ts";

const serverCertificate = await makeCertificate({ commonName: "localhost" });
const tls = { port: 0, cert: serverCertificate.certPem, key: serverCertificate.keyPem };
const loopback = { host: "127.0.0.1", port: 0 };

const listeners: Listener[] = [];
const errors: unknown[] = [];

afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
  errors.length = 0;
});

function createApp() {
  const app = new Hono<{ Bindings: ConnectionInfo }>();
  app.get("/env", (c) => c.json(c.env));
  app.post("/limited", bodyLimit({ maxSize: 100 }), async (c) =>
    c.text(`read ${(await c.req.text()).length}`),
  );
  app.post("/length", async (c) => c.text(`read ${(await c.req.text()).length}`));
  app.get("/url", (c) => c.text(c.req.url));
  return app;
}

async function start(options: Partial<ListenOptions> = {}, fetch: App["pages"]["fetch"] = createApp().fetch) {
  const onError = (error: unknown) => errors.push(error);
  const listener = await listen({ pages: { fetch } }, { ...loopback, tls, onError, ...options });
  listeners.push(listener);
  return { ...listener, tlsPort: listener.tlsPort ?? 0 };
}

/** The last JSON object in a raw response. */
function json(raw: string) {
  return JSON.parse(raw.slice(raw.indexOf("{", raw.indexOf("\r\n\r\n")), raw.lastIndexOf("}") + 1));
}

describe("listen", () => {
  test("tells the handler who is connected, without and with TLS", async () => {
    const { url, port, tlsPort } = await start();
    expect(url).toBe(`http://127.0.0.1:${port}`);
    const plain = await openClient({ port });
    plain.write(get("/env", "Connection: close"));
    expect(json(await plain.closed)).toEqual({
      remoteAddress: "127.0.0.1",
      tls: false,
      clientCertificate: null,
    });
    const secure = await openClient({ port: tlsPort, tls: true });
    secure.write(get("/env", "Connection: close"));
    expect(json(await secure.closed)).toEqual({
      remoteAddress: "127.0.0.1",
      tls: true,
      clientCertificate: null,
    });
  });

  for (const tlsVersion of ["TLSv1.2", "TLSv1.3"] as const) {
    test(`takes any client certificate over ${tlsVersion} and says which`, async () => {
      const { tlsPort } = await start();
      const notAfter = new Date("2020-01-02T03:04:05Z");
      const notBefore = new Date("2019-01-02T03:04:05Z");
      const certificate = await makeCertificate({ commonName: "expired agency", notBefore, notAfter });
      const client = await openClient({ port: tlsPort, tls: true, certificate, tlsVersion });
      client.write(get("/env", "Connection: close"));
      expect(json(await client.closed).clientCertificate).toEqual({
        fingerprint: certificate.fingerprint256,
        validFrom: notBefore.getTime(),
        validTo: notAfter.getTime(),
      });
    });

    test(`gives a resumed ${tlsVersion} session the certificate it was made with`, async () => {
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
        resumed.write(get("/env", "Connection: close"));
        const seen = json(await resumed.closed).clientCertificate?.fingerprint ?? null;
        // Never the certificate of another client: the session's own or, unresumed, the one presented now.
        expect(seen).toBe((reused ? first : certificate)?.fingerprint256 ?? null);
      }
    });
  }

  test("refuses TLS 1.1", async () => {
    const { tlsPort } = await start();
    const hello = await openClient({ port: tlsPort });
    // A ClientHello whose highest version is TLS 1.1 (0x0302), with one cipher suite.
    const body = `0302${"11".repeat(32)}00${"0002c009"}0100`;
    const handshake = `010000${(body.length / 2).toString(16).padStart(2, "0")}${body}`;
    const record = `160301${(handshake.length / 2).toString(16).padStart(4, "0")}${handshake}`;
    hello.write(Buffer.from(record, "hex"));
    const answer = Buffer.from(await hello.closed, "latin1");
    // An alert record, not a handshake record.
    expect(answer[0] ?? 0x15).toBe(0x15);
  });

  test("answers requests that are no HTTP with 400 and a JSON body, on both ports", async () => {
    const { port, tlsPort } = await start();
    for (const target of [{ port }, { port: tlsPort, tls: true }]) {
      for (const request of [
        "nonsense\r\n\r\n",
        "GET / HTTP/1.1\r\nHost x\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
      ]) {
        const client = await openClient(target);
        client.write(request);
        const raw = await client.receives("}");
        expect(raw).toStartWith("HTTP/1.1 400 ");
        expect(timeOfUuid(/^x-request-id: (\S+)$/im.exec(raw)?.[1] ?? "")).not.toBeNull();
        expect(json(raw)).toEqual({ statusCode: 400, message: "the request is not valid HTTP" });
        client.socket.destroy();
      }
    }
  });

  test("serves HTTP/1.0 without a Host", async () => {
    const { port, tlsPort } = await start();
    for (const target of [{ port }, { port: tlsPort, tls: true }]) {
      const client = await openClient(target);
      client.write("GET /env HTTP/1.0\r\n\r\n");
      expect(await client.closed).toMatch(/^HTTP\/1\.[01] 200 /);
    }
  });

  test("answers an unknown expectation with 417, and 100-continue with the answer", async () => {
    const { port, tlsPort } = await start();
    for (const target of [{ port }, { port: tlsPort, tls: true }]) {
      const client = await openClient(target);
      client.write("POST /length HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
      await client.receives("100 Continue");
      client.write("abc");
      await client.receives("read 3");
      client.write("POST /length HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nContent-Length: 3\r\n\r\nabc");
      expect(await client.receives("417 ")).toContain("read 3");
      client.socket.destroy();
    }
  });

  test("answers 500 and tells the log when the handler throws", async () => {
    const failure = new Error("secret detail");
    const { port, tlsPort } = await start({}, (request) => {
      if (request.url.endsWith("/sync")) throw failure;
      return Promise.reject(failure);
    });
    for (const target of [{ port }, { port: tlsPort, tls: true }]) {
      for (const path of ["/sync", "/async"]) {
        const client = await openClient(target);
        client.write(get(path, "Connection: close"));
        const raw = await client.closed;
        expect(raw).toStartWith("HTTP/1.1 500 ");
        expect(raw).not.toContain("secret detail");
        expect(json(raw)).toMatchObject({ statusCode: 500 });
      }
    }
    expect(errors).toEqual([failure, failure, failure, failure]);
  });

  test("outlives clients that leave in the middle", async () => {
    const aborted = Promise.withResolvers<void>();
    const { port, tlsPort } = await start({}, async (request) => {
      if (request.method === "POST") return new Response(await request.text());
      if (!request.url.endsWith("/wait")) return new Response("fine");
      await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
      aborted.resolve();
      return new Response("nobody reads this");
    });
    for (const target of [{ port }, { port: tlsPort, tls: true }]) {
      for (const text of [
        "GET / HT",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
        get("/wait"),
      ]) {
        const client = await openClient(target);
        client.write(text);
        await sleep(20);
        if (target.tls) client.socket.destroy();
        else client.socket.resetAndDestroy();
      }
      await aborted.promise;
      const after = await openClient(target);
      after.write(get("/", "Connection: close"));
      expect(await after.closed).toContain("fine");
    }
    expect(errors).toEqual([]);
  });

  test.each([
    ["an answer", get("/slow")],
    ["an answer that was made already and waits its turn", `${get("/slow")}${get("/quick")}`],
  ])("sends %s before refusing the nonsense behind it", async (_name, requests) => {
    const { port, tlsPort } = await start({}, async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/slow") await sleep(20);
      return new Response(`answer to ${pathname}`);
    });
    for (const target of [{ port }, { port: tlsPort, tls: true }]) {
      const client = await openClient(target);
      client.write(`${requests}nonsense\r\n\r\n`);
      const raw = await client.closed;
      expect(raw).toStartWith("HTTP/1.1 200 ");
      expect(raw).toEndWith(`answer to ${/.*GET (\S+)/s.exec(requests)?.[1]}`);
    }
  });

  test("leaves no rest of a body above the limit on the connection", async () => {
    const { port, tlsPort } = await start();
    for (const target of [{ port }, { port: tlsPort, tls: true }]) {
      const client = await openClient(target);
      client.write("POST /limited HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
      client.write(`c8\r\n${"a".repeat(200)}\r\n`);
      await client.receives("HTTP/1.1 413 ");
      // The rest of the body looks like a request and must not be taken for one.
      const smuggled = get("/env");
      client.write(`${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`);
      client.write(get("/url", "Connection: close"));
      const raw = await client.closed;
      expect(raw).not.toContain("remoteAddress");
      expect(raw.split("HTTP/1.1 ").length - 1).toBeLessThanOrEqual(2);
      if (raw.includes("HTTP/1.1 200")) expect(raw).toEndWith("/url");
    }
  });
});

describe("a listener that cannot start", () => {
  test("names a port in use, and opens no other", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as { port: number };
    const plain = listen({ pages: createApp() }, { host: "127.0.0.1", port });
    await expect(plain).rejects.toMatchObject({
      code: "REFUSED",
      message: expect.stringContaining(`127.0.0.1:${port} is in use`),
    });
    const secure = listen({ pages: createApp() }, { ...loopback, tls: { ...tls, port } });
    await expect(secure).rejects.toThrow("is in use");
    await new Promise((resolve) => taken.close(resolve));
  });

  test("names a host that is not here", async () => {
    for (const host of ["no-such-host.invalid", "192.0.2.1", "not a host"]) {
      const attempt = listen({ pages: createApp() }, { host, port: 0, tls });
      await expect(attempt).rejects.toMatchObject({
        code: "REFUSED",
        message: expect.stringContaining(`${host}:0 is no IP address of this machine`),
      });
    }
  });

  test("says what is wrong with the TLS files", async () => {
    const other = await makeCertificate({ commonName: "other" });
    for (const wrong of [{ cert: "junk" }, { key: "junk" }, { key: other.keyPem }]) {
      const attempt = listen({ pages: createApp() }, { ...loopback, tls: { ...tls, ...wrong } });
      await expect(attempt).rejects.toThrow(
        /^the TLS (certificate or its key cannot be read|key does not belong)/,
      );
    }
  });
});

/** A full handshake, one exchange, and the ticket that the server gave for it. */
async function sessionOf(options: Parameters<typeof openClient>[0]): Promise<Buffer | undefined> {
  const client = await openClient(options);
  const ticket = new Promise<Buffer>((resolve) => client.socket.once("session", resolve));
  client.write(get("/env"));
  await client.receives("}");
  const none = sleep(50).then(() => undefined);
  const session = await Promise.race([ticket, none]);
  client.socket.destroy();
  return session ?? (client.socket as { getSession?: () => Buffer }).getSession?.();
}
