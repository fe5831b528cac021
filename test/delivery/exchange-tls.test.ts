import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createExchange, type DeliverRequest } from "../../src/delivery/exchange.ts";
import { makeCertificate } from "../certificates.ts";
import { startReceiver } from "./receiver.ts";

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
// For localhost, 127.0.0.1 and ::1.
const certificate = await makeCertificate({ commonName: "receiver" });
const expired = await makeCertificate({
  commonName: "expired",
  notBefore: new Date(Date.now() - 7_200_000),
  notAfter: new Date(Date.now() - 3_600_000),
});
const names: (string | false | null)[] = [];
const receiver = await startTls(certificate);
const open: { close(): void }[] = [];

afterEach(() => {
  for (const each of open.splice(0)) each.close();
  names.length = 0;
});
afterAll(() => receiver.close());

function startTls({ certPem, keyPem }: { certPem: string; keyPem: string }, maxVersion?: "TLSv1.1") {
  const answer = (socket: Socket & { servername?: string | false | null }) => {
    names.push(socket.servername || null);
    socket.write(ok);
  };
  const versions = maxVersion === undefined ? {} : { maxVersion, minVersion: "TLSv1" as const };
  return startReceiver(answer, { tls: { cert: certPem, key: keyPem, ...versions } });
}

function makeExchange(ca: string = certificate.certPem) {
  const exchange = createExchange({ ca });
  open.push(exchange);
  return exchange;
}

function requestTo(origin: string, overrides: Partial<DeliverRequest> = {}): DeliverRequest {
  const url = new URL(`${origin}/hook`);
  return { url, address: "127.0.0.1", headers: {}, body: "{}", allowPrivate: true, ...overrides };
}

describe("TLS", () => {
  test("the host of the URL is the server name and the name in the certificate", async () => {
    const result = await makeExchange().deliver(requestTo(`https://localhost:${receiver.port}`));
    expect(result).toMatchObject({ outcome: "acknowledged", status: 200 });
    expect(names).toEqual(["localhost"]);
  });

  test("an address as the host has no server name, and has to be in the certificate", async () => {
    const result = await makeExchange().deliver(requestTo(`https://127.0.0.1:${receiver.port}`));
    expect(result).toMatchObject({ outcome: "acknowledged" });
    expect(names).toEqual([null]);
    const other = await startReceiver((socket) => socket.write(ok), {
      host: "127.0.0.2",
      tls: { cert: certificate.certPem, key: certificate.keyPem },
    });
    open.push(other);
    const request = requestTo(`https://127.0.0.2:${other.port}`, { address: "127.0.0.2" });
    expect(await makeExchange().deliver(request)).toMatchObject({ outcome: "failed", error: "TLS_FAILED" });
  });

  test("a certificate for another host is refused, also beside a kept connection to that address", async () => {
    const exchange = makeExchange();
    await exchange.deliver(requestTo(`https://localhost:${receiver.port}`));
    const requests = receiver.requests.length;
    const result = await exchange.deliver(requestTo(`https://hooks.example.test:${receiver.port}`));
    expect(result).toMatchObject({ outcome: "failed", status: null, error: "TLS_FAILED" });
    expect(receiver.requests).toHaveLength(requests);
  });

  test("a certificate that nobody vouches for is refused, whatever the environment says", async () => {
    const other = await makeCertificate({ commonName: "other" });
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      const result = await makeExchange(other.certPem).deliver(
        requestTo(`https://localhost:${receiver.port}`),
      );
      expect(result).toMatchObject({ outcome: "failed", error: "TLS_FAILED" });
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
  });

  test("an expired certificate is refused", async () => {
    const stale = await startTls(expired);
    open.push(stale);
    const request = requestTo(`https://localhost:${stale.port}`);
    expect(await makeExchange(expired.certPem).deliver(request)).toMatchObject({ error: "TLS_FAILED" });
  });

  test("a server that speaks no TLS is TLS_FAILED", async () => {
    const plain = createServer((socket) => {
      socket.on("error", () => {});
      socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    plain.listen(0, "127.0.0.1");
    await once(plain, "listening");
    open.push(plain);
    const { port } = plain.address() as AddressInfo;
    const result = await makeExchange().deliver(requestTo(`https://localhost:${port}`));
    expect(result).toMatchObject({ outcome: "failed", status: null, error: "TLS_FAILED" });
  });

  test("a handshake that never ends is TIMEOUT, and its connection closed", async () => {
    const closed = Promise.withResolvers<void>();
    const silent = createServer((socket) => {
      socket.on("error", () => {});
      socket.on("close", () => closed.resolve());
      socket.resume();
    });
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    open.push(silent);
    const { port } = silent.address() as AddressInfo;
    const request = requestTo(`https://localhost:${port}`, { deadlineMs: 60 });
    expect(await makeExchange().deliver(request)).toMatchObject({ outcome: "failed", error: "TIMEOUT" });
    await closed.promise;
  });

  test("a connection is used again", async () => {
    const own = await startTls(certificate);
    open.push(own);
    const exchange = makeExchange();
    for (let count = 0; count < 4; count++)
      await exchange.deliver(requestTo(`https://localhost:${own.port}`));
    expect([own.requests.length, own.connections()]).toEqual([4, 1]);
  });
});
