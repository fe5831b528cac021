import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type KeyKind, mintApiKey } from "../../src/domain/credentials.ts";
import { createFastPath } from "../../src/http/fast-path.ts";
import { type Listener, listen } from "../../src/http/listen.ts";
import { openClient } from "../harness/raw-client.ts";
import { known, openTestService, type TestService } from "../harness/service.ts";

/** One service behind two listeners: one has the fast path, the other has only Hono's routes. */
let world: TestService;
let fast: Listener;
let hono: Listener;
/** Calls that took the fast path. */
let taken = 0;

beforeAll(async () => {
  world = await openTestService();
  fast = await listen(world.app.fetch, {
    host: "127.0.0.1",
    port: 0,
    fastPath: (incoming, outgoing) => {
      const takes = world.fastPath(incoming, outgoing);
      if (takes) taken++;
      return takes;
    },
  });
  hono = await listen(world.app.fetch, { host: "127.0.0.1", port: 0 });
});

afterAll(async () => {
  await Promise.all([fast.close(), hono.close()]);
  await world.close();
});

const lookupPath = "/teacher/verify-license";
const checkPath = "/v1/inter-agency/eligibility-check";
const batchPath = "/v1/inter-agency/batch";
const byRegNo = "/v1/inter-agency/lookup/by-reg-no";
const byTId = "/v1/inter-agency/lookup/by-tid";
const question = { identifier: { regNo: known.regNo }, purpose: "GENERAL_PUBLIC_VERIFICATION" };

/** What differs between two answers of the same kind: ids, and the signature over them. */
function comparable(body: string): string {
  return body
    .replace(/"verificationId":"[^"]*"/g, '"verificationId":"…"')
    .replace(/"signature":"[^"]*"/g, '"signature":"…"');
}

async function ask(listener: Listener, path: string, init: RequestInit) {
  const response = await fetch(`${listener.url}${path}`, init);
  const headers = Object.fromEntries(response.headers);
  for (const name of ["date", "x-request-id", "x-verification-id", "x-ratelimit-remaining"]) {
    if (name in headers) headers[name] = "…";
  }
  const body = comparable(await response.text());
  return { status: response.status, headers, body };
}

function post(as: "full" | "unscoped" | "spent" | null, body: unknown, headers: Record<string, string> = {}) {
  const authorization = as === null ? {} : { Authorization: `Bearer ${world.keyOf(as)}` };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { method: "POST", headers: { ...authorization, ...headers }, body: text };
}

const mint = (kind: KeyKind) =>
  mintApiKey("nobody", { kind, secrets: world.service.secrets, now: world.service.clock.now() }).text;
const sandboxKey = () => mint("test");
const unknownKey = () => mint("live");

