/** The TLS port's suites and limits, and the listener behind it, which only the terminator may use. */
import { afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { type ConnectionOptions, connect } from "node:tls";
import { type Limits, serve } from "../../src/http/serve.ts";
import { makeCertificate } from "../harness/certificates.ts";
import { until } from "../harness/eventually.ts";
import { get, openClient, type RawClient } from "../harness/raw-client.ts";

const serverCertificate = await makeCertificate({ commonName: "localhost" });
const tls = { port: 0, cert: serverCertificate.certPem, key: serverCertificate.keyPem };

const closing: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A service with a TLS port whose answers tell the client's fingerprint, and the port of its inner listener. */
async function start(
  limits: Partial<Limits> = {},
  trustedProxies: readonly string[] = [],
  credentials = tls,
) {
  const before = new Set(listeningPorts());
  const app = {
    fetch: (request: Request, connection: { clientCertificate: { fingerprint: string } | null }) =>
      new Response(
        request.url.endsWith("/large")
          ? new Uint8Array(32 * 1024 * 1024)
          : `seen ${connection.clientCertificate?.fingerprint ?? "nobody"};`,
      ),
  };
  const options = { host: "127.0.0.1", port: 0, tls: credentials, trustedProxies };
  const listener = await serve(app, { ...options, limits: { ...limits, drainTimeoutMs: 50 } });
  closing.push(listener.close);
  const port = listener.tlsPort ?? 0;
  const inner = listeningPorts().find((one) => ![listener.port, port].includes(one) && !before.has(one)) ?? 0;
  return { port, inner };
}

/** The sockets of this machine: of each its number, local and remote address and state. */
function tcpSockets(): string[][] {
  const lines = readFileSync("/proc/self/net/tcp", "utf8").split("\n");
  return lines.map((line) => line.trim().split(/\s+/));
}

/** The ports of this machine on which somebody listens. */
function listeningPorts(): number[] {
  const listening = tcpSockets().filter((fields) => fields[3] === "0A");
  return listening.map(([, address = ""]) => Number.parseInt(address.split(":")[1] ?? "", 16));
}

async function connected(options: Parameters<typeof openClient>[0]): Promise<RawClient> {
  const client = await openClient(options);
  closing.push(() => void client.socket.destroy());
  return client;
}

/** A TLS client that has been answered. */
async function served(port: number, localAddress?: string): Promise<RawClient> {
  const client = await connected({ port, tls: true, ...(localAddress ? { localAddress } : {}) });
  client.write(get("/"));
  await client.receives("seen nobody;");
  return client;
}

/** Connects beyond the limit: the connection is closed, before the handshake or before an answer. */
async function refused(port: number): Promise<void> {
  const client = await connected({ port, tls: true }).catch(() => null);
  client?.write(get("/"));
  expect((await client?.closed) ?? "").toBe("");
}

// biome-ignore format: a table reads better in rows
test.each<[offered: ConnectionOptions, agreed: string]>([
  [{ ciphers: "ECDHE-RSA-AES128-GCM-SHA256" }, "TLSv1.2 ECDHE-RSA-AES128-GCM-SHA256 http/1.1"],
  [{ ciphers: "ECDHE-RSA-AES256-GCM-SHA384" }, "TLSv1.2 ECDHE-RSA-AES256-GCM-SHA384 http/1.1"],
  [{ ciphers: "ECDHE-RSA-CHACHA20-POLY1305" }, "TLSv1.2 ECDHE-RSA-CHACHA20-POLY1305 http/1.1"],
  // Without forward secrecy, and without authenticated encryption.
  [{ ciphers: "AES128-GCM-SHA256" }, "nothing"],
  [{ ciphers: "ECDHE-RSA-AES128-SHA" }, "nothing"],
  [{ maxVersion: "TLSv1.3" }, "TLSv1.3 http/1.1"],
  [{ maxVersion: "TLSv1.3", ALPNProtocols: ["h2"] }, "nothing"],
])("the TLS port agrees with a client that offers %j on %s", async (offered, agreed) => {
  const { certPem: cert, keyPem: key } = await makeCertificate({ commonName: "localhost", isRsa: true });
  const { port } = await start({}, [], { port: 0, cert, key });
  const options = { maxVersion: "TLSv1.2", ALPNProtocols: ["h2", "http/1.1"], ...offered } as const;
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ...options });
  closing.push(() => void socket.destroy());
  const found = Promise.withResolvers<string>();
  socket.once("secureConnect", () => {
    const suite = offered.ciphers === undefined ? [] : [socket.getCipher().name];
    found.resolve([socket.getProtocol(), ...suite, socket.alpnProtocol].join(" "));
  });
  socket.once("error", () => found.resolve("nothing"));
  socket.once("close", () => found.resolve("nothing"));
  expect(await found.promise).toBe(agreed);
});

