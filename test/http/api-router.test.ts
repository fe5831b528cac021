import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createApi } from "../../src/http/api-router.ts";
import { type Listener, listen } from "../../src/http/listen.ts";
import type { App } from "../../src/http/request-listener.ts";
import { openClient } from "../harness/raw-client.ts";
import { known, openTestService, type TestService } from "../harness/service.ts";

let world: TestService;
let listener: Listener;

beforeAll(async () => {
  world = await openTestService();
  listener = await listen(world.app, { host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  await listener.close();
  await world.close();
});

const lookupPath = "/teacher/verify-license";
const checkPath = "/v1/inter-agency/eligibility-check";
const byRegNo = "/v1/inter-agency/lookup/by-reg-no";
const byTId = "/v1/inter-agency/lookup/by-tid";
const question = JSON.stringify({
  identifier: { regNo: known.regNo },
  purpose: "GENERAL_PUBLIC_VERIFICATION",
});
const host = "Host: a.example\r\n";

/** What comes back for bytes as they are: a client of HTTP would tidy them up. */
async function answersTo(...bytes: string[]): Promise<string> {
  const client = await openClient({ port: listener.port });
  for (const text of bytes) client.write(text);
  return client.closed;
}

const credential = () => `Authorization: Bearer ${world.keyOf("full")}\r\n`;

async function ask(method: string, target: string, { headers = `${host}${credential()}`, body = "" } = {}) {
  const answer = await answersTo(
    `${method} ${target} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n${body}`,
  );
  const [head = "", text = ""] = answer.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), head, text };
}

const post = (body: string, headers = "") => ({
  headers: `${host}${credential()}${headers}Content-Length: ${body.length}\r\n`,
  body,
});

describe("an address is read in one way", () => {
  test.each<[target: string, status: number, text: string]>([
    [`${byRegNo}/${encodeURIComponent(known.regNo)}`, 200, '"found":true'],
    [`${byRegNo}/${known.regNo}`, 200, '"found":true'],

    [`${byRegNo}/LA//PRI/04417`, 400, "four segments"],
    [`${byRegNo}/${known.regNo}/`, 400, "four segments"],
    [`${byRegNo}/${known.regNo}?regNo=x`, 200, '"found":true'],
    [`${byRegNo}/LA%252F2019%252FPRI%252F04417`, 400, "four segments"],
    [`${byRegNo}/%E0%A4%A`, 400, "regNo must be percent-encoded UTF-8"],

    [`${byRegNo}/LA/2019/PRI/..`, 400, "four segments"],
    [`${byTId}/${known.tId}`, 200, '"found":true'],
    [`${byTId}/99`, 200, '"found":false'],
    [`${byTId}/1%2F2`, 400, "tId must be"],
    [`${byTId}/99999999999999999999`, 400, "tId must be"],

    [`${byTId}/%D9%A1%D9%A2`, 400, "tId must be"],
    [`${byTId}/../by-tid/204417`, 200, '"found":true'],

    [`${byTId}/%2e%2e/by-tid/204417`, 200, '"found":true'],
    [`http://b.example${byTId}/204417`, 200, '"found":true'],
    [`${byTId}/204417#x`, 200, '"found":true'],
    [`${byTId}/204417;x=1`, 400, "tId must be"],
    [`${byTId}\\204417`, 400, "not valid HTTP"],
    [`/${byTId}/204417`, 404, "no such path"],
    [`${byTId}/7/8`, 404, "no such path"],
    [`${byTId}/`, 404, "no such path"],
    [byTId, 404, "no such path"],
    ["/teacher/verify%2Dlicense?searchTerm=7", 200, '"found":true'],
    [`${lookupPath}?searchTerm=LA%2F2019%2FPRI%2F04417+`, 200, '"found":true'],
    [`${lookupPath}?x=1&searchTerm=204417&searchTerm=99`, 200, '"found":true'],
    [`${lookupPath}?searchTerm=%E0%A4%A`, 200, '"found":false'],
    [`${lookupPath}?searchTerm`, 400, "searchTerm is required"],
  ])("%s", async (target, status, text) => {
    const answer = await ask("GET", target);
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(text)]);
  });

  test.each(["a.example:8443", "[::1]:80", "a_b.example", "verify.example.gov.", "a!b"])(
    "whatever the host is called: %s",
    async (name) => {
      const headers = `Host: ${name}\r\n${credential()}`;
      expect((await ask("GET", `${byTId}/7`, { headers })).status).toBe(200);
    },
  );

  test("HEAD has the head of GET, and another method is refused", async () => {
    const head = await ask("HEAD", `${lookupPath}?searchTerm=7`);
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.head.toLowerCase()).toContain("content-type: application/json");
    const refused = await ask("DELETE", `${byTId}/7`);
    expect([refused.status, refused.head]).toEqual([405, expect.stringMatching(/^allow: GET, HEAD\r$/im)]);
    expect((await ask("GET", checkPath)).status).toBe(405);
  });
});

