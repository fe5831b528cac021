import { afterAll, afterEach, expect, test } from "bun:test";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { makeCertificate } from "../harness/certificates.ts";
import { closeAll, closeLater, makeExchange, okResponse, requestTo } from "./deliveries.ts";
import { startReceiver } from "./receiver.ts";

// For localhost, 127.0.0.1 and ::1.
const certificate = await makeCertificate({ commonName: "receiver" });
const names: (string | false | null)[] = [];
const receiver = await startTls(certificate);

afterEach(() => {
  closeAll();
  names.length = 0;
});
afterAll(() => receiver.close());

function startTls({ certPem, keyPem }: { certPem: string; keyPem: string }, host = "127.0.0.1") {
  const answer = (socket: Socket & { servername?: string | false | null }) => {
    names.push(socket.servername || null);
    socket.write(okResponse);
  };
  return startReceiver(answer, { host, tls: { cert: certPem, key: keyPem } });
}

function trusting(ca: string = certificate.certPem) {
  return makeExchange({ ca });
}

test("the TLS server name is the host of the URL, and the certificate must name this host", async () => {
  const result = await trusting().deliver(requestTo(`https://localhost:${receiver.port}`));
  expect(result).toMatchObject({ status: 200, error: null });
  expect(names).toEqual(["localhost"]);
});

test("a URL with an IP address sends no TLS server name, and the certificate must name this address", async () => {
  const result = await trusting().deliver(requestTo(`https://127.0.0.1:${receiver.port}`));
  expect(result).toMatchObject({ error: null });
  expect(names).toEqual([null]);
  const other = closeLater(await startTls(certificate, "127.0.0.2"));
  const request = requestTo(`https://127.0.0.2:${other.port}`, { address: "127.0.0.2" });
  expect(await trusting().deliver(request)).toMatchObject({ error: "TLS_FAILED" });
});

test("a certificate for another host is refused, even if a connection to the same IP address is open", async () => {
  const exchange = trusting();
  await exchange.deliver(requestTo(`https://localhost:${receiver.port}`));
  const requests = receiver.requests.length;
  const result = await exchange.deliver(requestTo(`https://hooks.example.test:${receiver.port}`));
  expect(result).toMatchObject({ status: null, error: "TLS_FAILED" });
  expect(receiver.requests).toHaveLength(requests);
});

test("a certificate that no known authority signed is refused", async () => {
  const other = await makeCertificate({ commonName: "other" });
  const request = requestTo(`https://localhost:${receiver.port}`);
  const result = await trusting(other.certPem).deliver(request);
  expect(result).toMatchObject({ error: "TLS_FAILED" });
});

test("a receiver that does not speak TLS fails the attempt with TLS_FAILED", async () => {
  const plain = createServer((socket) => {
    socket.on("error", () => {});
    socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  plain.listen(0, "127.0.0.1");
  await once(plain, "listening");
  closeLater(plain);
  const { port } = plain.address() as AddressInfo;
  const result = await trusting().deliver(requestTo(`https://localhost:${port}`));
  expect(result).toMatchObject({ status: null, error: "TLS_FAILED" });
});

test("a TLS handshake that never ends fails the attempt with TIMEOUT, and its connection is closed", async () => {
  const silent = closeLater(await startReceiver(() => {}));
  const request = requestTo(`https://localhost:${silent.port}`, { deadlineMs: 60 });
  expect(await trusting().deliver(request)).toMatchObject({ error: "TIMEOUT" });
  await silent.closed;
});
