import { afterEach, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { resolveEndpoint } from "../../src/delivery/address-guard.ts";
import { parseRetryAfter, type WebhookRequest } from "../../src/delivery/exchange.ts";
import { deliveryErrorTexts } from "../../src/domain/deliveries.ts";
import {
  body,
  closeAll,
  deliverTo,
  makeExchange,
  okResponse,
  receive,
  requestTo,
  writeEndlessly,
  writeSlowly,
} from "./deliveries.ts";

afterEach(closeAll);

test("a delivery request has the exact body, Host, Content-Length and headers, and accepts no content encoding", async () => {
  const receiver = await receive((socket) => socket.write(okResponse));
  const headers = { "X-AGENCY-Event-Id": "evt_1", "Content-Type": "application/json" };
  const result = await makeExchange().deliver(requestTo(receiver.port, { headers }));
  expect(result).toMatchObject({ status: 200, error: null, retryAfterSeconds: null });
  const [head = "", sent = ""] = (receiver.requests[0] ?? "").split("\r\n\r\n");
  expect(Buffer.from(sent, "latin1").toString()).toBe(body);
  expect(head).toStartWith("POST /hook?x=1 HTTP/1.1\r\n");
  expect(head).toContain(`\r\nHost: hooks.example.test:${receiver.port}`);
  expect(head).toContain(`\r\nContent-Length: ${Buffer.byteLength(body)}`);
  expect(head).toContain("\r\nX-AGENCY-Event-Id: evt_1");
  expect(head).not.toMatch(/accept-encoding|transfer-encoding|expect:/i);
});

const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
// biome-ignore format: a table reads better in rows
test.each([
  ["status 200 and a body", okResponse, 200],
  ["status 202 and chunks", chunked.replace("200", "202"), 202],
  ["status 204", "HTTP/1.1 204 No Content\r\n\r\n", 204],
  ["an unknown 2xx status", "HTTP/1.1 299 Fine\r\nContent-Length: 0\r\n\r\n", 299],
  ["interim responses before the final one",
    `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${okResponse}`, 200],
  ["a Location that is not followed", okResponse.replace("\r\n", "\r\nLocation: http://127.0.0.1:1/\r\n"), 200],
  ["gzip that is not decoded", okResponse.replace("\r\n", "\r\nContent-Encoding: gzip\r\n"), 200],
])("a receiver's response with %s acknowledges the delivery", async (_name, answer, status) => {
  const result = await deliverTo((socket) => socket.write(answer));
  expect(result).toMatchObject({ status, error: null, retryAfterSeconds: null });
  expect(result.durationMs).toBeGreaterThanOrEqual(0);
});

test.each(["1.0", "1.1"])(
  "an HTTP/%s response without Content-Length ends when the receiver closes the connection",
  async (version) => {
    const result = await deliverTo((socket) => socket.end(`HTTP/${version} 200 OK\r\n\r\nok`));
    expect(result).toMatchObject({ status: 200, error: null });
  },
);

const head = "HTTP/1.1 200 OK\r\n";
const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
function sendEndless(socket: Socket): void {
  socket.write(`${head}\r\n`);
  writeEndlessly(socket, "x".repeat(65_536));
}
function sendBomb(socket: Socket): void {
  socket.write(`${head}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
  socket.write(bomb);
}
const sendLong = (socket: Socket) =>
  socket.write(`${head}Content-Length: 9999999\r\n\r\n${"x".repeat(16_384)}`);

test.each([
  ["an endless body", sendEndless],
  ["a body longer than 16 KiB, even when nothing follows", sendLong],
  ["a gzip bomb, while it is still small", sendBomb],
])("the sender stops reading a response with %s, and closes the connection", async (_name, answer) => {
  const receiver = await receive(answer);
  const result = await makeExchange().deliver(requestTo(receiver.port));
  expect(result).toMatchObject({ status: 200, error: null });
  await receiver.closed;
});

// biome-ignore format: a table reads better in rows
test.each([
  [301, "REDIRECT"],
  [304, "REDIRECT"],
  [400, "BAD_STATUS"],
  [410, "BAD_STATUS"],
  [429, "BAD_STATUS"],
  [500, "BAD_STATUS"],
  [999, "BAD_STATUS"],
] as const)("a response with status %i fails the attempt with %s, and no redirect is followed", async (status, error) => {
  const receiver = await receive((socket) =>
    // The body that the length announces never comes.
    socket.write(`HTTP/1.1 ${status} X\r\nLocation: /elsewhere\r\nContent-Length: 9\r\n\r\n`),
  );
  const result = await makeExchange().deliver(requestTo(receiver.port));
  expect(result).toMatchObject({ status, error, retryAfterSeconds: null });
  expect(receiver.requests).toHaveLength(1);
});

test("a date in Retry-After is converted to seconds by the sender's clock", async () => {
  const answer = "HTTP/1.1 503 X\r\nRetry-After: Sun, 01 Mar 2026 12:02:00 GMT\r\nContent-Length: 0\r\n\r\n";
  const receiver = await receive((socket) => socket.write(answer));
  const clock = { now: () => Date.UTC(2026, 2, 1, 12) };
  const result = await makeExchange({ clock }).deliver(requestTo(receiver.port));
  expect(result).toMatchObject({ status: 503, retryAfterSeconds: 120 });
});

const malformed = "RESPONSE_MALFORMED";
// biome-ignore format: a table reads better in rows
test.each([
  ["another protocol than HTTP", "SSH-2.0-OpenSSH_9.9\r\n", malformed],
  ["an unknown HTTP version", "HTTP/3.7 200 OK\r\n\r\n", malformed],
  ["a status that is not a number", "HTTP/1.1 two OK\r\n\r\n", malformed],
  ["two Content-Length headers", okResponse.replace("\r\n", "\r\nContent-Length: 5\r\n"), malformed],
  ["a Content-Length that is not a number", okResponse.replace("Length: 2", "Length: two"), malformed],
  ["a negative Content-Length", okResponse.replace("Length: 2", "Length: -2"), malformed],
  ["Content-Length and chunked encoding", okResponse.replace("\r\n", "\r\nTransfer-Encoding: chunked\r\n"), malformed],
  ["a header without a name", okResponse.replace("\r\n", "\r\n: x\r\n"), malformed],
  ["a NUL in a header", okResponse.replace("\r\n", "\r\nX: a\u0000b\r\n"), malformed],
  ["switching protocols", "HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", malformed],
  ["endless interim responses", "HTTP/1.1 100 Continue\r\n\r\n".repeat(50), malformed],
  ["too many headers", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(20_000)}\r\n\r\n`, malformed],
  ["malformed chunks", chunked.replace("2\r\nok", "zz\r\nok"), malformed],
  ["a body shorter than its length", okResponse.replace("Length: 2", "Length: 9"), "RESPONSE_INCOMPLETE"],
  ["endless chunks", chunked.replace("0\r\n\r\n", ""), "RESPONSE_INCOMPLETE"],
])("a response with %s fails the attempt", async (_name, answer, error) => {
  const end = error === malformed ? "write" : "end";
  expect(await deliverTo((socket) => socket[end](answer), { deadlineMs: 2000 })).toMatchObject({ error });
});