describe("the fast path answers as Hono's routes do", () => {
  test.each([
    ["a hit", `?searchTerm=${encodeURIComponent(known.regNo)}`],
    ["a NIN", `?searchTerm=${known.nin}`],
    ["a plus sign for a space", "?searchTerm=LA%2F2019%2FPRI%2F04417+"],
    ["the first of two", "?searchTerm=204417&searchTerm=7"],
    ["a term after others", "?x=1&searchTerm=204417&y=2"],
    ["nobody", "?searchTerm=ZZ%2F1%2F2%2F3"],
    ["broken percent signs", "?searchTerm=%E0%A4%A"],
    ["NUL", "?searchTerm=%00"],
    ["no term", ""],
    ["an empty term", "?searchTerm="],
    ["a bare name", "?searchTerm"],
  ])("to a lookup: %s", async (_name, query) => {
    const before = taken;
    const answer = await ask(fast, lookupPath + query, {});
    expect(taken).toBe(before + 1);
    expect(answer).toEqual(await ask(hono, lookupPath + query, {}));
  });

  test.each<[string, () => [string, RequestInit]]>([
    ["a question", () => [checkPath, post("full", question)]],
    ["nobody known", () => [checkPath, post("full", { ...question, identifier: { tId: 99 } })]],
    ["two identifiers", () => [checkPath, post("full", { ...question, identifier: { tId: 1, regNo: "x" } })]],
    ["no JSON", () => [checkPath, post("full", "{")]],
    ["no credential", () => [checkPath, post(null, question)]],
    ["no Bearer", () => [checkPath, post(null, question, { Authorization: `${world.keyOf("full")}` })]],
    ["another scheme", () => [checkPath, post(null, question, { Authorization: "Basic YTpi" })]],
    [
      "a mistyped key",
      () => [checkPath, post(null, question, { Authorization: `Bearer ${world.keyOf("full")}x` })],
    ],
    ["a sandbox's key", () => [checkPath, post(null, question, { "x-agency-api-key": sandboxKey() })]],
    ["an unknown key", () => [checkPath, post(null, question, { "x-agency-api-key": unknownKey() })]],
    ["an empty key", () => [checkPath, post(null, question, { "x-agency-api-key": "" })]],
    ["no scope", () => [checkPath, post("unscoped", question)]],
    ["no quota", () => [checkPath, post("spent", question)]],
    [
      "a purpose that is refused",
      () => [checkPath, post("full", { ...question, purpose: "EMPLOYER_BACKGROUND_CHECK" })],
    ],
    [
      "an idempotency key without end",
      () => [checkPath, post("full", question, { "Idempotency-Key": "k".repeat(300) })],
    ],
    ["a batch", () => [batchPath, post("full", { items: [question, question] })]],
    ["an empty batch", () => [batchPath, post("full", { items: [] })]],
  ])("to a partner: %s", async (_name, make) => {
    const [path, init] = make();
    const before = taken;
    const answer = await ask(fast, path, init);
    expect(taken).toBe(before + 1);
    expect(answer).toEqual(await ask(hono, path, init));
  });

  test.each([
    ["the key", "/key", {}],
    ["the key, which is known", "/key", { headers: { "If-None-Match": "*" } }],
    ["no checkpoint yet", "/checkpoint", {}],
    ["an unknown leaf", `/inclusion/${"0".repeat(64)}`, {}],
    ["no leaf", "/inclusion/x", {}],
    ["no size", `/inclusion/${"0".repeat(64)}?size=`, {}],
    ["sizes", "/consistency?from=1&to=1", {}],
    ["a size in other digits", "/consistency?from=%31&to=%D9%A1", {}],
    ["no sizes", "/consistency", {}],
  ])("to who asks the evidence log: %s", async (_name, path, init) => {
    const before = taken;
    const answer = await ask(fast, `/v1/inter-agency/log${path}`, init);
    expect(taken).toBe(before + 1);
    expect(answer).toEqual(await ask(hono, `/v1/inter-agency/log${path}`, init));
  });

  const partnerLookups: [name: string, path: string][] = [
    ["a number with encoded slashes", `${byRegNo}/${encodeURIComponent(known.regNo)}`],
    ["a number with slashes as they are", `${byRegNo}/${known.regNo}`],
    ["a number with both", `${byRegNo}/la/2019%2fPRI/04417`],
    ["a number with an empty segment", `${byRegNo}/LA//PRI/04417`],
    ["a number of three segments", `${byRegNo}/LA/2019/PRI`],
    ["a number that ends in a slash", `${byRegNo}/${known.regNo}/`],
    ["a number and a query", `${byRegNo}/${known.regNo}?regNo=x`],
    ["an id", `${byTId}/${known.tId}`],
    ["an id of nobody", `${byTId}/99`],
    ["an id of letters", `${byTId}/x1`],
    ["an id with a slash", `${byTId}/1%2F2`],
    ["an id beyond all bounds", `${byTId}/99999999999999999999`],
  ];

  test.each(partnerLookups)("to a partner's lookup by a path: %s", async (_name, path) => {
    const before = taken;
    const init = { headers: { Authorization: `Bearer ${world.keyOf("full")}` } };
    const answer = await ask(fast, path, init);
    expect(taken).toBe(before + 1);
    expect(answer).toEqual(await ask(hono, path, init));
  });

  test("to a lookup by NIN", async () => {
    const before = taken;
    const init = post("full", { nin: known.nin });
    const answer = await ask(fast, "/v1/inter-agency/lookup/by-nin", init);
    expect(taken).toBe(before + 1);
    expect(answer).toEqual(await ask(hono, "/v1/inter-agency/lookup/by-nin", init));
    expect(answer.status).toBe(200);
  });

  test("a replay is the same bytes, whichever path the calls took", async () => {
    const init = post("full", question, { "Idempotency-Key": "first-fast-then-hono" });
    const first = await fetch(fast.url + checkPath, init);
    const second = await fetch(hono.url + checkPath, init);
    expect(second.headers.get("Idempotent-Replayed")).toBe("true");
    expect(await second.text()).toBe(await first.text());
  });
});

