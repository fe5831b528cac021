/** What one client, one address and all of them together may hold of a listener. */
import { afterEach, describe, expect, test } from "bun:test";
import type { Api } from "../../src/http/api-router.ts";
import type { ListenLimits } from "../../src/http/limits.ts";
import { type Listener, listen } from "../../src/http/listen.ts";
import { makeCertificate } from "../harness/certificates.ts";
import { until } from "../harness/eventually.ts";
import { get, openClient, type RawClient } from "../harness/raw-client.ts";

const serverCertificate = await makeCertificate({ commonName: "localhost" });
const tls = { port: 0, cert: serverCertificate.certPem, key: serverCertificate.keyPem };
const large = `${"x".repeat(8 * 1024 * 1024)} the end`;

const closing: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Target = { readonly port: number; readonly tls?: boolean };

async function start(limits: Partial<ListenLimits>, trustedProxies: readonly string[] = []) {
  const gate = Promise.withResolvers<void>();
  const asked: string[] = [];
  const fetch = async (request: Request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    if (pathname.startsWith("/held")) await gate.promise;
    return new Response(`answer ${pathname};`);
  };
  const api: Api = { find: ({ url }) => (url === "/large" ? largeAnswer : null) };
  const largeAnswer = async () => {
    asked.push("/large");
    return { status: 200, headers: {}, body: large };
  };
  const listener: Listener = await listen(
    { api, pages: { fetch } },
    { host: "127.0.0.1", port: 0, tls, trustedProxies, limits: { ...limits, drainTimeoutMs: 50 } },
  );
  closing.push(listener.close);
  const targets: Record<"http" | "https", Target> = {
    http: { port: listener.port },
    https: { port: listener.tlsPort ?? 0, tls: true },
  };
  return { targets, asked, open: () => gate.resolve() };
}

async function connected(target: Target, localAddress?: string): Promise<RawClient> {
  const client = await openClient({ ...target, ...(localAddress ? { localAddress } : {}) });
  closing.push(() => void client.socket.destroy());
  return client;
}

/** A client that has been answered, so that the listener has seen it. */
async function served(target: Target, localAddress?: string): Promise<RawClient> {
  const client = await connected(target, localAddress);
  client.write(get("/"));
  await client.receives("answer /;");
  return client;
}

function numbered(count: number, path: string, ...headers: string[]): string {
  return Array.from({ length: count }, (_, at) => get(`${path}/${at}`, ...headers)).join("");
}

const held = (count: number) => Array.from({ length: count }, (_, at) => `/held/${at}`);

