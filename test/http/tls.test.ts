/** Tests the TLS port's cipher suites and limits, and that only the terminator may use the listener behind it. */
import { afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { type ConnectionOptions, connect } from "node:tls";
import { type ServerLimits, serve } from "../../src/http/serve.ts";
import { makeCertificate } from "../harness/certificates.ts";
import { until } from "../harness/eventually.ts";
import { openClient, type RawClient, rawGet } from "../harness/raw-client.ts";

const serverCertificate = await makeCertificate({ commonName: "localhost" });
const tls = { port: 0, cert: serverCertificate.certPem, key: serverCertificate.keyPem };

const closing: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Starts a service with a TLS port, whose answers have the client's fingerprint, and finds its inner listener's port. */
async function start(
  limits: Partial<ServerLimits> = {},
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

/** Lists this machine's TCP sockets: number, local address, remote address and state of each. */
function tcpSockets(): string[][] {
  const lines = readFileSync("/proc/self/net/tcp", "utf8").split("\n");
  return lines.map((line) => line.trim().split(/\s+/));
}

/** Lists the ports of this machine on which a program listens. */
function listeningPorts(): number[] {
  const listening = tcpSockets().filter((fields) => fields[3] === "0A");
  return listening.map(([, address = ""]) => Number.parseInt(address.split(":")[1] ?? "", 16));
}

async function connected(options: Parameters<typeof openClient>[0]): Promise<RawClient> {
  const client = await openClient(options);
  closing.push(() => void client.socket.destroy());
  return client;
}

/** Connects a TLS client, and waits for an answer to it. */
async function served(port: number, localAddress?: string): Promise<RawClient> {
  const client = await connected({ port, tls: true, ...(localAddress ? { localAddress } : {}) });
  client.write(rawGet("/"));
  await client.receives("seen nobody;");
  return client;
}

/** Connects a client, and expects that it is closed before the handshake or before an answer. */
async function refused(port: number): Promise<void> {
  const client = await connected({ port, tls: true }).catch(() => null);
  client?.write(rawGet("/"));
  expect((await client?.closed) ?? "").toBe("");
}

// biome-ignore format: a table reads better in rows
test.each<[offered: ConnectionOptions, agreed: string]>([
  [{ ciphers: "ECDHE-RSA-AES128-GCM-SHA256" }, "TLSv1.2 ECDHE-RSA-AES128-GCM-SHA256 http/1.1"],
  [{ ciphers: "ECDHE-RSA-AES256-GCM-SHA384" }, "TLSv1.2 ECDHE-RSA-AES256-GCM-SHA384 http/1.1"],
  [{ ciphers: "ECDHE-RSA-CHACHA20-POLY1305" }, "TLSv1.2 ECDHE-RSA-CHACHA20-POLY1305 http/1.1"],
  // These suites lack forward secrecy or authenticated encryption.
  [{ ciphers: "AES128-GCM-SHA256" }, "nothing"],
  [{ ciphers: "ECDHE-RSA-AES128-SHA" }, "nothing"],
  [{ maxVersion: "TLSv1.3" }, "TLSv1.3 http/1.1"],
  [{ maxVersion: "TLSv1.3", ALPNProtocols: ["h2"] }, "nothing"],
])("a client that offers %j agrees with the TLS port on %s", async (offered, agreed) => {
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

test("the listener behind the TLS port refuses a program on this machine that connects to it directly", async () => {
  const { inner } = await start();
  const client = await connected({ port: inner });
  client.write(rawGet("/"));
  expect(await client.receives("\r\n\r\n")).toStartWith("HTTP/1.1 403 ");
});

test("a program at another loopback address does not get the certificate of a client with the same local port", async () => {
  const { port, inner } = await start();
  const certificate = await makeCertificate({ commonName: "agency" });
  const agency = await connected({ port, tls: true, certificate });
  agency.write(rawGet("/"));
  await agency.receives(`seen ${certificate.fingerprint256};`);
  const link = innerLinkPort(inner);
  const thief = await connected({ port: inner, localAddress: "127.0.0.2", localPort: link });
  thief.write(rawGet("/"));
  expect(await thief.receives("\r\n\r\n")).toStartWith("HTTP/1.1 403 ");
  agency.write(rawGet("/"));
  await agency.receives(`seen ${certificate.fingerprint256};HTTP/1.1 200`);
});

/** Finds the local port of the only connection to the inner listener. */
function innerLinkPort(inner: number): number {
  const hex = `:${inner.toString(16).toUpperCase().padStart(4, "0")}`;
  const link = tcpSockets().find(([, , remote, state]) => remote?.endsWith(hex) && state === "01");
  return Number.parseInt(link?.[1]?.split(":")[1] ?? "", 16);
}

test("the TLS port accepts no more connections than its limit, including those in the handshake", async () => {
  const { port } = await start({ maxConnections: 2 });
  const silent = await connected({ port });
  const client = await served(port);
  await refused(port);
  client.write(rawGet("/again"));
  await client.receives("seen nobody;HTTP/1.1 200");
  silent.socket.destroy();
  await until(() => served(port).then(Boolean, () => false));
});

test("one IP address has no more connections to the TLS port than its own limit, unless it is a trusted proxy", async () => {
  const { port } = await start({ maxConnectionsPerAddress: 2 }, ["127.0.0.7"]);
  const first = await served(port);
  await served(port);
  await refused(port);
  for (let count = 0; count < 4; count++) await served(port, "127.0.0.7");
  first.socket.destroy();
  await until(() => served(port).then(Boolean, () => false));
});

test("a connection to the TLS port ends if the client's handshake is silent or too slow", async () => {
  const { port } = await start({ handshakeTimeoutMs: 60 });
  const silent = await connected({ port });
  const dripping = await connected({ port });
  // The first bytes of a ClientHello record of 512 bytes; the client sends the others slowly.
  dripping.write(Buffer.from("1603010200010001fc0303", "hex"));
  dripping.drip();
  expect(await Promise.all([silent.closed, dripping.closed])).toEqual(["", ""]);
});

test("a connection to the TLS port ends if the client sends plain text", async () => {
  const { port } = await start();
  const client = await connected({ port });
  client.write(rawGet("/"));
  expect(await client.closed).not.toContain("HTTP/1.1");
});

test("a connection to the TLS port ends if the client does not read its answer", async () => {
  const { port } = await start({ idleTimeoutMs: 1_000 });
  const client = await connected({ port, tls: true });
  client.socket.pause();
  client.write(rawGet("/large"));
  await until(() => client.socket.bytesWritten > 0);
  await until(() => Promise.resolve(establishedTo(port) === 0));
  client.socket.resume();
  expect((await client.closed).length).toBeLessThan(32 * 1024 * 1024);
});

/** Counts this machine's open connections to a port. */
function establishedTo(port: number): number {
  const hex = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return tcpSockets().filter(([, local, , state]) => local?.endsWith(hex) && state === "01").length;
}
