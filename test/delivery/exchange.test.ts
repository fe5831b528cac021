import { afterEach, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { deliveryErrors } from "../../src/delivery/exchange.ts";
import { body, closeAll, deliverTo, makeExchange, ok, pour, receive, requestTo } from "./deliveries.ts";

afterEach(closeAll);

describe("the request", () => {
  test("is the exact body with Host, length and the caller's headers, and asks for no encoding", async () => {
    const receiver = await receive((socket) => socket.write(ok));
    const headers = { "X-AGENCY-Event-Id": "evt_1", "Content-Type": "application/json" };
    const result = await makeExchange().deliver(requestTo(receiver.port, { headers }));
    expect(result).toMatchObject({
      status: 200,
      error: null,
      retryAfterSeconds: null,
    });
    const [head = "", sent = ""] = (receiver.requests[0] ?? "").split("\r\n\r\n");
    expect(Buffer.from(sent, "latin1").toString()).toBe(body);
    expect(head).toStartWith("POST /hook?x=1 HTTP/1.1\r\n");
    expect(head).toContain(`\r\nHost: hooks.example.test:${receiver.port}`);
    expect(head).toContain(`\r\nContent-Length: ${Buffer.byteLength(body)}`);
    expect(head).toContain("\r\nX-AGENCY-Event-Id: evt_1");
    expect(head).not.toMatch(/accept-encoding|transfer-encoding|expect:/i);
  });

  test("carries bytes as they are", async () => {
    const receiver = await receive((socket) => socket.write(ok));
    await makeExchange().deliver(requestTo(receiver.port, { body: new Uint8Array([0, 255, 13, 10]) }));
    expect(receiver.requests[0]).toEndWith("\r\n\r\n\u0000\u00ff\r\n");
  });
});

describe("an answer that acknowledges", () => {
  const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
  test.each([
    ["200 with a body", ok, 200],
    ["201 without one", "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", 201],
    ["202 in chunks", chunked.replace("200", "202"), 202],
    ["204", "HTTP/1.1 204 No Content\r\n\r\n", 204],
    ["a 2xx nobody has heard of", "HTTP/1.1 299 Fine\r\nContent-Length: 0\r\n\r\n", 299],
    [
      "interim answers before it",
      `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${ok}`,
      200,
    ],
    ["Retry-After that means nothing here", ok.replace("\r\n", "\r\nRetry-After: 9\r\n"), 200],
    ["a Location that is not followed", ok.replace("\r\n", "\r\nLocation: http://127.0.0.1:1/\r\n"), 200],
    ["gzip that is not decoded", ok.replace("\r\n", "\r\nContent-Encoding: gzip\r\n"), 200],
  ])("%s", async (_name, answer, status) => {
    const result = await deliverTo((socket) => socket.write(answer));
    expect(result).toMatchObject({ status, error: null, retryAfterSeconds: null });
    expect(result.durationMs).toBeGreaterThanOrEqual(0);
  });

  test.each([
    ["HTTP/1.0, ended by closing", "HTTP/1.0 200 OK\r\n\r\nok"],
    ["HTTP/1.1 without a length, ended by closing", "HTTP/1.1 200 OK\r\n\r\nok"],
  ])("%s", async (_name, answer) => {
    const result = await deliverTo((socket) => socket.end(answer));
    expect(result).toMatchObject({ status: 200, error: null });
  });

  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
  const long = "HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n";
  test.each<[string, (socket: Socket) => void]>([
    [
      "an endless body",
      (socket) => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        pour(socket, "x".repeat(65_536));
      },
    ],
    [
      "a body longer than 16 KiB, even when nothing follows",
      (socket) => socket.write(long + "x".repeat(16_384)),
    ],
    [
      "a gzip bomb, while it is still small",
      (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
        socket.write(bomb);
      },
    ],
  ])("%s is cut, and its connection closed", async (_name, answer) => {
    const receiver = await receive(answer);
    const result = await makeExchange().deliver(requestTo(receiver.port));
    expect(result).toMatchObject({ status: 200, error: null });
    await receiver.closed;
  });
});

