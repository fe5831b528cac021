import { expect, test } from "bun:test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { fetchBounded } from "../../../cli/verify/bounded-fetch.ts";
import { catchError } from "../../harness/rejection.ts";

test("a compressed HTTP response is refused unread, because it may expand to any size", async () => {
  const asked: (string | undefined)[] = [];
  const server = createServer(({ headers }, response) => {
    asked.push(headers["accept-encoding"]);
    response.writeHead(200, { "Content-Encoding": "gzip" }).end(gzipSync("short"));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const error = await catchError(fetchBounded(url, 60_000));
  server.close();
  expect(error).toMatchObject({
    code: "INPUT_UNREADABLE",
    message: `the log at ${url.href} packed its answer unasked, which is not read`,
  });
  expect(asked).toEqual(["identity"]);
});
