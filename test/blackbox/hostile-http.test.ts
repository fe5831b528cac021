/** What comes in over the network and is no request that anybody should answer: on both ports, on every runtime. */
import { beforeAll, describe, expect, test } from "bun:test";
import { eventually, until } from "../harness/eventually.ts";
import { roomInMinute } from "../harness/program.ts";
import { openClient } from "../harness/raw-client.ts";
import { teachers } from "./registry.ts";
import { api, createWorld, type Partner, sharedWorld } from "./world.ts";

const world = sharedWorld({
  rows: [teachers.valid],
  args: ["--admin-port", "0", "--public-per-minute", "100000"],
  isTls: true,
});
let partner: Partner;
/** Of each node. */
let consoleUrls: string[];
let ports: { name: string; port: number; tls: boolean }[];

beforeAll(async () => {
  partner = await world.partner();
  const { url, tlsUrl } = world.service();
  ports = [
    { name: "plain", port: Number(new URL(url).port), tls: false },
    { name: "TLS", port: Number(new URL(tlsUrl).port), tls: true },
  ];
  const consoles = () => [
    ...world
      .service()
      .stdout()
      .matchAll(/^console (http:\/\/[^/]+)/gm),
  ];
  const services = () =>
    world
      .service()
      .stdout()
      .match(/^listening on http:/gm)?.length;
  await until(() => consoles().length === services());
  consoleUrls = consoles().map(([, url = ""]) => url);
});

const lookup = "GET /teacher/verify-license?searchTerm=1 HTTP/1.1\r\n";
const health = `GET ${api}/health HTTP/1.1\r\n`;
const host = "Host: verify.example.gov\r\n";
const form = "Content-Type: application/x-www-form-urlencoded\r\n";

/** Writes to each port and resolves with all that came back until the service closed the connection. */
async function answersTo(text: string): Promise<string[]> {
  return Promise.all(
    ports.map(async (port) => {
      const client = await openClient(port);
      client.write(text);
      return client.closed;
    }),
  );
}

const check = (headers: string, body: string, version = "1.1") =>
  `POST ${api}/eligibility-check HTTP/${version}\r\nAuthorization: Bearer ${partner.apiKey}\r\n${headers}\r\n${body}`;

/** A request that is answered all the same is seen by the answer to the one behind it. */
describe("a head that can be read in two ways is 400, on both ports, and ends the connection", () => {
  test.each<[string, () => string]>([
    ["two hosts", () => `${lookup}${host}Host: other.example\r\n\r\n`],
    ["one host twice", () => `${lookup}${host}${host}\r\n`],
    ["two hosts, of a page", () => `${health}${host}host: other.example\r\n\r\n`],
    ["two hosts with a body", () => check(`${host}${host}Content-Length: 2\r\n`, "{}")],
    ["no host", () => `${lookup}\r\n`],
    ["two lengths", () => check(`${host}Content-Length: 2\r\nContent-Length: 3\r\n`, "{}")],
    ["one length twice", () => check(`${host}Content-Length: 2\r\nContent-Length: 2\r\n`, "{}")],
    ["one length twice, without a body", () => `${health}${host}${"Content-Length: 0\r\n".repeat(2)}\r\n`],
    ["a length and pieces", () => check(`${host}Content-Length: 2\r\n${chunked}`, pieces)],
    ["pieces in HTTP/1.0", () => check(`${host}Connection: keep-alive\r\n${chunked}`, pieces, "1.0")],
    ["another coding", () => check(`${host}Transfer-Encoding: gzip, chunked\r\n`, pieces)],
    ["HTTP/2 in clear", () => `${lookup.replace("HTTP/1.1", "HTTP/2.0")}${host}\r\n`],
  ])("%s", async (_name, request) => {
    for (const answer of await answersTo(`${request()}${health}${host}Connection: close\r\n\r\n`)) {
      expect(answer).toStartWith("HTTP/1.1 400 ");
      expect(answer).toEndWith('{"statusCode":400,"message":"the request is not valid HTTP"}');
    }
  });

  test("after the answers to the requests before it", async () => {
    const body = JSON.stringify({ identifier: { tId: 1 }, purpose: "GENERAL_PUBLIC_VERIFICATION" });
    const good = check(`${host}Content-Length: ${body.length}\r\n`, body);
    for (const answers of await answersTo(`${good}${good}${lookup}${host}${host}\r\n`)) {
      const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d+) /g)].map((match) => match[1]);
      expect(statuses).toEqual(["200", "200", "400"]);
    }
  });
});

