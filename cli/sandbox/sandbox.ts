/** The sandbox (decision D9.4): `serve` fills it, `tvs sandbox` lists its teachers and resets it. */

import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import sample from "../../data/sample-registry.csv" with { type: "text" };
import {
  apiKeyRecord,
  isApiKeyLive,
  maxLiveApiKeys,
  mintApiKey,
  parseApiKeyId,
} from "../../src/domain/credentials.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { defaultEventFilter } from "../../src/domain/event-filter.ts";
import { importIntoRegister } from "../../src/domain/import/import.ts";
import type { ImportResult } from "../../src/domain/import/report.ts";
import { defaultWatchLimit, type Partner, scopes } from "../../src/domain/partners.ts";
import {
  demoPartner,
  expiringTeacher,
  makeSandboxExtract,
  sandboxTeachers,
  statusExampleTeachers,
} from "../../src/domain/sandbox/teachers.ts";
import { isSandbox } from "../../src/domain/settings.ts";
import { removeWebhook } from "../../src/domain/webhooks.ts";
import type { DemoPartner } from "../../src/http/local-caller.ts";
import { purposes } from "../../src/partner/contract.ts";
import { byName, configOf, makeGroup } from "../command.ts";
import { makeImportDependencies, type OpenedRegister, readStoredSettings, withRegister } from "../open.ts";
import { defineTvsCommand } from "../operator-command.ts";
import { programInvocation } from "../program.ts";
import { describeRegisterLocation } from "../register/register.ts";
import { formatMembers, hint, printList, printResult } from "../terminal/output.ts";

const demoKeyName = "sandbox_demo_key";

const receiverUrl = "http://localhost:9876";

/** Fills a sandbox at its first start. @returns the demo partner's key, and an introduction with commands to paste */
export async function prepareSandbox(
  operator: OpenedRegister,
  url: string,
): Promise<{ introduction: string; demo: DemoPartner }> {
  await fillSandbox(operator);
  const apiKey = await getDemoKey(operator);
  return { introduction: writeIntroduction(operator, url, apiKey), demo: { partnerId: demoPartner, apiKey } };
}

/**
 * Gets the demo partner's API key, which stays the same until it expires or is revoked. The key is stored before the partner
 * is added. After a kill between these two steps, the next start uses the stored key.
 */
async function getDemoKey({ partners, settings, secrets, clock, keyKind }: OpenedRegister): Promise<string> {
  const options = { kind: keyKind, secrets, now: clock.now() };
  const stored = (await settings.read()).get(demoKeyName);
  const key = stored === undefined ? await store(mintApiKey(demoPartner, options).text) : openKey(stored);
  if ((await partners.partners()).every(({ partnerId }) => partnerId !== demoPartner)) {
    await partners.add(makeDemoPartner(options.now), apiKeyRecord(key, demoPartner, options));
    return key;
  }
  const known = (await partners.apiKeys()).find(({ keyId }) => keyId === parseApiKeyId(key, keyKind));
  if (known !== undefined && isApiKeyLive(known, options.now)) return key;
  // The stored key has expired or was revoked. A partner with two live keys cannot get a third key.
  const { text, record } = mintApiKey(demoPartner, options);
  if (!(await partners.addKey(record, { shortened: null, maxLive: maxLiveApiKeys }))) return key;
  return store(text);

  function openKey(sealed: string): string {
    return new TextDecoder().decode(secrets.open(new Uint8Array(Buffer.from(sealed, "base64")), demoKeyName));
  }

  async function store(text: string): Promise<string> {
    const sealed = secrets.seal(new TextEncoder().encode(text), demoKeyName);
    await settings.write({ [demoKeyName]: Buffer.from(sealed).toString("base64") });
    return text;
  }
}

function makeDemoPartner(createdAt: number): Partner {
  return {
    ...{ partnerId: demoPartner, name: "Sandbox demo partner", scopes, purposes },
    ...{ perMinute: 600, perDay: 100_000, batchCost: "call", watchLimit: defaultWatchLimit },
    ...{ eventFilter: defaultEventFilter, createdAt, disabledAt: null },
  };
}

function writeIntroduction({ dataDir }: OpenedRegister, url: string, apiKey: string): string {
  const api = `${url}/v1/inter-agency`;
  const tvs = programInvocation();
  const [first, , revoked] = statusExampleTeachers;
  const question = `{"identifier":{"regNo":"${first?.regNo}"},"purpose":"BODYA_INVIGILATOR_ELIGIBILITY"}`;
  const commands = [
    [`${tvs} sandbox teachers`, "every made-up teacher, and what each shows"],
    [`${tvs} partners webhook set ${demoPartner} ${receiverUrl} --sandbox`, "send webhooks to your receiver"],
    [`${tvs} trigger license.revoked`, "cause one"],
    [`${tvs} help sandbox`, "the rest; every other command takes --sandbox"],
  ] as const;
  const widest = Math.max(...commands.map(([line]) => line.length));
  return `
The tvs sandbox: made-up teachers and test keys, kept in ${dataDir}; nothing here is live.

Look up a teacher:  ${url}/
Verify an envelope: ${url}/verify-envelope
Getting started:    ${api}/getting-started
API reference:      ${api}/docs

Demo partner "${demoPartner}", API key ${apiKey}

Try:
  curl '${url}/teacher/verify-license?searchTerm=${first?.regNo}'
  curl ${api}/eligibility-check -H 'Authorization: Bearer ${apiKey}' -d '${question}'
  curl ${api}/lookup/by-tid/${revoked?.tId} -H 'x-agency-api-key: ${apiKey}'

In another terminal, ${dataDir === resolve("data") ? "in this folder" : "with the same --data"}:
${commands.map(([line, what]) => `  ${line.padEnd(widest)}  ${what}`).join("\n")}

`;
}