test.each([
  ["before its response", ""],
  ["within the headers", "HTTP/1.1 200 OK\r\nContent-"],
])("a connection that closes %s fails the attempt", async (_name, answer) => {
  const result = await deliverTo((socket) => socket.end(answer));
  expect(result).toMatchObject({ status: null });
  expect(["CONNECTION_LOST", malformed]).toContain(result.error ?? "");
});

test("a port on which nobody listens fails the attempt with CONNECT_FAILED", async () => {
  const receiver = await receive(() => {});
  receiver.close();
  const result = await makeExchange().deliver(requestTo(receiver.port));
  expect(result).toMatchObject({ status: null, error: "CONNECT_FAILED" });
});

test("every delivery error code has a sentence for the operator", () => {
  for (const sentence of Object.values(deliveryErrorTexts)) expect(sentence).toMatch(/^[A-Z].+\.$/);
});

const shortMs = 60;
/** Any machine reads a status line in this time. */
const longMs = 10_000;

const dripAfter = (text: string) => (socket: Socket) => {
  socket.write(text);
  writeSlowly(socket, "x");
};

test.each<[string, (socket: Socket) => void, status: number | null]>([
  ["accepts and never answers", () => {}, null],
  ["sends its status line too slowly", dripAfter("HTTP/1.1 200 "), null],
  ["sends its body too slowly", dripAfter(`${head}Content-Length: 9999\r\n\r\n`), 200],
  ["never ends its body", (socket) => socket.write(`${head}Content-Length: 9\r\n\r\nok`), 200],
])("an endpoint that %s fails the attempt with TIMEOUT", async (_name, answer, status) => {
  for (let deadlineMs = shortMs; ; deadlineMs *= 2) {
    const receiver = await receive(answer);
    const result = await makeExchange().deliver(requestTo(receiver.port, { deadlineMs }));
    expect(result).toMatchObject({ error: "TIMEOUT", retryAfterSeconds: null });
    await receiver.closed;
    // On a busy machine the deadline may come before the status line has been read.
    if (result.status === null && status !== null && deadlineMs < longMs) continue;
    expect(result.status).toBe(status);
    return;
  }
});

