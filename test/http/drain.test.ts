import { afterEach, describe, expect, test } from "bun:test";
import { type HttpListener, type ServerLimits, serve } from "../../src/http/serve.ts";
import { makeCertificate } from "../harness/certificates.ts";
import { sleep, until } from "../harness/eventually.ts";
import { openClient, type RawClient, rawGet } from "../harness/raw-client.ts";

const serverCertificate = await makeCertificate({ commonName: "localhost" });
const tls = { port: 0, cert: serverCertificate.certPem, key: serverCertificate.keyPem };

const clients: RawClient[] = [];

afterEach(() => {
  for (const client of clients.splice(0)) client.socket.destroy();
});

/** Starts a listener. Its `/slow` answers only when the test says so. */
async function start(limits: Partial<ServerLimits> = {}) {
  const gate = Promise.withResolvers<void>();
  const arrived = new Set<string>();
  const fetch = async (request: Request) => {
    const path = new URL(request.url).pathname;
    arrived.add(path);
    if (path === "/slow") await gate.promise;
    const body = await request.text().catch(() => "cut off");
    return new Response(`${path} done ${body}`);
  };
  const listener: HttpListener = await serve({ fetch }, { host: "127.0.0.1", port: 0, tls, limits });
  const arrival = async (path: string) => {
    await until(() => arrived.has(path));
  };
  return { listener, release: gate.resolve, arrival };
}

/** What each client sends before and after the listener begins to close, and its answer. */
const begun: [before: string, after: string, answer: string][] = [
  [rawGet("/slow"), "", "/slow done"],
  ["GET /head HTTP/1.1\r\nHos", "t: test\r\n\r\n", "/head done"],
  ["G", "ET /byte HTTP/1.1\r\nHost: test\r\n\r\n", "/byte done"],
  ["POST /body HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\nabc", "def", "/body done abcdef"],
  ["GE", "T /second HTTP/1.1\r\nHost: test\r\n\r\n", "/second done"],
];

/** Waits until the event loop has served this process's sockets. */
function tick(): Promise<void> {
  return sleep(5);
}

for (const scheme of ["http", "https"] as const) {
  const connect = async (listener: HttpListener) => {
    const port = scheme === "http" ? listener.port : (listener.tlsPort ?? 0);
    const client = await openClient({ port, tls: scheme === "https" });
    clients.push(client);
    return client;
  };

  describe(`closing the ${scheme} listener`, () => {
    test("a closing listener answers requests that have begun, with Connection: close", async () => {
      const { listener, release, arrival } = await start();
      const open = await Promise.all(begun.map(() => connect(listener)));
      // The last client has had an answer on its connection.
      open.at(-1)?.write(rawGet("/before"));
      await open.at(-1)?.receives("/before done");
      for (const [at, [before]] of begun.entries()) open[at]?.write(before);
      await Promise.all([arrival("/slow"), arrival("/body")]);
      await tick();
      const closed = listener.close();
      await tick();
      for (const [at, [, after]] of begun.entries()) open[at]?.write(after);
      release();
      for (const [at, [, , answer]] of begun.entries()) {
        const raw = await open[at]?.closed;
        expect(raw).toContain(answer);
        expect(raw?.toLowerCase()).toContain("connection: close\r\n");
      }
      await closed;
    });

    test("a closing listener closes idle and silent connections while others are still busy", async () => {
      const { listener, release, arrival } = await start();
      const [idle, silent, busy] = [
        await connect(listener),
        await connect(listener),
        await connect(listener),
      ];
      idle.write(rawGet("/idle"));
      await idle.receives("/idle done");
      busy.write(rawGet("/slow"));
      await arrival("/slow");
      const closed = listener.close();
      expect(await idle.closed).toEndWith("/idle done ");
      // The kernel passes a plain connection to Bun only when the client sends data; then Bun refuses it.
      silent.write(rawGet("/silent"));
      expect(await silent.closed).toBe("");
      release();
      const [answer] = await Promise.all([busy.closed, closed]);
      expect(answer).toContain("/slow done");
    });

    test("a closed listener refuses new connections", async () => {
      const { listener } = await start();
      await listener.close();
      await expect(connect(listener)).rejects.toThrow();
    });

    test("a closing listener cuts off requests that do not end within its time limit", async () => {
      const { listener, arrival } = await start({ drainTimeoutMs: 50 });
      const [never, head] = [await connect(listener), await connect(listener)];
      never.write(rawGet("/slow"));
      head.write("GET / HT");
      await arrival("/slow");
      await listener.close();
      expect(await Promise.all([never.closed, head.closed])).toEqual(["", ""]);
    });
  });
}

test("closing a listener ends a TLS handshake that has not finished", async () => {
  const { listener } = await start({ drainTimeoutMs: 600_000 });
  const client = await openClient({ port: listener.tlsPort ?? 0 });
  await tick();
  await listener.close();
  expect(await client.closed).toBe("");
});
