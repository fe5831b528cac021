/** `tvs listen`: a partner's engineer receives the sandbox's deliveries on this machine (decision D9.2). */

import words from "../../data/commands.json" with { type: "json" };
import { isoTime } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { putBackEndpoint, takeEndpoint } from "../../src/domain/sandbox/endpoint.ts";
import { demoPartner, readRelay } from "../../src/domain/sandbox/state.ts";
import { newWebhookSecret } from "../../src/domain/webhooks.ts";
import { verifyWebhook } from "../../src/partner/verify-webhook.ts";
import { command, flag, option } from "../command.ts";
import type { Operator } from "../open.ts";
import { programWords } from "../program.ts";
import { note } from "../terminal/output.ts";
import { printable } from "../terminal/printable.ts";
import { readHttpUrl } from "../verify/bounded-fetch.ts";
import { isListening, type RelayedDelivery, startRelay } from "./listen-relay.ts";
import { keptSecret, withSandbox } from "./sandbox-register.ts";

/** The setting with the secret of the demo partner's endpoint while somebody listens, encrypted. */
const secretName = "sandbox_webhook_secret";

export const listenCommand = command({
  ...words.listen,
  args: { forward: option("URL", readHttpUrl), body: flag(), json: flag() },
  async run({ args }) {
    const target = args.forward ?? null;
    const printing = { isJson: Boolean(args.json), withBody: args.body === true };
    const stopped = stopSignal();
    const known = Promise.withResolvers<string>();
    const relay = await startRelay({
      target,
      onDelivery: async (delivery) =>
        printDelivery(printing, delivery, await flawOf(delivery, known.promise)),
    });
    try {
      const taken = { url: relay.url, forwards: target !== null };
      const { secret, serviceRunning } = await withSandbox(args, (operator) => begin(operator, taken));
      printBeginning(printing, { secret, forward: target?.href ?? null });
      known.resolve(secret);
      if (!serviceRunning)
        note("no sandbox is running on this data; tvs serve --sandbox starts it and sends");
      await stopped;
      await withSandbox(args, (operator) => end(operator, relay.url));
      note(`stopped; the endpoint of ${demoPartner} is as it was before`);
    } finally {
      await relay.close();
    }
  },
});

/** Why a receiver must refuse a delivery; null when it is genuine. */
async function flawOf({ body, signature }: RelayedDelivery, secret: Promise<string>): Promise<string | null> {
  return (await verifyWebhook({ rawBody: body, signature, secret: await secret })).reason;
}

/** @throws TvsError REFUSED while another one listens */
async function begin(operator: Operator, relay: { url: string; forwards: boolean }) {
  const { settings } = operator;
  const other = readRelay(await settings.read());
  if (other !== null && (await isListening(other.url))) {
    const message = `another tvs listen (process ${other.pid}) receives the deliveries of this sandbox; end it first`;
    throw new TvsError("REFUSED", message);
  }
  const usual = await keptSecret(operator, { name: secretName, mint: newWebhookSecret });
  const taken = { ...relay, partnerId: demoPartner, pid: process.pid, secret: usual };
  const secret = await takeEndpoint(operator, taken);
  return { secret, serviceRunning: await operator.driver.serviceRunning() };
}

async function end(operator: Operator, url: string): Promise<void> {
  await putBackEndpoint(operator, demoPartner, url);
}

type Printing = { readonly isJson: boolean; readonly withBody: boolean };

function printBeginning(
  { isJson }: Printing,
  { secret, forward }: { secret: string; forward: string | null },
): void {
  if (isJson) {
    printLine({ type: "listening", partnerId: demoPartner, forward, secret });
    return;
  }
  const what = forward === null ? "are acknowledged here with 204" : `go to ${forward}`;
  process.stdout.write(
    `Deliveries of partner ${demoPartner} ${what}\n` +
      `Your receiver's secret, the same each time in this sandbox:\n  ${secret}\n` +
      `Ready. In another terminal: ${programWords()} trigger license.revoked. Ctrl-C ends this.\n\n`,
  );
}

/** @param flaw why a receiver must refuse it */
function printDelivery({ isJson, withBody }: Printing, delivery: RelayedDelivery, flaw: string | null): void {
  const { at, eventType, regNo, tId, status, error, attempt, ms } = delivery;
  if (isJson) {
    printLine({ type: "delivery", ...delivery, at: isoTime(at), genuine: flaw === null });
    return;
  }
  const time = new Date(at).toTimeString().slice(0, 8);
  const who = regNo ?? (tId === null ? "nobody" : String(tId));
  const outcome = status === null ? `502  ${error}` : `${status}  ${ms} ms`;
  const again = attempt === 1 ? "" : `  attempt ${attempt}`;
  const forged = flaw === null ? "" : `  forged: ${flaw}`;
  const line = `${time}  ${eventType.padEnd(20)}  ${who.padEnd(18)}  ${outcome}${again}${forged}`;
  process.stdout.write(`${printable(line)}\n${withBody ? `${printable(delivery.body)}\n` : ""}`);
}

function printLine(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Resolves at the first signal; before it the endpoint is the relay's, after it no more. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
  });
}