test("a service that stops ends its running delivery attempts with ABORTED", async () => {
  const stop = new AbortController();
  const receiver = await receive(() => stop.abort());
  const result = await makeExchange().deliver(requestTo(receiver.port, { signal: stop.signal }));
  expect(result).toMatchObject({ error: "ABORTED" });
  const late = await makeExchange().deliver(requestTo(receiver.port, { signal: stop.signal }));
  expect(late).toMatchObject({ error: "ABORTED" });
});

test("the sender connects to the checked IP address, even if the DNS resolver changes its answer", async () => {
  const receiver = await receive((socket) => socket.write(okResponse));
  const decoy = await receive((socket) => socket.write(okResponse), {
    host: "127.0.0.2",
    port: receiver.port,
  });
  const answers = [["127.0.0.1"], ["127.0.0.2"]];
  const resolver = async () => answers.shift() ?? [];
  const endpoint = `http://hooks.example.test:${receiver.port}/`;
  const { url, addresses } = await resolveEndpoint(endpoint, { allowPrivate: true, resolver });
  await makeExchange().deliver(requestTo(receiver.port, { url, address: addresses[0] ?? "" }));
  expect([receiver.requests.length, decoy.requests.length]).toEqual([1, 0]);
  expect(answers).toHaveLength(1);
});

test("the sender refuses a private IP address, a malformed one and http without opening a connection", async () => {
  const receiver = await receive((socket) => socket.write(okResponse));
  const secure = new URL(`https://hooks.example.test:${receiver.port}/`);
  const refused: Partial<WebhookRequest>[] = [
    { url: secure, address: "127.0.0.1", allowPrivate: false },
    { url: secure, address: "::ffff:127.0.0.1", allowPrivate: false },
    { url: secure, address: "localhost", allowPrivate: false },
    { address: "localhost" },
    { address: "0x7f000001" },
    { address: "1.1.1.1", allowPrivate: false },
  ];
  const exchange = makeExchange();
  for (const overrides of refused) {
    const result = await exchange.deliver(requestTo(receiver.port, overrides));
    expect(result).toMatchObject({ status: null, error: "ADDRESS_REFUSED" });
  }
  expect(receiver.connections()).toBe(0);
});

