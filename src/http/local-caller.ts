/** Callers that sit at this machine: how they are known, and what is shown to nobody else. */

import type { Context } from "hono";
import type { AppEnv, Caller } from "./context.ts";

/** Addresses that only this machine's own programs can come from. */
const ourAddress = /^(?:(?:::ffff:)?127\.\d+\.\d+\.\d+|::1)$/;
/**
 * Names under which this machine is reached from itself, or through an SSH tunnel, whatever the tunnel's port. It is
 * narrower than what the service may listen on (domain/networks.ts): a browser must have asked for this machine in words
 * that no name server has a say in.
 */
const ourName = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d*)?$/i;
/** What a proxy adds that carries requests from elsewhere. Behind one, everybody seems to sit at this machine. */
const proxyHeaders = ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via"];

/** Why a request is not taken for one that was made on this machine. */
export type NotLocal = "address" | "name" | "proxy";

/**
 * Whether a request was made on this machine by somebody who meant it: from one of its own addresses, for one of its
 * own names (a page of another site can have its own name resolved to here, DNS rebinding, and then that name stands
 * in `Host`), and through no proxy.
 * @returns null when it was
 */
export function notLocal({ env, req }: Caller): NotLocal | null {
  if (!ourAddress.test(env.remoteAddress)) return "address";
  if (!ourName.test(req.header("Host") ?? "")) return "name";
  return proxyHeaders.some((name) => req.header(name) !== undefined) ? "proxy" : null;
}

/** The sandbox's partner, and the key that opens the sandbox in its name. */
export type Demo = { readonly partnerId: string; readonly apiKey: string };

/** What stands in commands for the key of a reader who is shown none. */
export function keyToPutIn(sandbox: boolean): string {
  return sandbox ? "tvs_test_YOUR_KEY" : "tvs_live_YOUR_KEY";
}

/** The demo partner, where this caller may be shown its key. */
export type DemoOffer = (c: Context<AppEnv>) => Demo | null;

/**
 * The rule by which the sandbox's key is offered. It opens made-up data only, and the terminal shows it anyway; still
 * it is shown to nobody but a browser on the same machine that asked for this machine by name.
 * @param demo absent on a live service
 */
export function createDemoOffer(demo: Demo | undefined): DemoOffer {
  return (c) => (demo !== undefined && notLocal(c) === null ? demo : null);
}