describe("an answer that fails the attempt", () => {
  test.each([
    [301, "REDIRECT"],
    [302, "REDIRECT"],
    [304, "REDIRECT"],
    [307, "REDIRECT"],
    [308, "REDIRECT"],
    [400, "BAD_STATUS"],
    [407, "BAD_STATUS"],
    [410, "BAD_STATUS"],
    [429, "BAD_STATUS"],
    [500, "BAD_STATUS"],
    [503, "BAD_STATUS"],
    [999, "BAD_STATUS"],
  ] as const)("status %i is %s, and leads nowhere, to the endpoint itself neither", async (status, error) => {
    const receiver = await receive((socket) =>
      socket.write(`HTTP/1.1 ${status} X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n`),
    );
    const result = await makeExchange().deliver(requestTo(receiver.port));
    expect(result).toMatchObject({ status, error, retryAfterSeconds: null });
    expect(receiver.requests).toHaveLength(1);
  });

  test.each([
    ["120", 120],
    ["Sun, 01 Mar 2026 12:02:00 GMT", 120],
    ["tomorrow", null],
  ])("Retry-After: %s", async (value, retryAfterSeconds) => {
    const receiver = await receive((socket) =>
      socket.write(`HTTP/1.1 503 X\r\nRetry-After: ${value}\r\nContent-Length: 0\r\n\r\n`),
    );
    const clock = { now: () => Date.UTC(2026, 2, 1, 12) };
    const result = await makeExchange({ clock }).deliver(requestTo(receiver.port));
    expect(result).toMatchObject({ status: 503, retryAfterSeconds });
  });

  test("a bad status needs no body: one that never comes does not hold the attempt", async () => {
    const result = await deliverTo((socket) => socket.write("HTTP/1.1 500 X\r\nContent-Length: 9\r\n\r\n"));
    expect(result).toMatchObject({ error: "BAD_STATUS", status: 500 });
  });

  test.each([
    ["not HTTP", "SSH-2.0-OpenSSH_9.9\r\n"],
    ["another version", "HTTP/3.7 200 OK\r\n\r\n"],
    ["a status that is no number", "HTTP/1.1 two OK\r\n\r\n"],
    ["two lengths", ok.replace("\r\n", "\r\nContent-Length: 5\r\n")],
    ["a length that is no number", ok.replace("Length: 2", "Length: two")],
    ["a negative length", ok.replace("Length: 2", "Length: -2")],
    ["a length and chunks", ok.replace("\r\n", "\r\nTransfer-Encoding: chunked\r\n")],
    ["a header without a name", ok.replace("\r\n", "\r\n: x\r\n")],
    ["a NUL in a header", ok.replace("\r\n", "\r\nX: a\u0000b\r\n")],
    ["switching protocols", "HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"],
    ["endless interim answers", "HTTP/1.1 100 Continue\r\n\r\n".repeat(50)],
    ["too many headers", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(20_000)}\r\n\r\n`],
  ])("%s is RESPONSE_MALFORMED", async (_name, answer) => {
    const result = await deliverTo((socket) => socket.write(answer), { deadlineMs: 2000 });
    expect(result).toMatchObject({ error: "RESPONSE_MALFORMED" });
  });

  test("headers without end are cut", async () => {
    const receiver = await receive((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      pour(socket, `X: ${"x".repeat(1000)}\r\n`);
    });
    const result = await makeExchange().deliver(requestTo(receiver.port));
    expect(result).toMatchObject({ status: null, error: "RESPONSE_MALFORMED" });
    await receiver.closed;
  });

  test.each([
    ["closing without an answer", ""],
    ["closing within the headers", "HTTP/1.1 200 OK\r\nContent-"],
  ])("%s is CONNECTION_LOST", async (_name, answer) => {
    const result = await deliverTo((socket) => socket.end(answer));
    expect(result).toMatchObject({ status: null });
    expect(["CONNECTION_LOST", "RESPONSE_MALFORMED"]).toContain(result.error ?? "");
  });

  test.each([
    ["a body shorter than its length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"],
    ["chunks without an end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"],
  ])("%s is RESPONSE_INCOMPLETE", async (_name, answer) => {
    const result = await deliverTo((socket) => socket.end(answer));
    expect(result).toMatchObject({ status: 200, error: "RESPONSE_INCOMPLETE" });
  });

  test("a connection reset within the body is RESPONSE_INCOMPLETE", async () => {
    const result = await deliverTo((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", () => {
        setTimeout(() => socket.resetAndDestroy(), 10);
      });
    });
    expect(result).toMatchObject({ error: "RESPONSE_INCOMPLETE" });
  });

  test("a body whose chunks are malformed is RESPONSE_MALFORMED", async () => {
    const result = await deliverTo((socket) =>
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n"),
    );
    expect(result).toMatchObject({ status: 200, error: "RESPONSE_MALFORMED" });
  });

  test("nobody listening is CONNECT_FAILED", async () => {
    const receiver = await receive(() => {});
    receiver.close();
    const result = await makeExchange().deliver(requestTo(receiver.port));
    expect(result).toMatchObject({ status: null, error: "CONNECT_FAILED" });
  });
});

test("every error has a sentence for the operator", () => {
  for (const sentence of Object.values(deliveryErrors)) expect(sentence).toMatch(/^[A-Z].+\.$/);
});
