/** What a stranger asks for and does not read: a service's memory is not the place where it waits. */
import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { get, openClient, type RawClient } from "../harness/raw-client.ts";
import { api, sharedWorld } from "./world.ts";

const script = `${api}/docs/scalar.js`;
const health = `${api}/health`;
/** Each took gigabytes when it was answered into memory. */
const mostMegabytes = 500;

const world = sharedWorld({ rows: [], isTls: true });
let ports: Readonly<Record<"plain" | "TLS", { port: number; tls: boolean }>>;

beforeAll(async () => {
  const { url, tlsUrl } = world.service();
  ports = {
    plain: { port: Number(new URL(url).port), tls: false },
    TLS: { port: Number(new URL(tlsUrl).port), tls: true },
  };
  for (const path of [script, health]) await answered(path);
});

/** Asks on a connection of its own, and reads the whole answer. */
async function answered(path: string): Promise<string> {
  const client = await openClient(ports.plain);
  client.write(get(path, "Connection: close"));
  return client.closed;
}

/** Connections that were written to, and take nothing. */
async function unread(on: keyof typeof ports, text: string, connections = 1): Promise<RawClient[]> {
  const opened: RawClient[] = [];
  for (let count = 0; count < connections; count++) {
    const client = await openClient(ports[on]);
    client.socket.pause();
    client.write(text);
    opened.push(client);
  }
  return opened;
}

function residentMegabytes(): number {
  const status = readFileSync(`/proc/${world.service().pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

describe.skipIf(process.platform !== "linux")("beside what nobody reads", () => {
  test.each<["plain" | "TLS", string, string, number]>([
    ["plain", "3,000 times the largest file on one connection", get(script).repeat(3_000), 1],
    ["TLS", "3,000 times the largest file on one connection", get(script).repeat(3_000), 1],
    ["plain", "the largest file sixteen times on each of 300 connections", get(script).repeat(16), 300],
    ["TLS", "the largest file sixteen times on each of 100 connections", get(script).repeat(16), 100],
    ["plain", "20,000 small answers", get(health).repeat(20_000), 1],
    ["TLS", "20,000 small answers", get(health).repeat(20_000), 1],
  ])("the service answers others and stays small: %s, %s", async (on, _what, text, connections) => {
    const before = residentMegabytes();
    const clients = await unread(on, text, connections);
    let most = before;
    for (let time = 0; time < 20; time++) {
      expect(await answered(health)).toStartWith("HTTP/1.1 200");
      most = Math.max(most, residentMegabytes());
    }
    for (const { socket } of clients) socket.destroy();
    expect(most - before).toBeLessThan(mostMegabytes);
  });
});