for (const scheme of ["http", "https"] as const) {
  describe(`requests of one ${scheme} connection`, () => {
    test("sixteen are answered at a time, and all in their order", async () => {
      const { targets, asked, open } = await start({});
      const client = await connected(targets[scheme]);
      client.write(numbered(100, "/held"));
      await until(() => asked.length >= 16);
      // The others have come with them, and a further connection's request is answered meanwhile.
      await served(targets[scheme]);
      expect(asked).toEqual([...held(16), "/"]);
      open();
      const received = await client.receives("answer /held/99;");
      expect([...received.matchAll(/answer ([^;]+);/g)].map(([, path]) => path)).toEqual(held(100));
    });

    test("while sixteen are open, no more is read", async () => {
      const { targets, asked, open } = await start({});
      const client = await connected(targets[scheme]);
      client.write(numbered(16, "/held"));
      await until(() => asked.length === 16);
      // More than the buffers of two kernels take, and far more than one reading brings.
      const requests = numbered(8_000, "/next", `X-Long: ${"x".repeat(8_000)}`);
      client.write(requests);
      await served(targets[scheme]);
      expect(client.socket.writableLength).toBeGreaterThan(0);
      expect(asked).toHaveLength(17);
      open();
      await client.receives("answer /next/7999;");
    });

    test("more than may wait for their turn end the connection, and harm no other", async () => {
      const { targets, asked } = await start({ maxWaitingRequests: 20 });
      const patient = await connected(targets[scheme]);
      patient.write(numbered(16 + 20, "/held"));
      await until(() => asked.length === 16);
      const greedy = await connected(targets[scheme]);
      greedy.write(numbered(17, "/held"));
      expect(await greedy.closed).toBe("");
      expect(patient.socket.destroyed).toBe(false);
      await served(targets[scheme]);
    });
  });

  test(`a busy thread answers one request of an ${scheme} connection at a time`, async () => {
    const { targets, asked, open } = await start({ busyRequests: 3 });
    const other = await connected(targets[scheme]);
    other.write(numbered(3, "/held"));
    await until(() => asked.length === 3);
    const client = await connected(targets[scheme]);
    client.write(numbered(5, "/held/by"));
    await until(() => asked.length === 4);
    await served(targets[scheme]);
    expect(asked).toEqual([...held(3), "/held/by/0", "/"]);
    open();
    const received = await client.receives("answer /held/by/4;");
    expect(received.match(/HTTP\/1\.1 200/g)).toHaveLength(5);
  });

  describe(`what ${scheme} clients do not take`, () => {
    test("is bounded for all of them: who held the most for the longest goes", async () => {
      const { targets, asked } = await start({ maxHeldBytes: 4 * large.length });
      const clients: RawClient[] = [];
      for (let count = 1; count <= 8; count++) {
        const client = await connected(targets[scheme]);
        client.socket.pause();
        client.write(get("/large"));
        clients.push(client);
        await until(() => asked.length === count);
      }
      // The first ones are gone; the last one is there, and takes its answer.
      const last = clients.at(-1) as RawClient;
      last.socket.resume();
      await last.receives("the end");
      const first = clients[0] as RawClient;
      first.socket.resume();
      expect(await first.closed).not.toContain("the end");
    });
  });

  describe(`places of the ${scheme} listener`, () => {
    test("for a connection too many the one that was idle the longest goes", async () => {
      const { targets } = await start({ maxConnections: 2 });
      const target = targets[scheme];
      const [first, second] = [await served(target), await served(target)];
      await served(target);
      await first.closed;
      expect(second.socket.destroyed).toBe(false);
    });

    test("it is one of the address that has the most", async () => {
      const { targets } = await start({ maxConnections: 3 });
      const target = targets[scheme];
      const lonely = await served(target, "127.0.0.2");
      const first = await served(target);
      await served(target);
      await served(target);
      await first.closed;
      expect(lonely.socket.destroyed).toBe(false);
    });

    test("where none is idle, a connection too many is closed without a word", async () => {
      const { targets, asked, open } = await start({ maxConnections: 2 });
      const target = targets[scheme];
      const busy = [await connected(target), await connected(target)];
      for (const client of busy) client.write(get("/held"));
      await until(() => asked.length === 2);
      await refused(target);
      open();
      for (const client of busy) await client.receives("answer /held;");
    });

    test("an address has no more than its part, unless it is a trusted proxy's", async () => {
      const { targets } = await start({ maxConnectionsPerAddress: 2 }, ["127.0.0.7"]);
      const target = targets[scheme];
      const first = await served(target);
      await served(target);
      await refused(target);
      for (let count = 0; count < 4; count++) await served(target, "127.0.0.7");
      first.socket.destroy();
      await until(() => served(target).then(Boolean, () => false));
    });
  });
}

test("a body that nobody reads ends its connection over TLS, where the runtimes would take it into memory", async () => {
  const { targets, asked } = await start({});
  const client = await connected(targets.https);
  client.write("POST /held HTTP/1.1\r\nHost: test\r\nContent-Length: 20000000\r\n\r\n");
  await until(() => asked.length === 1);
  client.write(new Uint8Array(20_000_000));
  expect(await client.closed).toBe("");
});

test("unfinished handshakes have places too", async () => {
  const { targets } = await start({ maxConnections: 2 });
  const silent = await connected({ port: targets.https.port });
  await connected({ port: targets.https.port });
  await served(targets.https);
  await silent.closed;
});

/** The listener closes what it has no place for: before the handshake, or before an answer. */
async function refused(target: Target): Promise<void> {
  const client = await connected(target).catch(() => null);
  client?.write(get("/"));
  expect((await client?.closed) ?? "").toBe("");
}
