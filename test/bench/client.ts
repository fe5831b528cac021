/**
 * The load client; its argument is a load plan in JSON. It shares the processor with the server that it measures. So it
 * makes its requests before the measurement, uses plain sockets, and parses only an answer's status and length. Each
 * connection sends its next request when it has received its answer.
 */
import type { Socket } from "bun";
import { sleep } from "../harness/eventually.ts";
import { quantile } from "./figures.ts";
import type { LoadPlan, LoadResult } from "./load.ts";
import { cpuSeconds } from "./machine.ts";

/** The first requests are not counted: client and server are slow on new connections. */
const leadInMs = 300;
/** A request that is not answered within this time after the end has failed. */
const patienceMs = 10_000;
/** How many teachers are asked for before the requests repeat. */
const differentItems = 20_000;

type Connection = {
  socket: Socket<Connection> | null;
  /** The time at which the request under way was sent; null if none is under way. */
  sinceMs: number | null;
  received: Buffer | null;
};

const plan = JSON.parse(process.argv[2] ?? "") as LoadPlan;
const { hostname, port, host } = new URL(plan.url);
const requests = makeRequests();
let next = 0;
const latenciesMs: number[] = [];
const statuses: Record<string, number> = {};
let broken = 0;
let underWay = 0;
/** True between the lead-in and the end. */
let isCounted = false;
let isOver = false;

/** Makes requests about random teachers, as bytes. */
function makeRequests(): Buffer[] {
  const { kind, items = 1, teachers, apiKey } = plan;
  const regNo = () => `TR/2020/LA/${String(1 + Math.floor(Math.random() * teachers)).padStart(6, "0")}`;
  const check = () => ({ identifier: { regNo: regNo() }, purpose: "GENERAL_PUBLIC_VERIFICATION" });
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const post = (path: string, body: string) =>
    `POST /v1/inter-agency/${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${apiKey}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const make = {
    empty: () => get("/"),
    lookup: () => get(`/teacher/verify-license?searchTerm=${regNo()}`),
    check: () => post("eligibility-check", JSON.stringify(check())),
    batch: () => post("batch", JSON.stringify({ items: Array.from({ length: items }, check) })),
  }[kind];
  return Array.from({ length: Math.ceil(differentItems / items) }, () => Buffer.from(make()));
}

async function open(): Promise<Connection> {
  const connection: Connection = { socket: null, sinceMs: null, received: null };
  connection.socket = await Bun.connect<Connection>({
    ...{ hostname, port: Number(port), data: connection },
    socket: {
      data: (socket, chunk) => receive(socket.data, chunk),
      close: (socket) => lose(socket.data),
      error: (socket) => lose(socket.data),
    },
  });
  return connection;
}

function send(connection: Connection): void {
  next = (next + 1) % requests.length;
  connection.sinceMs = performance.now();
  underWay++;
  // A socket accepts a request as a whole, because a request is small.
  connection.socket?.write(requests[next] ?? "");
}

const headEnd = Buffer.from("\r\n\r\n");

/** Reads the status of an answer. @returns null while the answer is not complete */
function statusIn(received: Buffer): string | null {
  const end = received.indexOf(headEnd);
  if (end < 0) return null;
  const head = received.toString("latin1", 0, end);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error("an answer without Content-Length");
  return received.length < end + headEnd.length + Number(length) ? null : head.slice(9, 12);
}

function receive(connection: Connection, chunk: Buffer): void {
  const { received, sinceMs } = connection;
  const all = received === null ? chunk : Buffer.concat([received, chunk]);
  const status = statusIn(all);
  if (status === null) {
    // A copy, because the runtime reuses the chunk's memory.
    connection.received = received === null ? Buffer.from(chunk) : all;
    return;
  }
  const nowMs = performance.now();
  if (isCounted) {
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status === "200") latenciesMs.push(nowMs - (sinceMs ?? nowMs));
  }
  underWay--;
  connection.received = null;
  connection.sinceMs = null;
  if (!isOver) send(connection);
}

/** Records that a connection has closed; its request, if one is under way, has failed. */
function lose(connection: Connection): void {
  if (connection.socket === null) return;
  connection.socket = null;
  if (connection.sinceMs === null) return;
  underWay--;
  broken++;
}

const connections = await Promise.all(Array.from({ length: plan.connections }, open));
for (const connection of connections) send(connection);
await sleep(leadInMs);
isCounted = true;
const fromMs = performance.now();
const cpuBefore = cpuSeconds(plan.pid);
await sleep(plan.seconds * 1000);
const serverCpuSeconds = cpuSeconds(plan.pid) - cpuBefore;
const seconds = (performance.now() - fromMs) / 1000;
isCounted = false;
isOver = true;
for (const endMs = performance.now() + patienceMs; underWay > 0 && performance.now() < endMs; )
  await sleep(10);
broken += underWay;
const result: LoadResult = {
  ...{ statuses, broken, seconds, serverCpuSeconds },
  p50Ms: quantile(latenciesMs, 0.5),
  p99Ms: quantile(latenciesMs, 0.99),
};
process.stdout.write(`LOAD ${JSON.stringify(result)}\n`);
process.exit();
