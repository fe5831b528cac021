/** What comes in over the network and is no request that anybody should answer: on both ports, on every runtime. */
import { beforeAll, describe, expect, test } from "bun:test";
import { openClient } from "../harness/raw-client.ts";
import { teachers } from "./registry.ts";
import { api, type Partner, sharedWorld } from "./world.ts";

const world = sharedWorld({
  rows: [teachers.valid],
  args: ["--public-per-minute", "100000"],
  isTls: true,
});
let partner: Partner;
let ports: { name: string; port: number; tls: boolean }[];

beforeAll(async () => {
  partner = await world.partner();
  const { url, tlsUrl } = world.service();
  ports = [
    { name: "plain", port: Number(new URL(url).port), tls: false },
    { name: "TLS", port: Number(new URL(tlsUrl).port), tls: true },
  ];
});

const lookup = "GET /teacher/verify-license?searchTerm=1 HTTP/1.1\r\n";
const health = `GET ${api}/health HTTP/1.1\r\n`;
const host = "Host: verify.example.gov\r\n";

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