test.each([
  ["the good one first", () => [world.keyOf("full"), "nobody's"]],
  ["the good one last", () => ["nobody's", world.keyOf("full")]],
])("two credentials in one request are none: %s", async (_name, keys) => {
  const names = ["Authorization", "authorization"];
  const headers =
    host +
    keys()
      .map((key, at) => `${names[at]}: Bearer ${key}\r\n`)
      .join("");
  expect((await ask("GET", `${byTId}/7`, { headers })).status).toBe(401);
});

describe("a body", () => {
  const pieces = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

  test.each([
    ["with its length", () => post(question)],
    [
      "in pieces",
      () => ({ headers: `${host}${credential()}Transfer-Encoding: chunked\r\n`, body: pieces(question) }),
    ],
  ])("is read, %s", async (_name, init) => {
    const { status, text } = await ask("POST", checkPath, init());
    expect([status, text]).toEqual([200, expect.stringContaining('"found":true')]);
  });

  test.each([
    ["with its length", () => post("x".repeat(300_000))],
    [
      "in pieces",
      () => ({
        headers: `${host}${credential()}Transfer-Encoding: chunked\r\n`,
        body: pieces("x".repeat(300_000)),
      }),
    ],
  ])("that is too large is 413, %s", async (_name, init) => {
    expect((await ask("POST", checkPath, init())).status).toBe(413);
  });

  test("that nobody reads passes, and the connection goes on; one without end ends it", async () => {
    const unread = (body: string) =>
      `POST ${checkPath} HTTP/1.1\r\n${host}Content-Length: ${body.length}\r\n\r\n${body}`;
    const next = `GET ${lookupPath}?searchTerm=204417 HTTP/1.1\r\n${host}Connection: close\r\n\r\n`;
    const answers = await answersTo(unread("x".repeat(100_000)) + next);
    expect(answers).toStartWith("HTTP/1.1 401 ");
    expect(answers).toContain('"found":true');
    const endless = await answersTo(
      `POST ${checkPath} HTTP/1.1\r\n${host}Content-Length: 99999999\r\n\r\n`,
      ...Array.from({ length: 40 }, () => "x".repeat(50_000)),
    );
    expect(endless).toStartWith("HTTP/1.1 401 ");
  });
});

test("a connection is ended when an answer cannot be written, and the service goes on", async () => {
  const handler = async () => ({ status: 200, headers: { "X-Broken": "a\nb" }, body: "{}" });
  const route = { method: "GET", path: lookupPath, routerPath: lookupPath, handler };
  const api = createApi([route], { issuer: () => "" });
  const broken = await listen({ api, pages: world.app.pages }, { host: "127.0.0.1", port: 0 });
  try {
    const client = await openClient({ port: broken.port });
    client.write(`GET ${lookupPath} HTTP/1.1\r\n${host}\r\n`);
    expect(await client.closed).toBe("");
    expect((await fetch(`${broken.url}/v1/inter-agency/health`)).status).toBe(200);
  } finally {
    await broken.close();
  }
});

test("a request that comes before there is an app waits for it", async () => {
  const opening = Promise.withResolvers<App>();
  const early = await listen(opening.promise, { host: "127.0.0.1", port: 0 });
  try {
    const headers = { Authorization: `Bearer ${world.keyOf("full")}` };
    const asked = [
      fetch(early.url + checkPath, { method: "POST", headers, body: question }),
      fetch(`${early.url}/v1/inter-agency/health`),
    ];
    opening.resolve(world.app);
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
  } finally {
    await early.close();
  }
});