describe("the fast path leaves to Hono", () => {
  test.each([
    ["another method", lookupPath, { method: "OPTIONS" }],
    ["HEAD", `${lookupPath}?searchTerm=7`, { method: "HEAD" }],
    ["a body that is too large", checkPath, { method: "POST", body: "x".repeat(300_000) }],
    ["another path", "/v1/inter-agency/health", {}],
    ["another spelling of the path", "/teacher/verify%2Dlicense?searchTerm=7", {}],
    ["a longer path", `${byTId}/7/8`, {}],
    ["a shorter path", byTId, {}],
    ["no part where one is asked for", `${byTId}/`, {}],
    ["a part that is no UTF-8", `${byRegNo}/%E0%A4%A`, {}],
    ["a part with encoded percent signs", `${byRegNo}/LA%252F2019%252FPRI%252F04417`, {}],
    ["a part with a space", `${byTId}/204417%20`, {}],
    ["a part that is no plain text", `${byTId}/١٢`, {}],
    ["another method of a path with a part", `${byTId}/7`, { method: "DELETE" }],
    ["HEAD of a path with a part", `${byTId}/7`, { method: "HEAD" }],
  ])("%s", async (_name, path, init) => {
    const before = taken;
    const answer = await ask(fast, path, init);
    expect(taken).toBe(before);
    expect(answer).toEqual(await ask(hono, path, init));
  });
});

describe("paths that a client would tidy up before it sends them", () => {
  test.each([
    `${byTId}/../by-tid/204417`,
    `${byTId}/./204417`,
    `${byTId}/%2e%2e/by-nin`,
    `${byRegNo}/LA/2019/PRI/..`,
    `${byRegNo}/LA/2019/PRI/.`,
    `${byRegNo}/LA/2019/PRI/%2e%2e`,
    `${byTId}\\204417`,
    `/${byTId}/204417`,
    `${byTId}/204417;x=1`,
    `http://a.example${byTId}/204417`,
    `${byTId}/204417#x`,
  ])("are answered alike: %s", async (path) => {
    const answers = [];
    for (const { port } of [fast, hono]) {
      const client = await openClient({ port });
      client.write(
        `GET ${path} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n` +
          `Authorization: Bearer ${world.keyOf("full")}\r\n\r\n`,
      );
      const [head = "", body = ""] = (await client.closed).split("\r\n\r\n");
      const [status] = head.split("\r\n");
      answers.push({ status, body: comparable(body) });
    }
    expect(answers[0]).toEqual(answers[1] ?? { status: "none", body: "" });
  });
});

describe("two credentials in one request", () => {
  test.each([
    ["the good one first", () => [world.keyOf("full"), "nobody's"]],
    ["the good one last", () => ["nobody's", world.keyOf("full")]],
  ])("are refused whichever path they take: %s", async (_name, keys) => {
    const body = JSON.stringify(question);
    const credentials = keys()
      .map((key, index) => `${["Authorization", "authorization"][index]}: Bearer ${key}\r\n`)
      .join("");
    for (const { port } of [fast, hono]) {
      const client = await openClient({ port });
      client.write(
        `POST ${checkPath} HTTP/1.1\r\nHost: a.example\r\n${credentials}Connection: close\r\n` +
          `Content-Length: ${body.length}\r\n\r\n${body}`,
      );
      expect(await client.closed).toContain("HTTP/1.1 401 ");
      const reader = await openClient({ port });
      reader.write(`GET ${byTId}/7 HTTP/1.1\r\nHost: a.example\r\n${credentials}Connection: close\r\n\r\n`);
      expect(await reader.closed).toContain("HTTP/1.1 401 ");
    }
  });
});

