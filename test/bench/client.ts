/**
 * The load client: requests made beforehand, over plain sockets, and of an answer no more is read than its status and
 * length, since the client shares the cores with what it measures. Without a rate each connection asks again as soon
 * as it has its answer. At a steady rate a request is sent when it is due, whether those before it are answered or not,
 * and its latency counts from then, even while it waits for a connection: a service that stalls is charged with every
 * request that would have come meanwhile. Its plan is one JSON argument; SIGTERM ends it early.
 */
import type { Socket } from "bun";
import { sleep } from "../harness/eventually.ts";
import { answerIn } from "./answers.ts";
import { quantile } from "./figures.ts";
import type { LoadPlan, LoadResult } from "./load.ts";
import { cpuSeconds } from "./machine.ts";
import { makeRequests } from "./requests.ts";

/** The client's own first requests are slow ones, and so are the service's on new connections. */
const leadInMs = 300;
/** What is not answered so long after the end has failed. */
const patienceMs = 10_000;

type Connection = {
  socket: Socket<Connection> | null;
  /** When the request that is under way was sent or due; null when none is. */
  sinceMs: number | null;
  /** What the socket has not taken yet of the request. */
  unsent: Buffer | null;
  received: Buffer | null;
};

const plan = JSON.parse(process.argv[2] ?? "") as LoadPlan;
const { hostname, port } = new URL(plan.url);
const requests = makeRequests(plan);
let next = 0;

const idle: Connection[] = [];
/** When requests were due that wait for a connection. */
const waiting: number[] = [];
const latenciesMs: number[] = [];
const statuses: Record<string, number> = {};
let broken = 0;
let underWay = 0;
/** Set by the end of the lead-in; what is answered before and after the end is not counted. */
let isCounted = false;
let isOver = false;

async function open(): Promise<Connection> {
  const connection: Connection = { socket: null, sinceMs: null, unsent: null, received: null };
  connection.socket = await Bun.connect<Connection>({
    hostname,
    port: Number(port),
    data: connection,
    socket: {
      data: (socket, chunk) => receive(socket.data, chunk),
      drain: (socket) => flush(socket.data),
      close: (socket) => lose(socket.data),
      error: (socket) => lose(socket.data),
    },
  });
  return connection;
}

/** Another connection in place of one that ends: the service deals them out anew when its load changes. */
async function replace({ socket }: Connection): Promise<Connection> {
  socket?.end();
  return open();
}

function dispatch(sinceMs: number): void {
  const connection = idle.pop();
  if (connection === undefined) waiting.push(sinceMs);
  else send(connection, sinceMs);
}

function send(connection: Connection, sinceMs: number): void {
  next = (next + 1) % requests.length;
  connection.sinceMs = sinceMs;
  connection.unsent = requests[next] ?? null;
  underWay++;
  flush(connection);
}

function flush(connection: Connection): void {
  const { socket, unsent } = connection;
  if (socket === null || unsent === null) return;
  const taken = socket.write(unsent);
  connection.unsent = taken >= unsent.length ? null : unsent.subarray(Math.max(0, taken));
}

function receive(connection: Connection, chunk: Buffer): void {
  const { received } = connection;
  const all = received === null ? chunk : Buffer.concat([received, chunk]);
  const answer = answerIn(all);
  if (answer === null) {
    // The runtime uses the chunk's memory again.
    connection.received = received === null ? Buffer.from(chunk) : all;
    return;
  }
  connection.received = null;
  finish(connection, answer);
}

function finish(connection: Connection, { status, isLast }: { status: string; isLast: boolean }): void {
  const nowMs = performance.now();
  if (isCounted) {
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status === "200") latenciesMs.push(nowMs - (connection.sinceMs ?? nowMs));
  }
  underWay--;
  connection.sinceMs = null;
  if (isLast) void replace(connection).then(goOn);
  else goOn(connection);
}

/** The next request at once; at a steady rate the one that has waited longest, or none. */
function goOn(connection: Connection): void {
  if (plan.perSecond === undefined) {
    if (!isOver) send(connection, performance.now());
    return;
  }
  const sinceMs = waiting.shift();
  if (sinceMs === undefined) idle.push(connection);
  else send(connection, sinceMs);
}

/** A connection that was closed while it owed an answer: that request failed. */
function lose(connection: Connection): void {
  if (connection.socket === null) return;
  connection.socket = null;
  const place = idle.indexOf(connection);
  if (place >= 0) idle.splice(place, 1);
  if (connection.sinceMs === null) return;
  connection.sinceMs = null;
  underWay--;
  broken++;
}

/** Sends what is due until the end. */
async function keepRate(perSecond: number, endMs: () => number): Promise<void> {
  const startMs = performance.now();
  for (let sent = 0; performance.now() < endMs(); await sleep(1)) {
    const nowMs = performance.now();
    // Counted from now, not from when it was due: how late the client's own timer is says nothing of the service.
    for (; startMs + (sent * 1000) / perSecond <= nowMs; sent++) dispatch(nowMs);
  }
}

async function untilAnswered(): Promise<void> {
  const endMs = performance.now() + patienceMs;
  while (underWay + waiting.length > 0 && performance.now() < endMs) await sleep(10);
  broken += underWay + waiting.length;
}

/** Processor time that the client and what it calls have used, in seconds. */
function cpuNow(): { client: number; server: number } {
  const { user, system } = process.cpuUsage();
  return { client: (user + system) / 1e6, server: cpuSeconds(plan.pid) };
}

idle.push(...(await Promise.all(Array.from({ length: plan.connections }, open))));
let endMs = performance.now() + leadInMs + plan.seconds * 1000;
const { promise: toldToEnd, resolve: end } = Promise.withResolvers<void>();
process.on("SIGTERM", () => {
  endMs = performance.now();
  end();
});
let countedFromMs = 0;
let cpuBefore = cpuNow();
const leadIn = sleep(leadInMs).then(() => {
  isCounted = true;
  countedFromMs = performance.now();
  cpuBefore = cpuNow();
});
if (plan.perSecond === undefined) {
  for (const connection of idle) send(connection, performance.now());
  await Promise.race([sleep(leadInMs + plan.seconds * 1000), toldToEnd]);
} else await keepRate(plan.perSecond, () => endMs);
await leadIn;
isOver = true;
const seconds = (performance.now() - countedFromMs) / 1000;
const cpu = cpuNow();
// At a steady rate the slowest ones are waited for, or they would be missing from the latencies.
if (plan.perSecond === undefined) isCounted = false;
await untilAnswered();
const result: LoadResult = {
  statuses,
  broken,
  seconds,
  p50Ms: quantile(latenciesMs, 0.5),
  p99Ms: quantile(latenciesMs, 0.99),
  clientCpuSeconds: cpu.client - cpuBefore.client,
  serverCpuSeconds: cpu.server - cpuBefore.server,
};
process.stdout.write(`LOAD ${JSON.stringify(result)}\n`);
process.exit();
