import type { App } from "../../src/http/serve.ts";

/**
 * What an app answers, without a socket.
 * @param from the address that the request comes from
 */
export async function answerOf(
  app: App,
  path: string,
  init: RequestInit = {},
  from = "127.0.0.1",
): Promise<Response> {
  const request = new Request(new URL(path, "http://service.test"), init);
  return app.fetch(request, { remoteAddress: from, tls: false, clientCertificate: null });
}
