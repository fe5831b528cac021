/** Recognises requests from a browser on this machine, which alone sees the console and the sandbox's key. */

import type { Context } from "hono";
import type { AppEnv, Caller } from "./context.ts";

/** Addresses that only this machine's own programs can come from. */
const ourAddress = /^(?:(?:::ffff:)?127\.\d+\.\d+\.\d+|::1)$/;
/**
 * Names by which a browser reaches its own machine, or this one through an SSH tunnel, with any port. No name server can
 * resolve them to another address. The service may listen on more addresses (domain/networks.ts).
 */
const ourName = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d*)?$/i;
/** Headers that a proxy adds. Behind a proxy on this machine every request has a local address. */
const proxyHeaders = ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via"];

/** The part of a request that shows that the request is not local. */
export type NotLocal = "address" | "name" | "proxy";

/**
 * Checks that a request comes from one of this machine's addresses, names this machine in `Host`, and passed no proxy.
 * `Host` matters because another site can resolve its own name to this machine (DNS rebinding).
 * @returns null for a local request
 */
export function notLocal({ env, req }: Caller): NotLocal | null {
  if (!ourAddress.test(env.remoteAddress)) return "address";
  if (!ourName.test(req.header("Host") ?? "")) return "name";
  return proxyHeaders.some((name) => req.header(name) !== undefined) ? "proxy" : null;
}

/** The sandbox's partner, and the key that opens the sandbox in its name. */
export type Demo = { readonly partnerId: string; readonly apiKey: string };

/** The placeholder for the key in examples. */
export function keyToPutIn(sandbox: boolean): string {
  return sandbox ? "tvs_test_YOUR_KEY" : "tvs_live_YOUR_KEY";
}

/** The demo partner, where this caller may be shown its key. */
export type DemoOffer = (c: Context<AppEnv>) => Demo | null;

/**
 * Makes the rule that shows the sandbox's key to local requests only, although the key opens made-up data only.
 * @param demo absent on a live service
 */
export function createDemoOffer(demo: Demo | undefined): DemoOffer {
  return (c) => (demo !== undefined && notLocal(c) === null ? demo : null);
}