const chunked = "Transfer-Encoding: chunked\r\n";
const pieces = "2\r\n{}\r\n0\r\n\r\n";

describe("Strict-Transport-Security", () => {
  const close = "Connection: close\r\n";
  test.each<[string, string, () => string]>([
    ["an answer", "200", () => `${lookup}${host}${close}\r\n`],
    ["a page", "200", () => `GET / HTTP/1.1\r\n${host}${close}\r\n`],
    [
      "no credential",
      "401",
      () => `POST ${api}/batch HTTP/1.1\r\n${host}Content-Length: 2\r\n${close}\r\n{}`,
    ],
    ["no such address", "404", () => `GET /nothing HTTP/1.1\r\n${host}${close}\r\n`],
    ["two hosts", "400", () => `${lookup}${host}${host}${close}\r\n`],
    ["no HTTP", "400", () => "nonsense\r\n\r\n"],
    ["an unknown expectation", "417", () => `${lookup}${host}Expect: magic\r\n${close}\r\n`],
    ["a head too large", "431", () => `${lookup}${host}X: ${"x".repeat(40_000)}\r\n\r\n`],
  ])("is said over TLS alone: %s", async (_name, status, request) => {
    const [plain = "", secure = ""] = await answersTo(request());
    expect(plain).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(secure).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(plain.toLowerCase()).not.toContain("strict-transport-security");
    expect(secure.toLowerCase().split("strict-transport-security: max-age=31536000\r\n")).toHaveLength(2);
  });
});

/** How often requests were answered with a status, by the service's own count. */
async function counted(statuses: RegExp): Promise<number> {
  const texts = await Promise.all(consoleUrls.map(async (url) => (await fetch(`${url}/metrics`)).text()));
  const lines = texts
    .flatMap((text) => text.split("\n"))
    .filter((line) => line.startsWith("tvs_http_requests_total{"));
  const matching = lines.filter((line) => statuses.test(/status="(\d+)"/.exec(line)?.[1] ?? ""));
  return matching.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

describe("a body that does not come to its end", () => {
  const paths = ["/", `${api}/lookup/by-nin`, `${api}/eligibility-check`, `${api}/batch`];
  const head = (path: string, rest: string) =>
    `POST ${path} HTTP/1.1\r\n${host}${form}Authorization: Bearer ${partner.apiKey}\r\n${rest}\r\n`;
  const shapes: [string, (path: string) => string][] = [
    ["is shorter than declared", (path) => `${head(path, "Content-Length: 100\r\n")}abc`],
    ["stops between two pieces", (path) => `${head(path, chunked)}3\r\nabc\r\n`],
    ["has a piece without a size", (path) => `${head(path, chunked)}3\r\nabc\r\nzz\r\n`],
  ];

  test.each(shapes)("is counted as 400 and not logged when it %s", async (_name, request) => {
    const [before, logged] = [await counted(/^400$/), world.service().stderr().length];
    const expected = before + paths.length * ports.length;
    for (const path of paths) {
      for (const port of ports) {
        const client = await openClient(port);
        client.write(request(path));
        client.socket.end();
        // Where half of the connection still listens, it hears 400.
        expect((await client.closed).replace(/^HTTP\/1\.1 400 .*/s, "")).toBe("");
      }
    }
    const isCounted = async () => (await counted(/^400$/)) === expected;
    expect(await eventually(isCounted, 5_000)).toBe(true);
    expect(await counted(/^5/)).toBe(0);
    const told = world.service().stderr().slice(logged).split("\n");
    expect(told.filter((line) => /"level":"(?!INFO)|request failed|broke off/.test(line))).toEqual([]);
  });

  test("is not even read on the page when its address has no lookup left", async () => {
    // By a service of its own: this address would have none left for the other tests.
    const own = await createWorld({ rows: [teachers.valid], args: ["--public-per-minute", "1"] });
    try {
      await roomInMinute();
      // Several nodes have one each: enough connections find all of them.
      const ask = () => own.get("/teacher/verify-license?searchTerm=1", { Connection: "close" });
      const statuses = (await Promise.all(Array.from({ length: 12 }, ask))).map(({ status }) => status);
      expect(new Set(statuses)).toEqual(new Set([200, 429]));
      const client = await openClient({ port: Number(new URL(own.service().url).port), tls: false });
      client.write(`${head("/", "Content-Length: 100\r\n")}abc`);
      expect(await client.receives("HTTP/1.1 ")).toStartWith("HTTP/1.1 429 ");
      client.socket.destroy();
    } finally {
      await own.end();
    }
  });
});
