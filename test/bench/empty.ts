/**
 * A server that does nothing but answer, in a process of its own: what the runtime takes for an answer at least.
 * Its argument says which: the runtime's own, or `node:http` on the same runtime.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const body = "{}";
const hostname = "127.0.0.1";
const headers = { "Content-Type": "application/json" };

function listen(): Promise<number> {
  if (process.argv[2] === "runtime") {
    const { port } = Bun.serve({ hostname, port: 0, fetch: () => new Response(body, { headers }) });
    return Promise.resolve(port ?? 0);
  }
  const server = createServer((_request, response) => {
    response.writeHead(200, { ...headers, "Content-Length": body.length }).end(body);
  });
  return new Promise((resolve) => {
    server.listen(0, hostname, () => resolve((server.address() as AddressInfo).port));
  });
}

process.stdout.write(`${await listen()}\n`);
