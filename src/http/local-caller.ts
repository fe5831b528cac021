/** Recognises requests from this machine: only these may see the console and the API key of a sandbox's demo partner. */

import type { RequestSource } from "./context.ts";

/** The loopback addresses: only programs on this machine can connect from them. */
const ourAddress = /^(?:(?:::ffff:)?127\.\d+\.\d+\.\d+|::1)$/;
/**
 * The `Host` headers of a browser that connects to its own machine, also to the local end of an SSH tunnel, at any port.
 * No name server can resolve these names to another machine.
 */
const ourName = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d*)?$/i;
/** Headers that a proxy adds. They matter because all requests through a proxy on this machine come from loopback. */
const proxyHeaders = ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via"];

/** The reason why a request is not local: its IP address, the name in its `Host`, or a proxy's header. */
export type NotLocalReason = "address" | "name" | "proxy";

/**
 * Checks that a request comes from a loopback address, names this machine in `Host`, and passed no proxy. `Host` is
 * checked because another site can make its own name resolve to this machine (DNS rebinding).
 * @returns null if the request is local, else the first check that failed
 */
export function findNotLocalReason({ env, req }: RequestSource): NotLocalReason | null {
  if (!ourAddress.test(env.remoteAddress)) return "address";
  if (!ourName.test(req.header("Host") ?? "")) return "name";
  return proxyHeaders.some((name) => req.header(name) !== undefined) ? "proxy" : null;
}

export type DemoPartner = { readonly partnerId: string; readonly apiKey: string };

/** Returns the demo partner if its API key may be shown to the caller. @param demo undefined on a live service */
export function demoPartnerForCaller(
  source: RequestSource,
  demo: DemoPartner | undefined,
): DemoPartner | null {
  return demo !== undefined && findNotLocalReason(source) === null ? demo : null;
}
