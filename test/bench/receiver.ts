/** A webhook receiver that is as fast as it can be, in a process of its own; `/silent` accepts and never answers. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((request, response) => {
  request.resume();
  if (request.url === "/silent") return;
  request.once("end", () => response.writeHead(204).end());
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
