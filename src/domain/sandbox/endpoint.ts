/** The demo partner's endpoint, lent to who listens: taken, and put back as it was (decision D9.2). */

import type { SettingsStore } from "../settings.ts";
import { removeWebhook, setWebhook, type WebhookDependencies, type WebhookEndpoint } from "../webhooks.ts";
import { type EndpointBefore, mayBeRelay, type Relay, readRelay, writeRelay } from "./state.ts";

type EndpointDependencies = WebhookDependencies & { readonly settings: SettingsStore };

/** Addresses that listen on this machine need no look at where their names lead. */
const unchecked = async () => {};

/**
 * Makes an address on this machine a partner's endpoint, for what it is told of. What was there before is
 * remembered first, so that whatever ends the listening, the next one can put it back.
 * @param taken `secret` for a partner that has no endpoint; another one keeps its own
 * @returns the secret that deliveries are signed with
 * @throws TvsError NOT_KNOWN
 */
export async function takeEndpoint(
  dependencies: EndpointDependencies,
  taken: Omit<Relay, "before"> & { partnerId: string; secret: string },
): Promise<string> {
  const { settings, webhooks } = dependencies;
  const { partnerId, url, pid, forwards } = taken;
  if (!mayBeRelay(url)) throw new TypeError("a relay listens on this machine");
  await putBackEndpoint(dependencies, partnerId);
  const before = endpointBefore(await webhooks.endpoint(partnerId));
  await writeRelay(settings, { url, pid, forwards, before });
  const { secret } = await setWebhook(dependencies, {
    ...taken,
    check: unchecked,
  });
  return secret;
}

function endpointBefore(endpoint: WebhookEndpoint | null): EndpointBefore | null {
  if (endpoint === null) return null;
  const { url, disabledAt } = endpoint;
  return { url, isDisabled: disabledAt !== null };
}

/**
 * Puts the endpoint back as it was before somebody listened. One that was set meanwhile stays.
 * @param only the address that is to be put back from; whichever there is when left out
 * @returns whether anything was put back
 */
export async function putBackEndpoint(dependencies: EndpointDependencies, partnerId: string, only?: string) {
  const { settings, webhooks } = dependencies;
  const relay = readRelay(await settings.read());
  if (relay === null || (only ?? relay.url) !== relay.url) return false;
  const current = await webhooks.endpoint(partnerId);
  if (current?.url === relay.url) await putBack(dependencies, partnerId, relay);
  // Last, so that what a kill has left half done is done again.
  await writeRelay(settings, null);
  return true;
}

async function putBack(dependencies: EndpointDependencies, partnerId: string, { before }: Relay) {
  if (before === null) {
    await removeWebhook(dependencies, partnerId);
    return;
  }
  // In one write: one that was disabled is never enabled for a moment, nor for good when this process is killed.
  await setWebhook(dependencies, { partnerId, ...before, check: unchecked });
}
