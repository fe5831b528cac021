import { resolve } from "node:path";
import { createCalendar } from "../../src/domain/clock.ts";
import { apiKeyId, apiKeyRecord, isLive, maxLiveKeys, mintApiKey } from "../../src/domain/credentials.ts";
import { defaultWatchLimit, scopes } from "../../src/domain/partners.ts";
import { putBackEndpoint } from "../../src/domain/sandbox/endpoint.ts";
import { demoPartner, readRelay } from "../../src/domain/sandbox/state.ts";
import { stateTeachers } from "../../src/domain/sandbox/teachers.ts";
import { toldOfAll } from "../../src/domain/told.ts";
import type { Demo } from "../../src/http/local-caller.ts";
import { purposes } from "../../src/partner/contract.ts";
import type { Operator } from "../open.ts";
import { programWords } from "../program.ts";
import { isListening } from "./listen-relay.ts";
import { keptSecret, sealedSecret } from "./sandbox-register.ts";
import { fillSandbox } from "./sandbox-sample.ts";

/** The setting with the sandbox's demo key, encrypted. */
const demoKeyName = "sandbox_demo_key";

/**
 * Fills a sandbox at its first start, and says how to use it.
 * @param url where the sandbox listens
 * @returns the demo partner's key, and the lines to print, with `curl` commands to paste
 */
export async function prepareSandbox(
  operator: Operator,
  url: string,
): Promise<{ introduction: string; demo: Demo }> {
  await fillSandbox(operator);
  const apiKey = await demoKey(operator);
  await healEndpoint(operator);
  return { introduction: describe(operator, url, apiKey), demo: { partnerId: demoPartner, apiKey } };
}

/** The demo key, stored before the partner is added: a kill between the two leaves a key that the next start uses. */
async function demoKey(operator: Operator): Promise<string> {
  const { partners, secrets, clock, keyKind: kind } = operator;
  const options = { kind, secrets, now: clock.now() };
  const kept = { name: demoKeyName, mint: () => mintApiKey(demoPartner, options).text };
  const text = await keptSecret(operator, kept);
  if ((await partners.partners()).some(({ partnerId }) => partnerId === demoPartner)) {
    const known = (await partners.apiKeys()).find(({ keyId }) => keyId === apiKeyId(text, kind));
    return known !== undefined && isLive(known, options.now) ? text : renewDemoKey(operator, text);
  }
  const record = {
    partnerId: demoPartner,
    name: "Sandbox demo partner",
    scopes,
    purposes,
    perMinute: 600,
    perDay: 100_000,
    batchCost: "call" as const,
    watchLimit: defaultWatchLimit,
    told: toldOfAll,
    createdAt: clock.now(),
    disabledAt: null,
  };
  await partners.add(record, apiKeyRecord(text, demoPartner, options));
  return text;
}

/**
 * Another key for who has replaced the sandbox's by one that they keep (decision D17.31): whoever comes next finds one
 * again. Where two of their own live, there is no room for it.
 */
async function renewDemoKey(operator: Operator, text: string): Promise<string> {
  const { partners, settings, secrets, clock, keyKind: kind } = operator;
  const minted = mintApiKey(demoPartner, { kind, secrets, now: clock.now() });
  if (!(await partners.addKey(minted.record, { shortened: null, maxLive: maxLiveKeys }))) return text;
  await settings.write({ [demoKeyName]: sealedSecret(secrets, demoKeyName, minted.text) });
  return minted.text;
}

/** Puts the demo partner's endpoint back where a `tvs listen` was killed. */
async function healEndpoint(operator: Operator): Promise<void> {
  const { settings } = operator;
  const relay = readRelay(await settings.read());
  if (relay === null || (await isListening(relay.url))) return;
  await putBackEndpoint(operator, demoPartner, relay.url);
}

/** Where to begin, on one screen: the addresses first, then the key. */
function describe({ calendar, clock, dataDir }: Operator, url: string, apiKey: string): string {
  const api = `${url}/v1/inter-agency`;
  const tvs = programWords();
  const [first, , revoked] = stateTeachers;
  const question = `{"identifier":{"regNo":"${first?.regNo}"},"purpose":"BODYA_INVIGILATOR_ELIGIBILITY"}`;
  const today = calendar.dateAt(clock.now());
  const isMoved = createCalendar(calendar.timeZone).dateAt(clock.now()) !== today;
  const moved = `The day of this sandbox was moved: it judges licences as of ${today}. ${tvs} sandbox clock real ends that.`;
  return `
The tvs sandbox: made-up teachers and test keys, kept in ${dataDir}; nothing here is live.

Look up a teacher:  ${url}/
Verify an envelope: ${url}/verify-envelope
Getting started:    ${api}/getting-started
API reference:      ${api}/docs

Demo partner "${demoPartner}", API key ${apiKey}
${isMoved ? `\n${moved}\n` : ""}
Try:
  curl '${url}/teacher/verify-license?searchTerm=${first?.regNo}'
  curl ${api}/eligibility-check -H 'Authorization: Bearer ${apiKey}' -d '${question}'
  curl ${api}/lookup/by-tid/${revoked?.tId} -H 'x-agency-api-key: ${apiKey}'

In another terminal, ${dataDir === resolve("data") ? "in this folder" : "with the same --data"}:
  ${tvs} sandbox teachers                                    every made-up teacher, and what each shows
  ${tvs} listen --forward http://127.0.0.1:3000/events       receive webhooks
  ${tvs} trigger license.revoked                             cause one
  ${tvs} help sandbox                                        the rest; every other command takes --sandbox

`;
}