test("the proxy environment variables do not affect deliveries", async () => {
  const proxy = await receive((socket) => socket.write(okResponse));
  const receiver = await receive((socket) => socket.write(okResponse));
  const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
  const before = { ...process.env };
  try {
    for (const name of names) process.env[name] = `http://127.0.0.1:${proxy.port}`;
    process.env.NODE_USE_ENV_PROXY = "1";
    await makeExchange().deliver(requestTo(receiver.port));
  } finally {
    for (const name of [...names, "NODE_USE_ENV_PROXY"]) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
  expect([proxy.connections(), receiver.requests.length]).toEqual([0, 1]);
});

test("an open connection is reused only for the same IP address", async () => {
  const first = await receive((socket) => socket.write(okResponse));
  const second = await receive((socket) => socket.write(okResponse), { host: "127.0.0.2", port: first.port });
  const exchange = makeExchange();
  for (const address of ["127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.2"]) {
    await exchange.deliver(requestTo(first.port, { address }));
  }
  expect([first.requests.length, second.requests.length]).toEqual([2, 2]);
  expect([first.connections(), second.connections()]).toEqual([1, 1]);
});

const cutOff = `HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n${"x".repeat(20_000)}`;

test.each([
  ["reused after a complete response", okResponse, 1],
  ["not reused after a response whose body was cut off", cutOff, 5],
  ["not reused after a failing status", "HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\nno", 5],
  [
    "not reused after bytes beyond Content-Length",
    `${okResponse}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`,
    5,
  ],
])("a connection is %s", async (_name, answer, connections) => {
  const receiver = await receive((socket) => socket.write(answer));
  const exchange = makeExchange();
  for (let count = 0; count < 5; count++) await exchange.deliver(requestTo(receiver.port));
  expect([receiver.requests.length, receiver.connections()]).toEqual([5, connections]);
});

test("an idle connection that the receiver closes costs no delivery attempt", async () => {
  const answered = new WeakSet<Socket>();
  const receiver = await receive((socket) => {
    if (answered.has(socket)) return socket.resetAndDestroy();
    answered.add(socket);
    socket.write(okResponse);
  });
  const exchange = makeExchange();
  await exchange.deliver(requestTo(receiver.port));
  expect(await exchange.deliver(requestTo(receiver.port))).toMatchObject({ error: null });
  expect([receiver.requests.length, receiver.connections()]).toEqual([3, 2]);
});

test("an idle connection is closed after its time limit", async () => {
  const receiver = await receive((socket) => socket.write(okResponse));
  const result = await makeExchange({ idleTimeoutMs: 20 }).deliver(requestTo(receiver.port));
  await receiver.closed;
  expect(result.error).toBeNull();
  expect([receiver.requests.length, receiver.connections()]).toEqual([1, 1]);
});

const nowMs = Date.UTC(2026, 2, 1, 12, 0, 0);

test.each([
  ["0", 0],
  ["120", 120],
  [" 120 ", 120],
  ["Sun, 01 Mar 2026 12:02:00 GMT", 120],
  ["Sunday, 01-Mar-26 12:02:00 GMT", 120],
  ["Sun Mar  1 12:02:00 2026", 120],
  ["Sun, 01 Mar 2026 11:59:00 GMT", 0],
  // A year of two digits that would be far in the future counts as past.
  ["Sunday, 06-Nov-94 08:49:37 GMT", 0],
])("Retry-After: %s is read as %i seconds", (value, seconds) => {
  expect(parseRetryAfter(value, nowMs)).toBe(seconds);
});

// biome-ignore format: a table reads better in rows
test.each([
  [undefined], [""], ["-1"], ["1.5"], ["1e3"], ["soon"], ["2026-03-01T12:02:00Z"],
  ["Sun, 01 Mai 2026 12:02:00 GMT"],
  ["Sun, 01 Mar 2026 25:02:00 GMT"],
  ["Sun, 01 Mar 2026 12:02:00 +0100"],
  ["Sun, 01 Mar 2026"],
])("Retry-After: %s is ignored", (value) => expect(parseRetryAfter(value, nowMs)).toBeNull());
