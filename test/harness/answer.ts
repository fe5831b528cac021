import { bodyTooLarge, maxBodyBytes } from "../../src/http/http-call.ts";
import type { App } from "../../src/http/request-listener.ts";

/**
 * What an app answers, without a socket.
 * @param from the address that the request comes from
 */
export async function answerOf(
  { api, pages }: App,
  path: string,
  init: RequestInit = {},
  from = "127.0.0.1",
): Promise<Response> {
  const request = new Request(new URL(path, "http://service.test"), init);
  const connection = { remoteAddress: from, tls: false, clientCertificate: null };
  const { pathname, search } = new URL(request.url);
  const { method, headers } = request;
  const answer = api?.find({ method, url: pathname + search, headers: {} }) ?? null;
  if (answer === null) return pages.fetch(request, connection);
  const reply = await answer({
    connection,
    header: (name) => headers.get(name) ?? undefined,
    body: async () => {
      const bytes = new Uint8Array(await request.arrayBuffer());
      if (bytes.length > maxBodyBytes) throw bodyTooLarge();
      return bytes;
    },
  });
  const hasBody = reply.status !== 304 && method !== "HEAD";
  return new Response(hasBody ? reply.body : null, { status: reply.status, headers: reply.headers });
}
