import { afterEach, describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { Worker } from "node:worker_threads";
import { openLibrary } from "../../src/foreign.ts";
import { type Listener, type ListenOptions, listen } from "../../src/http/listen.ts";
import { openSteering } from "../../src/http/port-steering.ts";
import { makeCertificate } from "../harness/certificates.ts";
import { rejection } from "../harness/rejection.ts";

const { certPem: cert, keyPem: key } = await makeCertificate({ commonName: "localhost" });
const host = "127.0.0.1";
const app = { pages: { fetch: () => new Response("main", { headers: { Connection: "close" } }) } };

const listeners: Listener[] = [];
const workers: Worker[] = [];
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.terminate()));
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
});

async function open(options: Omit<ListenOptions, "host">): Promise<Listener> {
  const listener = await listen(app, { host, ...options });
  listeners.push(listener);
  return listener;
}

/** Starts a thread that listens beside. @returns what it says: that it listens, or why not */
const inUse = expect.stringContaining(" is in use: ");

async function openBeside(ports: object): Promise<string> {
  const entry = new URL("./shared-port-thread.ts", import.meta.url);
  const worker = new Worker(entry, { workerData: { host, ...ports } });
  workers.push(worker);
  return new Promise((resolve) => worker.once("message", resolve));
}

/** Who answers, of very many connections. */
async function answering(url: string): Promise<string[]> {
  const seen = new Set<string>();
  for (let n = 0; n < 200 && seen.size < 2; n++) {
    const answer = await fetch(url, { tls: { rejectUnauthorized: false }, keepalive: false });
    seen.add(await answer.text());
  }
  return [...seen].sort();
}

describe("a port that two threads share", () => {
  test("gives each of them some of the connections, over HTTP and over TLS", async () => {
    const { port, tlsPort } = await open({ port: 0, tls: { port: 0, cert, key }, sharing: "first" });
    expect(await openBeside({ port, tls: { port: tlsPort, cert, key } })).toBe("listening");
    expect(await answering(`http://${host}:${port}/`)).toEqual(["main", "thread"]);
    expect(await answering(`https://${host}:${tlsPort}/`)).toEqual(["main", "thread"]);
  });

  test("gives all of them to the first where that is wanted, and to both again", async () => {
    const { port, tlsPort } = await open({ port: 0, tls: { port: 0, cert, key }, sharing: "first" });
    const steer = await openSteering([port, tlsPort ?? 0]);
    expect(await openBeside({ port, tls: { port: tlsPort, cert, key } })).toBe("listening");
    for (const url of [`http://${host}:${port}/`, `https://${host}:${tlsPort}/`]) {
      steer?.("first");
      expect(await answering(url)).toEqual(["main"]);
      steer?.("all");
      expect(await answering(url)).toEqual(["main", "thread"]);
    }
  });

  test("is steered by a library of the system alone, never by one of the folder that the program is started in", async () => {
    for (const file of ["libc.so.6", "./libc.so.6", ""])
      expect(await rejection(openLibrary(file, {}))).toMatchObject({
        message: "a library is opened by its whole path",
      });
  });

  test("that this process does not listen on is left alone", async () => {
    const { port, close } = await open({ port: 0, sharing: "first" });
    await close();
    expect(await openSteering([port])).toBeNull();
  });

  test("is busy for another service that would share it too, and for one that would not", async () => {
    const { port } = await open({ port: 0, sharing: "first" });
    for (const sharing of ["first", "alone"] as const) {
      const error = await rejection(open({ port, sharing }));
      expect(error).toMatchObject({ code: "REFUSED", message: inUse });
    }
  });

  test("is not taken from a program that listens there alone", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, host, resolve));
    const { port } = other.address() as { port: number };
    expect(await rejection(open({ port, sharing: "first" }))).toMatchObject({
      code: "REFUSED",
      message: inUse,
    });
    expect(await openBeside({ port })).toEqual(inUse);
    other.close();
  });
});