/** Imports missing made-up teachers. The licence that ends soon gets a new expiry date once it has expired. */
async function fillSandbox(operator: OpenedRegister): Promise<void> {
  const { teachers, calendar, clock } = operator;
  const find = (regNo = "") => teachers.findStored({ by: "regNo", value: regNo });
  const [last = ""] = sample.trimEnd().split("\n").slice(-1);
  if ((await find(last.split(",")[0])) === null) await importSample(operator);
  if ((await find(sandboxTeachers.at(-1)?.regNo)) === null) {
    await importFixtures(operator, sandboxTeachers);
    return;
  }
  const soon = await find(expiringTeacher.regNo);
  const today = calendar.dateAt(clock.now());
  if (soon?.licenseExpiryDate != null && soon.licenseExpiryDate < today)
    await importFixtures(operator, [expiringTeacher]);
}

const importSample = (operator: OpenedRegister) => importText(operator, "sample-registry.csv", sample);

function importFixtures(operator: OpenedRegister, teachers: typeof sandboxTeachers): Promise<ImportResult> {
  const today = operator.calendar.dateAt(operator.clock.now());
  return importText(operator, "sandbox-teachers.ndjson", makeSandboxExtract(teachers, today));
}

/** Imports a text without events, because filling or resetting a sandbox must not announce changes of licences. */
function importText(operator: OpenedRegister, name: string, text: string): Promise<ImportResult> {
  const options = { baseline: true, allowChange: true, liftRevocations: true, isSample: true };
  return importIntoRegister({ name, bytes: inOnePiece(text) }, makeImportDependencies(operator), options);
}

async function* inOnePiece(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

/** Opens the sandbox, with or without the option `--sandbox`. @throws TvsError REGISTER_MISSING, REFUSED for a live register */
export async function withSandbox<T>(args: object, run: (operator: OpenedRegister) => Promise<T>) {
  const config = configOf({ ...args, sandbox: true });
  const stored = await readStoredSettings(config);
  const location = describeRegisterLocation(config);
  if (stored === null) {
    const isLiveThere = config.database.kind === "file" && existsSync(join(config.dataDir, "tvs.db"));
    const more = isLiveThere ? ", only a live register, which this command never touches" : "";
    const message = `there is no sandbox at ${location}${more}; tvs serve --sandbox makes one, and --data or TVS_DATA says where it is`;
    throw new TvsError("REGISTER_MISSING", message);
  }
  if (!isSandbox(stored)) {
    const message = `${location} is a live register, and this command is for a sandbox only`;
    throw new TvsError("REFUSED", message);
  }
  return withRegister(config, run);
}

const teachersCommand = defineTvsCommand("sandbox teachers", {
  async run({ args }) {
    const [first] = statusExampleTeachers;
    const shown = sandboxTeachers.map(({ regNo, tId, nin, shows }) => ({ regNo, tId, nin, shows }));
    printList(args, shown, {
      "REGISTRATION NUMBER": "regNo",
      "TEACHER ID": "tId",
      NIN: "nin",
      SHOWS: "shows",
    });
    // The phone number as people type it, without the country code.
    const phone = first?.phone?.replace(/^\+234(\d{3})(\d{3})/, "0$1 $2 ");
    hint(args, `the first can also be looked up by ${first?.email} and by ${phone}, the others likewise`);
  },
});

const resetCommand = defineTvsCommand("sandbox reset", {
  async run({ args }) {
    await withSandbox(args, async (operator) => {
      const results = [await importSample(operator), await importFixtures(operator, sandboxTeachers)];
      const teachers = results.reduce((sum, { inserted, updated }) => sum + inserted + updated, 0);
      const hasEndpoint = (await operator.webhooks.endpoint(demoPartner)) !== null;
      if (hasEndpoint) await removeWebhook(operator, demoPartner);
      const endpoint = hasEndpoint ? "removed" : "none";
      await resetNotifications(operator);
      printResult(args, { teachers, endpoint }, () =>
        formatMembers({ "teachers put back": teachers, [`endpoint of ${demoPartner}`]: endpoint }),
      );
    });
  },
});

async function resetNotifications({ partners, watches }: OpenedRegister): Promise<void> {
  // Before its first start a sandbox has no demo partner.
  if ((await partners.partners()).every(({ partnerId }) => partnerId !== demoPartner)) return;
  const { watchLimit } = await partners.update({ partnerId: demoPartner, eventFilter: defaultEventFilter });
  const watched = await watches.page(demoPartner, { after: "", limit: watchLimit });
  await watches.change(demoPartner, { add: [], remove: watched });
}

export const sandboxCommand = makeGroup(
  "List the sandbox's teachers, or put the sandbox back",
  byName(teachersCommand, resetCommand),
);
