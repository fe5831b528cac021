import { afterAll, beforeAll, beforeEach, describe, expect, mock, test } from "bun:test";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { bind, type Driver } from "../../../src/store/driver/driver.ts";
import { isTimeout } from "../../../src/store/server/errors.ts";
import { openDatabaseServer } from "../../../src/store/server/remote.ts";
import { createServerRequests } from "../../../src/store/server/requests.ts";
import { listen } from "../../harness/endpoint.ts";
import { until } from "../../harness/eventually.ts";
import { catchError } from "../../harness/rejection.ts";
import { noServer, startServer, type TestServer } from "../../harness/sqld.ts";

const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

async function startAnswering(answer: Answer) {
  const server = createServer((request, response) => void answer(request, response));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: await listen(server), close };
}

test("a request and its repetition together wait no longer than one request's time limit", async () => {
  let asked = 0;
  const server = await startAnswering((request) => {
    asked++;
    setTimeout(() => request.socket.destroy(), 500);
  });
  const { each } = await createServerRequests({ url: server.url, token: undefined });
  // The server ends each request after 500 ms. The second request times out only if its limit is 200 ms, the rest of 700.
  expect(isTimeout(await catchError(each([{ sql: "SELECT 1", args: [] }], 700)))).toBe(true);
  expect(asked).toBe(2);
  server.close();
});

describe.skipIf(noServer !== undefined)("a libSQL server that sends something other than rows", () => {
  const token = "a.token.of.ours";
  let sqld: TestServer;
  let middle: Awaited<ReturnType<typeof startAnswering>>;
  let elsewhere: typeof middle;
  let arrived: (string | undefined)[];
  /** The proxy's own answer; null for the server's answer. */
  let instead: Answer | null;
  /** Changes the server's answer. */
  let change: (text: string) => string;

  async function passOn(request: IncomingMessage): Promise<string> {
    const body = await new Response(request as never).text();
    return (await fetch(sqld.url + request.url, { method: "POST", body })).text();
  }

  beforeAll(async () => {
    sqld = await startServer();
    elsewhere = await startAnswering(async (request, response) => {
      arrived.push(request.headers.authorization);
      response.end(await passOn(request));
    });
    middle = await startAnswering(async (request, response) => {
      if (instead !== null) return instead(request, response);
      response.setHeader("Content-Type", "application/json").end(change(await passOn(request)));
    });
  });
  afterAll(async () => {
    middle.close();
    elsewhere.close();
    await sqld.stop();
  });
  beforeEach(() => {
    [arrived, instead, change] = [[], null, (text) => text];
  });

  const open = () => openDatabaseServer({ url: middle.url, token });
  async function opened(act: (driver: Driver) => Promise<void>): Promise<void> {
    const driver = await open();
    await act(driver).finally(() => driver.close());
  }

  test.each([301, 302, 303, 307, 308])("the driver follows no redirect with status %d", async (status) => {
    await opened(async (driver) => {
      instead = ({ url }, response) => response.writeHead(status, { Location: elsewhere.url + url }).end();
      for (const send of [() => driver.query("SELECT 1"), () => driver.batch([bind("DROP TABLE probe")])])
        expect(await catchError(send())).toMatchObject({ code: "STORE_UNAVAILABLE" });
    });
    expect(await catchError(open())).toMatchObject({
      code: "CONFIG_INVALID",
      message: `the database at ${middle.url} sends elsewhere, which is not followed; --database (TVS_DATABASE) must be the server itself`,
    });
    expect(arrived).toEqual([]);
  });

  test("the driver does not follow the base_url of an answer to another server", async () => {
    change = (text) => text.replace('"base_url":null', `"base_url":"${elsewhere.url}"`);
    const execute = { type: "execute", stmt: { sql: "SELECT 1" } };
    const body = JSON.stringify({ baton: null, requests: [execute] });
    const answer = await fetch(`${sqld.url}/v2/pipeline`, { method: "POST", body });
    expect(change(await answer.text())).toContain(elsewhere.url);
    await opened(async (driver) => {
      for (let n = 0; n < 3; n++) expect(await driver.query("SELECT ? AS n", [n])).toMatchObject([{ n }]);
      await driver.batch([bind("CREATE TABLE of_this_server (a)")]);
    });
    expect(arrived).toEqual([]);
  });

  test("a transaction that reads and then writes makes two requests, and a third that ends its session on the server", async () => {
    await opened(async (driver) => {
      const requests = mock((text: string) => text);
      const count = () => requests.mock.calls.length;
      change = requests;
      await driver.batch([bind("CREATE TABLE counted (n INTEGER)")]);
      await until(() => count() === 2);
      await driver.write(async (tx) => {
        const [[row] = []] = await tx.batch([bind("SELECT count(*) AS n FROM counted")]);
        await tx.finish([bind("INSERT INTO counted VALUES (?)", [Number(row?.n)])]);
      });
      await until(() => count() === 5);
      expect(await driver.query("SELECT n FROM counted")).toMatchObject([{ n: 0 }]);
      expect(count()).toBe(6);
    });
  });

  const mebibyte = 1024 ** 2;
  const json = { "Content-Type": "application/json" };
  const packed = (encoding: string, body: Uint8Array): Answer => {
    return (_, response) => response.writeHead(200, { ...json, "Content-Encoding": encoding }).end(body);
  };
  const spaces = new Uint8Array(65 * mebibyte).fill(32);
  test.each<[string, () => Answer]>([
    ["compressed with gzip", () => packed("gzip", gzipSync(spaces))],
    ["compressed with brotli", () => packed("br", brotliCompressSync(spaces, fast))],
    [
      "an answer of many values",
      () => (_, response) => response.writeHead(200, json).end("[".repeat(2 * mebibyte)),
    ],
    [
      "an endless answer",
      () => (_, response) => {
        const space = Buffer.alloc(mebibyte, 32);
        response.writeHead(200, json);
        const more = () => void response.write(space, (error) => (error ? undefined : more()));
        more();
      },
    ],
    [
      "a long error answer",
      () => (_, response) => response.writeHead(500).end(Buffer.alloc(65 * mebibyte, 46)),
    ],
  ])("the driver refuses an answer that is too long: %s", async (_, answer) => {
    await opened(async (driver) => {
      instead = answer();
      const message = expect.stringMatching(
        /(sent more than 16 MiB or a million values at once|packed its answer unasked), which is not read/,
      );
      const refusal = { code: "STORE_UNAVAILABLE", message };
      expect(await catchError(driver.query("SELECT 1"))).toMatchObject(refusal);
      instead = null;
      expect(await driver.query("SELECT 1 AS one")).toMatchObject([{ one: 1 }]);
    });
    instead = answer();
    expect(await catchError(open())).toMatchObject({ code: "CONFIG_INVALID" });
  });

  test("the driver accepts eight mebibytes of rows in one answer", async () => {
    await opened(async (driver) => {
      const mebibytes = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8)";
      const rows = await driver.query(`${mebibytes} SELECT hex(zeroblob(512 * 1024)) AS text FROM n`);
      expect(rows.map((row) => String(row.text).length)).toEqual(Array(8).fill(mebibyte));
    });
  });
});
