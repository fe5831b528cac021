import type { Context } from "hono";
import type { AppEnv } from "./http/hono-call.ts";

/** The sandbox's partner, and the key that opens the sandbox in its name. */
export type Demo = { readonly partnerId: string; readonly apiKey: string };

/** The demo partner, where this caller may be shown its key. */
export type DemoOffer = (c: Context<AppEnv>) => Demo | null;

const loopbackAddress = /^(?:127\.\d+\.\d+\.\d+|::1)$/;
const loopbackName = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i;
/** What a proxy adds. Behind one, everybody seems to sit at this machine. */
const proxyHeaders = ["X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "Via", "X-Real-IP"];

/**
 * The key opens made-up data only, and the terminal shows it anyway; still it is shown to nobody but a browser on the
 * same machine that asked for this machine by name: not through a proxy, and not to a page that had its own name
 * resolved to here.
 * @param demo absent on a live service
 */
export function createDemoOffer(demo: Demo | undefined): DemoOffer {
  return (c) => {
    if (demo === undefined || !loopbackAddress.test(c.env.remoteAddress.replace(/^::ffff:/, ""))) return null;
    if (proxyHeaders.some((name) => c.req.header(name) !== undefined)) return null;
    return loopbackName.test(c.req.header("Host") ?? "") ? demo : null;
  };
}