test("the listener behind the TLS port refuses a local program that connects to it directly", async () => {
  const { inner } = await start();
  const client = await connected({ port: inner });
  client.write(get("/"));
  expect(await client.receives("\r\n\r\n")).toStartWith("HTTP/1.1 403 ");
});

test("the listener behind the TLS port accepts no certificate from another loopback address with the same local port", async () => {
  const { port, inner } = await start();
  const certificate = await makeCertificate({ commonName: "agency" });
  const agency = await connected({ port, tls: true, certificate });
  agency.write(get("/"));
  await agency.receives(`seen ${certificate.fingerprint256};`);
  const link = innerLinkPort(inner);
  const thief = await connected({ port: inner, localAddress: "127.0.0.2", localPort: link });
  thief.write(get("/"));
  expect(await thief.receives("\r\n\r\n")).toStartWith("HTTP/1.1 403 ");
  agency.write(get("/"));
  await agency.receives(`seen ${certificate.fingerprint256};HTTP/1.1 200`);
});

/** The local port of the one connection to a port. */
function innerLinkPort(inner: number): number {
  const hex = `:${inner.toString(16).toUpperCase().padStart(4, "0")}`;
  const link = tcpSockets().find(([, , remote, state]) => remote?.endsWith(hex) && state === "01");
  return Number.parseInt(link?.[1]?.split(":")[1] ?? "", 16);
}

test("the TLS port accepts at most its limit of connections, handshakes included", async () => {
  const { port } = await start({ maxConnections: 2 });
  const silent = await connected({ port });
  const client = await served(port);
  await refused(port);
  client.write(get("/again"));
  await client.receives("seen nobody;HTTP/1.1 200");
  silent.socket.destroy();
  await until(() => served(port).then(Boolean, () => false));
});

test("one IP address may have only a part of the TLS port's connections, unless it is a trusted proxy", async () => {
  const { port } = await start({ maxConnectionsPerAddress: 2 }, ["127.0.0.7"]);
  const first = await served(port);
  await served(port);
  await refused(port);
  for (let count = 0; count < 4; count++) await served(port, "127.0.0.7");
  first.socket.destroy();
  await until(() => served(port).then(Boolean, () => false));
});

test("a connection to the TLS port is closed if the handshake is silent or too slow", async () => {
  const { port } = await start({ handshakeTimeoutMs: 60 });
  const silent = await connected({ port });
  const dripping = await connected({ port });
  // The head of a handshake record of 512 bytes, a ClientHello; the drip fills it slowly.
  dripping.write(Buffer.from("1603010200010001fc0303", "hex"));
  dripping.drip();
  expect(await Promise.all([silent.closed, dripping.closed])).toEqual(["", ""]);
});

test("a connection to the TLS port is closed if the client sends plain text", async () => {
  const { port } = await start();
  const client = await connected({ port });
  client.write(get("/"));
  expect(await client.closed).not.toContain("HTTP/1.1");
});

test("a connection to the TLS port is closed if the client does not read its answer", async () => {
  const { port } = await start({ idleTimeoutMs: 1_000 });
  const client = await connected({ port, tls: true });
  client.socket.pause();
  client.write(get("/large"));
  await until(() => client.socket.bytesWritten > 0);
  await until(() => Promise.resolve(establishedTo(port) === 0));
  client.socket.resume();
  expect((await client.closed).length).toBeLessThan(32 * 1024 * 1024);
});

/** How many connections of this machine the service has open on a port. */
function establishedTo(port: number): number {
  const hex = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return tcpSockets().filter(([, local, , state]) => local?.endsWith(hex) && state === "01").length;
}
