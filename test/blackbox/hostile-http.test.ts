/** Malformed, oversized, slow and aborted requests, on both ports and on every runtime. */
import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { programWords } from "../harness/program.ts";
import { openClient, type RawClient, rawGet } from "../harness/raw-client.ts";
import { teachers } from "./registry.ts";
import { api, type Partner, sharedWorld } from "./world.ts";

const world = sharedWorld({
  rows: [teachers.valid],
  args: ["--public-per-minute", "100000"],
  isTls: true,
});
const isOnDeno = programWords.some((word) => /\bdeno$/.test(word));
let partner: Partner;
/** The slow connections are opened first and checked last, because the service closes them after ten seconds. */
let slowClients: Promise<string[][]>;
let ports: { name: string; port: number; tls: boolean }[];

beforeAll(async () => {
  partner = await world.partner();
  const { url, tlsUrl } = world.service();
  ports = [
    { name: "plain", port: Number(new URL(url).port), tls: false },
    { name: "TLS", port: Number(new URL(tlsUrl).port), tls: true },
  ];
  slowClients = Promise.all([answersTo(""), answersTo(`${lookup}X: `, (client) => client.drip())]);
  // Without this handler a rejection before the test that awaits the promise would end the process.
  slowClients.catch(() => {});
});

const lookup = "GET /teacher/verify-license?searchTerm=1 HTTP/1.1\r\n";
const health = `GET ${api}/health HTTP/1.1\r\n`;
const host = "Host: verify.example.gov\r\n";
const close = "Connection: close\r\n";

/** Writes to each port. @returns everything that the service sent before it closed the connection */
async function answersTo(text: string, act: (client: RawClient) => void = () => {}): Promise<string[]> {
  return Promise.all(
    ports.map(async (port) => {
      const client = await openClient(port);
      client.write(text);
      act(client);
      return client.closed;
    }),
  );
}

const check = (headers: string, body: string, version = "1.1") =>
  `POST ${api}/eligibility-check HTTP/${version}\r\nAuthorization: Bearer ${partner.apiKey}\r\n${headers}\r\n${body}`;

const statusesIn = (answers: string) =>
  [...answers.matchAll(/HTTP\/1\.1 (\d+) /g)].map((match) => Number(match[1]));

const keep = "Connection: keep-alive\r\n";
const expects = (what: string, length = 2) =>
  `Expect: ${what}\r\n${length === 0 ? "" : `Content-Length: ${length}\r\n`}`;
const chunked = "Transfer-Encoding: chunked\r\n";
const pieces = "2\r\n{}\r\n0\r\n\r\n";

/**
 * The statuses on both ports, including that of the request after the hostile one, which asks to close. The manual's page
 * `limits` has the differences on Deno.
 */
test.each<[what: string, statuses: number[], request: () => string, onDeno?: number[]]>([
  [
    "two Content-Length headers",
    [400],
    () => check(`${host}Content-Length: 2\r\nContent-Length: 3\r\n`, "{}"),
  ],
  [
    "Content-Length and chunked encoding",
    [400],
    () => check(`${host}Content-Length: 2\r\n${chunked}`, pieces),
  ],
  ["a Content-Length that is not a number", [400], () => check(`${host}Content-Length: 2x\r\n`, "{}")],
  ["malformed chunks", [400], () => check(`${host}${chunked}`, "zz\r\n{}\r\n0\r\n\r\n")],
  ["chunked encoding in HTTP/1.0", [400], () => check(`${host}${keep}${chunked}`, pieces, "1.0"), [400, 200]],
  [
    "another transfer coding before chunked",
    [400],
    () => check(`${host}Transfer-Encoding: gzip, chunked\r\n`, pieces),
    [400, 200],
  ],
  ["no Host header", [400], () => `${lookup}\r\n`],
  ["a malformed Host header", [400, 200], () => `${lookup}Host: a b\r\n\r\n`],
  ["a folded header", [400], () => `${lookup}${host}X: a\r\n b\r\n\r\n`],
  ["a space before the colon", [400], () => `${lookup}${host}X : a\r\n\r\n`],
  ["a NUL in a header", [400], () => `${lookup}${host}X: a\0b\r\n\r\n`],
  ["no HTTP request line", [400], () => "nonsense\r\n\r\n"],
  [
    "an HTTP/2.0 request line without TLS",
    [505],
    () => `${lookup.replace("HTTP/1.1", "HTTP/2.0")}${host}\r\n`,
    [400],
  ],
  ["40 kB of headers", [431], () => `${lookup}${host}X: ${"x".repeat(40_000)}\r\n\r\n`],
  ["300 headers", [431], () => `${lookup}${host}${"X: a\r\n".repeat(300)}\r\n`, [200, 200]],
])("a malformed request with %s gets status %p", async (_what, statuses, request, onDeno = statuses) => {
  for (const answers of await answersTo(`${request()}${health}${host}${close}\r\n`))
    expect(statusesIn(answers)).toEqual(isOnDeno ? onDeno : statuses);
});

