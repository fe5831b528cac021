/** A receiver of webhooks on the loopback interface. */
import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo, Server } from "node:net";

export type Received = { readonly headers: IncomingHttpHeaders; readonly body: string };
/** The response to a request; null if the endpoint never responds. */
export type Answer = { status: number; headers?: Record<string, string> } | null;

export type Endpoint = { readonly url: string; readonly received: Received[] };

/** Makes a server listen on a free port of the loopback interface. @returns its URL */
export async function listen(server: Server, scheme = "http"): Promise<string> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Runs a function with an endpoint, which is closed afterwards. */
export async function withEndpoint(
  answer: (request: Received, count: number) => Answer | Promise<Answer>,
  act: (endpoint: Endpoint) => Promise<void>,
): Promise<void> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", async () => {
      const one = { headers: request.headers, body };
      received.push(one);
      const made = await answer(one, received.length);
      if (made !== null) response.writeHead(made.status, made.headers).end();
    });
  });
  const url = `${await listen(server)}/hook`;
  try {
    await act({ url, received });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Splits the signature header. `isOf` checks whether a signature is that of a secret for the body. */
export function signatureOf({ headers, body }: Received) {
  const [time = "", ...digests] = String(headers["x-agency-signature"]).split(",");
  const t = Number(time.slice("t=".length));
  const isOf = (secret: string, place: number) =>
    digests[place] === `v1=${createHmac("sha256", secret).update(`${t}.${body}`).digest("hex")}`;
  return { t, digests, isOf };
}
