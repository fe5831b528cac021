import { Buffer } from "node:buffer";
import sample from "../data/sample-registry.csv" with { type: "text" };
import { apiKeyRecord, mintApiKey } from "../src/domain/credentials.ts";
import { importRegister } from "../src/domain/import/import.ts";
import { scopes } from "../src/domain/partners.ts";
import { sandboxTeachers } from "../src/domain/sandbox-teachers.ts";
import type { Secrets } from "../src/domain/secrets.ts";
import { purposes } from "../src/partner/contract.ts";
import type { Demo } from "../src/server/local-caller.ts";
import { importDependencies, type Operator } from "./open.ts";

const demoPartner = "demo";
/** The setting with the sandbox's demo key, encrypted, so that it is the same at every start. */
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
  await importSample(operator);
  const apiKey = await demoKey(operator);
  return { introduction: describe(url, apiKey), demo: { partnerId: demoPartner, apiKey } };
}

/**
 * Imports the sample. An unfinished import continues, and a finished one changes nothing: only the first start costs
 * time.
 */
async function importSample(operator: Operator): Promise<void> {
  const [last] = sample.trimEnd().split("\n").slice(-1);
  const regNo = last?.split(",")[0] ?? "";
  if ((await operator.stores.teachers.find({ by: "regNo", value: regNo })) !== null) return;
  const input = { name: "sample-registry.csv", bytes: inOnePiece(sample) };
  await importRegister(input, importDependencies(operator), { baseline: true, allowChange: true });
}

async function* inOnePiece(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

/** The demo key, stored before the partner is added: a kill between the two leaves a key that the next start uses. */
async function demoKey({
  stores: { settings, partners },
  secrets,
  clock,
  keyKind: kind,
}: Operator): Promise<string> {
  const options = { kind, secrets, now: clock.now() };
  const stored = (await settings.read()).get(demoKeyName);
  const text = stored === undefined ? mintApiKey(demoPartner, options).text : unsealed(stored, secrets);
  if (stored === undefined) {
    const sealed = secrets.seal(new TextEncoder().encode(text), demoKeyName);
    await settings.write({ [demoKeyName]: Buffer.from(sealed).toString("base64") });
  }
  if ((await partners.partners()).some(({ partnerId }) => partnerId === demoPartner)) return text;
  const record = {
    partnerId: demoPartner,
    name: "Sandbox demo partner",
    scopes,
    purposes,
    perMinute: 600,
    perDay: 100_000,
    batchCost: "call" as const,
    createdAt: clock.now(),
    disabledAt: null,
  };
  await partners.add(record, apiKeyRecord(text, demoPartner, options));
  return text;
}

function unsealed(stored: string, secrets: Secrets): string {
  return new TextDecoder().decode(secrets.open(new Uint8Array(Buffer.from(stored, "base64")), demoKeyName));
}

function describe(url: string, apiKey: string): string {
  const api = `${url}/v1/inter-agency`;
  const rows = sandboxTeachers.map(({ regNo, tId, nin, shows }) => `  ${regNo}  ${tId}  ${nin}  ${shows}`);
  const [first] = sandboxTeachers;
  // Phones are typed as people type them; the country code is the service's business.
  const phone = first?.phone.replace(/^\+234(\d{3})(\d{3})/, "0$1 $2 ");
  const question = `{"identifier":{"regNo":"${first?.regNo}"},"purpose":"BODYA_INVIGILATOR_ELIGIBILITY"}`;
  return `
The tvs sandbox: made-up teachers and test keys; nothing here is live.

Demo partner "${demoPartner}", API key ${apiKey}

Teachers (registration number, teacher id, NIN):
${rows.join("\n")}
The first one can also be looked up by ${first?.email} and by ${phone}, the others likewise.

Try:
  curl '${url}/teacher/verify-license?searchTerm=${first?.regNo}'
  curl ${api}/eligibility-check -H 'Authorization: Bearer ${apiKey}' -d '${question}'
  curl ${api}/lookup/by-tid/${sandboxTeachers[2]?.tId} -H 'x-agency-api-key: ${apiKey}'
  curl ${api}/.well-known/jwks.json

Look up a teacher:  ${url}/
Verify an envelope: ${url}/verify-envelope
Getting started:    ${api}/getting-started
API reference:      ${api}/docs

Commands work on it with --sandbox and the same --data, for example: tvs status --sandbox
Webhooks to this machine: start it with --allow-private-webhooks, and use that option with tvs partners webhook set too.

`;
}