describe("why there is no credential is said alike, whichever path a call takes", () => {
  test.each<[string, () => Record<string, string>, string]>([
    ["none", () => ({}), "no credential: send Authorization: Bearer API_KEY"],
    [
      "no Bearer",
      () => ({ Authorization: `${world.keyOf("full")}` }),
      "the Authorization header must be the word Bearer",
    ],
    [
      "mistyped",
      () => ({ Authorization: `Bearer ${world.keyOf("full")?.slice(0, -1)}` }),
      "the API key is mistyped",
    ],
    ["a sandbox's", () => ({ "x-agency-api-key": sandboxKey() }), "this is a sandbox's key"],
    ["unknown", () => ({ "x-agency-api-key": unknownKey() }), "a valid client certificate, Bearer key or"],
  ])("%s", async (_name, headers, expected) => {
    for (const [listener, path] of [
      [fast, checkPath],
      [hono, checkPath],
      [fast, "/v1/inter-agency/lookup/by-nin"],
      [hono, "/v1/inter-agency/lookup/by-nin"],
    ] as const) {
      const { status, body } = await ask(listener, path, post(null, question, headers()));
      expect(status).toBe(401);
      expect(JSON.parse(body).message).toStartWith(expected);
      expect(body).not.toContain(`${world.keyOf("full")?.slice(0, 21)}`);
    }
  });
});

describe("a head that can be read in two ways", () => {
  test.each([
    ["two hosts", "Host: a.example\r\nHost: b.example\r\n"],
    ["a length twice", "Host: a.example\r\nContent-Length: 2\r\nContent-Length: 2\r\n"],
    ["another coding than pieces", "Host: a.example\r\nTransfer-Encoding: gzip, chunked\r\n"],
  ])("is refused before either path: %s", async (_name, headers) => {
    const before = taken;
    for (const { port } of [fast, hono]) {
      const client = await openClient({ port });
      client.write(`POST ${checkPath} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n{}`);
      expect(await client.closed).toStartWith("HTTP/1.1 400 ");
    }
    expect(taken).toBe(before);
  });
});

describe("a connection of the fast path", () => {
  test("goes on after a body that nobody read", async () => {
    const client = await openClient({ port: fast.port });
    const body = "x".repeat(100_000);
    client.write(
      `POST ${checkPath} HTTP/1.1\r\nHost: a.example\r\nContent-Length: ${body.length}\r\n\r\n${body}` +
        `GET ${lookupPath}?searchTerm=204417 HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`,
    );
    const answers = await client.closed;
    expect(answers).toContain("HTTP/1.1 401 ");
    expect(answers).toContain('"found":true');
  });

  test("answers pipelined calls in their order", async () => {
    const client = await openClient({ port: fast.port });
    const get = (tId: number, more = "") =>
      `GET ${lookupPath}?searchTerm=${tId} HTTP/1.1\r\nHost: a.example\r\n${more}\r\n`;
    client.write(get(204417) + get(99) + get(7, "Connection: close\r\n"));
    const answers = await client.closed;
    const found = [...answers.matchAll(/"found":(true|false)/g)].map((match) => match[1]);
    expect(found).toEqual(["true", "false", "true"]);
  });

  test("that breaks off in the middle of a body harms nobody", async () => {
    const client = await openClient({ port: fast.port });
    const head = `POST ${checkPath} HTTP/1.1\r\nHost: a.example\r\nAuthorization: Bearer ${world.keyOf("full")}\r\n`;
    client.write(`${head}Content-Length: 1000\r\n\r\n{"identifier":`);
    client.socket.destroy();
    await client.closed;
    expect((await ask(fast, checkPath, post("full", question))).status).toBe(200);
  });

  test("is refused by the rules of HTTP, not by luck", async () => {
    const client = await openClient({ port: fast.port });
    client.write(`GET ${lookupPath}?searchTerm=7 HTTP/1.1\r\nConnection: close\r\n\r\n`);
    expect(await client.closed).toContain("HTTP/1.1 400 ");
  });

  test("is ended when an answer cannot be written, and the service goes on", async () => {
    const unwritable = async () => ({ status: 200, headers: { "X-Broken": "a\nb" }, body: "{}" });
    const path = lookupPath;
    const route = { method: "GET", path, routerPath: path, asksCredential: false, handler: unwritable };
    const fastPath = createFastPath([route]);
    const listener = await listen(world.app.fetch, { host: "127.0.0.1", port: 0, fastPath });
    try {
      const client = await openClient({ port: listener.port });
      client.write(`GET ${lookupPath} HTTP/1.1\r\nHost: a.example\r\n\r\n`);
      expect(await client.closed).toBe("");
      expect((await fetch(`${listener.url}/v1/inter-agency/health`)).status).toBe(200);
    } finally {
      await listener.close();
    }
  });
});
