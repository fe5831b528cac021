import type { HttpApp } from "../../src/http/serve.ts";

/** Sends a request to an app without a socket. @param from the source IP address */
export async function sendToApp(
  app: HttpApp,
  path: string,
  init: RequestInit = {},
  from = "127.0.0.1",
): Promise<Response> {
  const request = new Request(new URL(path, "http://service.test"), init);
  return app.fetch(request, { remoteAddress: from, tls: false, clientCertificate: null });
}