test.each<[what: string, statuses: number[], request: () => string, onDeno?: number[]]>([
  ["the Host header localhost", [200], () => `${lookup}Host: localhost\r\n${close}\r\n`],
  [
    "no Host header in HTTP/1.0, as health probes send it",
    [200],
    () => `${lookup.replace("1.1", "1.0")}\r\n`,
  ],
  [
    "two Host headers, which no answer depends on",
    [200],
    () => `${lookup}${host}Host: other.example\r\n${close}\r\n`,
  ],
  [
    "a body after Expect: 100-continue",
    [100, 400],
    () => check(`${host}${close}${expects("100-continue")}`, "{}"),
  ],
  ["another Expect header", [400], () => check(`${host}${close}${expects("magic")}`, "{}"), [417]],
])("an unusual request with %s gets the statuses %p", async (_what, statuses, request, onDeno = statuses) => {
  for (const answers of await answersTo(request()))
    expect(statusesIn(answers)).toEqual(isOnDeno ? onDeno : statuses);
});

const part = `10000\r\n${"a".repeat(65_536)}\r\n`;
test.each([
  ["with its length", () => check(`${host}${close}Content-Length: 300000\r\n`, "x".repeat(300_000))],
  ["in pieces", () => check(`${host}${close}${chunked}`, `${part.repeat(5)}0\r\n\r\n`)],
])("a request body above 256 KiB %s gets 413 with the contract's error body", async (_how, request) => {
  for (const answers of await answersTo(request())) {
    expect(statusesIn(answers)).toEqual([413]);
    expect(answers).toMatch(/^x-error-code: BODY_TOO_LARGE\r$/im);
    expect(answers).toContain('"statusCode":413,"message":"the body must be at most 262144 bytes"');
  }
});

test.each([
  ["with its length", () => check(`${host}${close}Content-Length: 2000000\r\n`, "{}")],
  ["in pieces", () => check(`${host}${close}${chunked}`, `${part.repeat(20)}0\r\n\r\n`)],
])("a request body above a mebibyte %s is never answered with 200", async (_how, request) => {
  for (const answers of await answersTo(request())) expect(statusesIn(answers)).not.toContain(200);
});

test("a client that breaks off its request body causes no error in the service's log", async () => {
  for (const port of ports) {
    const client = await openClient(port);
    client.write(check(`${host}Content-Length: 100\r\n${expects("100-continue", 0)}`, ""));
    await client.receives("100 Continue");
    client.write('{"identifier":');
    client.socket.destroy();
  }
  expect(statusesIn((await answersTo(`${health}${host}${close}\r\n`)).join())).toEqual([200, 200]);
  expect(world.service().stderr()).not.toContain('"level":"ERROR"');
});

test("pipelined requests are dropped with their connection on Bun, and all answered on Deno", async () => {
  const good = check(`${host}Content-Length: 2\r\n`, "{}");
  for (const answers of await answersTo(`${good.repeat(50)}${health}${host}${close}\r\n`))
    expect(statusesIn(answers)).toEqual(isOnDeno ? [...new Array(50).fill(400), 200] : []);
});

test("unread answers are not held in memory on Bun, and do not delay other clients", async () => {
  const memory = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${world.service().pid}/status`, "utf8"))?.[1]);
  await world.get(`${api}/docs/scalar.js`);
  const before = memory();
  const clients = await Promise.all(
    ports.flatMap((port) => Array.from({ length: 100 }, () => openClient(port))),
  );
  for (const client of clients) {
    client.socket.pause();
    client.write(rawGet(`${api}/docs/scalar.js`));
  }
  expect(statusesIn((await answersTo(`${health}${host}${close}\r\n`)).join())).toEqual([200, 200]);
  // Each answer is a megabyte and more.
  if (!isOnDeno) expect(memory() - before).toBeLessThan(100 * 1024);
  for (const { socket } of clients) socket.destroy();
});

test.each<[string, string, () => string]>([
  ["an API answer", "200", () => `${lookup}${host}${close}\r\n`],
  ["a page", "200", () => `GET / HTTP/1.1\r\n${host}${close}\r\n`],
  ["a path that does not exist", "404", () => `GET /nothing HTTP/1.1\r\n${host}${close}\r\n`],
])("Strict-Transport-Security is sent over TLS only: %s", async (_name, status, request) => {
  const [plain = "", secure = ""] = await answersTo(request());
  expect(plain).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(secure).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(plain.toLowerCase()).not.toContain("strict-transport-security");
  expect(secure.toLowerCase().split("strict-transport-security: max-age=31536000\r\n")).toHaveLength(2);
});

test("a connection is closed if it sends nothing, or sends its request head too slowly", async () => {
  for (const statuses of (await slowClients).flat().map(statusesIn))
    expect([[], [408]]).toContainEqual(statuses);
}, 60_000);
