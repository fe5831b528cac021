/**
 * Requests at a steady rate, which neither wrk nor autocannon knows: each one is due at its time, whether those
 * before it are answered or not, and its latency counts from then. A service that stalls is so charged with every
 * request that would have come meanwhile. It speaks HTTP over plain sockets, since it shares the cores with what it
 * measures. Its plan is one JSON argument; SIGTERM ends it early.
 */

import { connect, type Socket } from "node:net";
import { sleep } from "../harness/eventually.ts";
import { quantile } from "./figures.ts";
import type { LoadPlan, LoadResult } from "./load.ts";
import { randomRequest } from "./requests.ts";

const plan = JSON.parse(process.argv[2] ?? "") as LoadPlan & { perSecond: number };
const leadInMs = 500;
const { hostname, port } = new URL(plan.url);

type Connection = { readonly socket: Socket; dueMs: number; received: Buffer };

const idle: Connection[] = [];
/** When requests were due that wait for a connection. */
const waiting: number[] = [];
const latenciesMs: number[] = [];
/** The driver's own first requests are slow ones: what was due before this is asked, but not counted. */
let countedFromMs = 0;
let underWay = 0;
let failed = 0;

function open(): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(Number(port), hostname, () => resolve());
  const connection: Connection = { socket, dueMs: 0, received: Buffer.alloc(0) };
  idle.push(connection);
  socket.setNoDelay(true);
  socket.on("data", (chunk) => receive(connection, chunk));
  socket.on("error", reject);
  // A connection that the service closed while it owed an answer: that request failed.
  socket.on("close", () => connection.dueMs > 0 && finish(connection, false));
  return promise;
}

function dispatch(dueMs: number): void {
  const connection = idle.pop();
  if (connection === undefined) waiting.push(dueMs);
  else send(connection, dueMs);
}

function send(connection: Connection, dueMs: number): void {
  const { method, path, body } = randomRequest(plan.kind, plan.teachers);
  connection.dueMs = dueMs;
  underWay++;
  connection.socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${plan.apiKey}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}

function receive(connection: Connection, chunk: Buffer): void {
  const received = connection.received.length === 0 ? chunk : Buffer.concat([connection.received, chunk]);
  connection.received = received;
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return;
  const head = received.toString("latin1", 0, headEnd);
  const bodyLength = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (bodyLength === undefined) throw new Error("an answer without Content-Length");
  if (received.length >= headEnd + 4 + Number(bodyLength))
    finish(connection, head.startsWith("HTTP/1.1 200"));
}

function finish(connection: Connection, isGood: boolean): void {
  if (connection.dueMs >= countedFromMs) latenciesMs.push(performance.now() - connection.dueMs);
  if (!isGood) failed++;
  underWay--;
  connection.dueMs = 0;
  connection.received = Buffer.alloc(0);
  if (connection.socket.destroyed) return;
  const dueMs = waiting.shift();
  if (dueMs === undefined) idle.push(connection);
  else send(connection, dueMs);
}

await Promise.all(Array.from({ length: plan.connections }, open));
const startMs = performance.now();
countedFromMs = startMs + leadInMs;
let endMs = countedFromMs + plan.seconds * 1000;
process.on("SIGTERM", () => {
  endMs = Math.min(endMs, performance.now());
});
for (let sent = 0; performance.now() < endMs; await sleep(1)) {
  // The timer ticks in milliseconds, and so does the plan.
  const due = () => startMs + Math.floor((sent * 1000) / plan.perSecond);
  for (; due() <= performance.now(); sent++) dispatch(due());
}
const seconds = (performance.now() - countedFromMs) / 1000;
// What is not answered ten seconds after the end has failed.
for (let left = 1_000; left > 0 && underWay + waiting.length > 0; left--) await sleep(10);
failed += underWay + waiting.length;
const result: LoadResult = {
  requests: latenciesMs.length,
  failed,
  seconds,
  p50Ms: quantile(latenciesMs, 0.5),
  p99Ms: quantile(latenciesMs, 0.99),
};
process.stdout.write(`LOAD ${JSON.stringify(result)}\n`);
for (const { socket } of idle) socket.destroy();
process.exit();
