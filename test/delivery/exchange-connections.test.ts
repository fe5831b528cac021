import { afterEach, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { resolveEndpoint } from "../../src/delivery/address-guard.ts";
import type { DeliverRequest } from "../../src/delivery/exchange.ts";
import { closeAll, drip, makeExchange, ok, receive, requestTo } from "./deliveries.ts";

/** For the endpoints that never come to an end. */
const shortMs = 60;
/** By then any machine has read a status line. */
const longMs = 10_000;

afterEach(closeAll);

describe("the deadline", () => {
  const cases: [string, (socket: Socket) => void, status: number | null][] = [
    ["accepts and never answers", () => {}, null],
    [
      "drips its status line",
      (socket) => {
        socket.write("HTTP/1.1 200 ");
        drip(socket, "x");
      },
      null,
    ],

    [
      "drips its body",
      (socket) => {
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n");
        drip(socket, "x");
      },
      200,
    ],
    ["never ends its body", (socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"), 200],
  ];

  test.each(cases)(
    "an endpoint that %s is TIMEOUT, and its connection closed",
    async (_name, answer, status) => {
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
    },
  );

  test("the service that stops ends an attempt with ABORTED", async () => {
    const stop = new AbortController();
    const receiver = await receive(() => stop.abort());
    const result = await makeExchange().deliver(requestTo(receiver.port, { signal: stop.signal }));
    expect(result).toMatchObject({ error: "ABORTED" });
    const late = await makeExchange().deliver(requestTo(receiver.port, { signal: stop.signal }));
    expect(late).toMatchObject({ error: "ABORTED" });
  });
});

describe("the address", () => {
  test("a resolver that changes its answer gains nothing: the checked address is connected to", async () => {
    const receiver = await receive((socket) => socket.write(ok));
    const decoy = await receive((socket) => socket.write(ok), { host: "127.0.0.2", port: receiver.port });
    const answers = [["127.0.0.1"], ["127.0.0.2"]];
    const resolver = async () => answers.shift() ?? [];
    const endpoint = `http://hooks.example.test:${receiver.port}/`;
    const { url, addresses } = await resolveEndpoint(endpoint, { allowPrivate: true, resolver });
    await makeExchange().deliver(requestTo(receiver.port, { url, address: addresses[0] ?? "" }));
    expect([receiver.requests.length, decoy.requests.length]).toEqual([1, 0]);
    expect(answers).toHaveLength(1);
  });

  test("an address that is not public, no address, or http is refused without a connection", async () => {
    const receiver = await receive((socket) => socket.write(ok));
    const secure = new URL(`https://hooks.example.test:${receiver.port}/`);
    const refused: Partial<DeliverRequest>[] = [
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

  test("proxy variables of the environment have no effect", async () => {
    const proxy = await receive((socket) => socket.write(ok));
    const receiver = await receive((socket) => socket.write(ok));
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
});

describe("a kept connection", () => {
  test("is used again after a whole answer", async () => {
    const receiver = await receive((socket) => socket.write(ok));
    const exchange = makeExchange();
    for (let count = 0; count < 5; count++) await exchange.deliver(requestTo(receiver.port));
    expect([receiver.requests.length, receiver.connections()]).toEqual([5, 1]);
  });

  test("serves its own address only", async () => {
    const first = await receive((socket) => socket.write(ok));
    const second = await receive((socket) => socket.write(ok), { host: "127.0.0.2", port: first.port });
    const exchange = makeExchange();
    for (const address of ["127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.2"]) {
      await exchange.deliver(requestTo(first.port, { address }));
    }
    expect([first.requests.length, second.requests.length]).toEqual([2, 2]);
    expect([first.connections(), second.connections()]).toEqual([1, 1]);
  });

  test.each([
    ["a body that was cut", `HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n${"x".repeat(20_000)}`],
    ["a bad status", "HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\nno"],
    ["more than the length said", `${ok}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`],
  ])("is not used again after %s", async (_name, answer) => {
    const receiver = await receive((socket) => socket.write(answer));
    const exchange = makeExchange();
    for (let count = 0; count < 3; count++) await exchange.deliver(requestTo(receiver.port));
    expect([receiver.requests.length, receiver.connections()]).toEqual([3, 3]);
  });

  test("that the server closes when it is used again costs no attempt", async () => {
    const answered = new WeakSet<Socket>();
    const receiver = await receive((socket) => {
      if (answered.has(socket)) return socket.resetAndDestroy();
      answered.add(socket);
      socket.write(ok);
    });
    const exchange = makeExchange();
    await exchange.deliver(requestTo(receiver.port));
    expect(await exchange.deliver(requestTo(receiver.port))).toMatchObject({ error: null });
    expect([receiver.requests.length, receiver.connections()]).toEqual([3, 2]);
  });

  test("is closed when it has been idle", async () => {
    const receiver = await receive((socket) => socket.write(ok));
    const result = await makeExchange({ idleTimeoutMs: 20 }).deliver(requestTo(receiver.port));
    await receiver.closed;
    expect(result.error).toBeNull();
    expect([receiver.requests.length, receiver.connections()]).toEqual([1, 1]);
  });

  test("is one of a bounded number", async () => {
    const waiting: Socket[] = [];
    const receiver = await receive((socket) => {
      waiting.push(socket);
      if (waiting.length === 4) for (const each of waiting.splice(0)) each.write(ok);
    });
    const exchange = makeExchange({ maxIdlePerEndpoint: 1 });
    const round = () => Promise.all([1, 2, 3, 4].map(() => exchange.deliver(requestTo(receiver.port))));
    await round();
    await receiver.closed;
    await round();
    expect(receiver.connections()).toBe(7);
  });
});
