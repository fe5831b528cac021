import type { Context } from "hono";
import type { AppEnv } from "./http/hono-call.ts";
import { notLocal } from "./loopback.ts";

/** The sandbox's partner, and the key that opens the sandbox in its name. */
export type Demo = { readonly partnerId: string; readonly apiKey: string };

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
