/** The sandbox: how `serve` fills it, and `tvs sandbox`, which lists its teachers and puts it back (decision D9.4). */

import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import words from "../../data/commands.json" with { type: "json" };
import sample from "../../data/sample-registry.csv" with { type: "text" };
import type { Config } from "../../src/config.ts";
import { apiKeyId, apiKeyRecord, isLive, maxLiveKeys, mintApiKey } from "../../src/domain/credentials.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { allEvents } from "../../src/domain/event-filter.ts";
import { importRegister } from "../../src/domain/import/import.ts";
import { readPieces } from "../../src/domain/import/read.ts";
import type { ImportResult } from "../../src/domain/import/report.ts";
import { defaultWatchLimit, scopes } from "../../src/domain/partners.ts";
import {
  demoPartner,
  endingSoon,
  sandboxExtract,
  sandboxTeachers,
  stateTeachers,
} from "../../src/domain/sandbox/teachers.ts";
import { isSandbox } from "../../src/domain/settings.ts";
import { removeWebhook } from "../../src/domain/webhooks.ts";
import type { Demo } from "../../src/http/local-caller.ts";
import { purposes } from "../../src/partner/contract.ts";
import { command, configOf, group } from "../command.ts";
import { type CommandContext, importDependencies, settingsOfRegister, withContext } from "../open.ts";
import { programWords } from "../program.ts";
import { locationOf } from "../register/register.ts";
import { hint, print, printList, record } from "../terminal/output.ts";

const demoKeyName = "sandbox_demo_key";

const receiverUrl = "http://localhost:9876";

/**
 * Fills a sandbox at its first start, and says how to use it.
 * @returns the demo partner's key, and the lines to print, with `curl` commands to paste
 */
export async function prepareSandbox(
  operator: CommandContext,
  url: string,
): Promise<{ introduction: string; demo: Demo }> {
  await fillSandbox(operator);
  const apiKey = await demoKey(operator);
  return { introduction: describe(operator, url, apiKey), demo: { partnerId: demoPartner, apiKey } };
}

/**
 * The key of the demo partner, the same at every start while it is live. It is stored before the partner is added: a
 * kill between the two leaves a key that the next start uses.
 */
async function demoKey({
  partners,
  settings,
  secrets,
  clock,
  keyKind: kind,
}: CommandContext): Promise<string> {
  const options = { kind, secrets, now: clock.now() };
  const stored = (await settings.read()).get(demoKeyName);
  const kept = stored === undefined ? mintKey() : openKey(stored);
  if (stored === undefined) await keep(kept);
  if ((await partners.partners()).every(({ partnerId }) => partnerId !== demoPartner)) {
    await partners.add(demoRecord(options.now), apiKeyRecord(kept, demoPartner, options));
    return kept;
  }
  const known = (await partners.apiKeys()).find(({ keyId }) => keyId === apiKeyId(kept, kind));
  if (known !== undefined && isLive(known, options.now)) return kept;
  // The kept key has ended. There is no room for another one where the partner has two live keys.
  const next = mintKey();
  const added = apiKeyRecord(next, demoPartner, options);
  if (!(await partners.addKey(added, { shortened: null, maxLive: maxLiveKeys }))) return kept;
  await keep(next);
  return next;

  function mintKey(): string {
    return mintApiKey(demoPartner, options).text;
  }

  function openKey(sealed: string): string {
    return new TextDecoder().decode(secrets.open(new Uint8Array(Buffer.from(sealed, "base64")), demoKeyName));
  }

  async function keep(text: string): Promise<void> {
    const sealed = secrets.seal(new TextEncoder().encode(text), demoKeyName);
    await settings.write({ [demoKeyName]: Buffer.from(sealed).toString("base64") });
  }
}

function demoRecord(createdAt: number) {
  return {
    partnerId: demoPartner,
    name: "Sandbox demo partner",
    scopes,
    purposes,
    perMinute: 600,
    perDay: 100_000,
    batchCost: "call" as const,
    watchLimit: defaultWatchLimit,
    eventFilter: allEvents,
    createdAt,
    disabledAt: null,
  };
}

/** Where to begin, on one screen: the addresses first, then the key. */
function describe({ dataDir }: CommandContext, url: string, apiKey: string): string {
  const api = `${url}/v1/inter-agency`;
  const tvs = programWords();
  const [first, , revoked] = stateTeachers;
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

/**
 * Imports the made-up teachers that are not there yet: only the first start costs time. A licence that was to end soon
 * and has ended is made to end soon again.
 */
async function fillSandbox(operator: CommandContext): Promise<void> {
  const { teachers, calendar, clock } = operator;
  const find = (regNo = "") => teachers.findStored({ by: "regNo", value: regNo });
  const [last = ""] = sample.trimEnd().split("\n").slice(-1);
  if ((await find(last.split(",")[0])) === null) await importSample(operator);
  if ((await find(sandboxTeachers.at(-1)?.regNo)) === null) {
    await importFixtures(operator, sandboxTeachers);
    return;
  }
  const soon = await find(endingSoon.regNo);
  const today = calendar.dateAt(clock.now());
  if (soon?.licenseExpiryDate != null && soon.licenseExpiryDate < today)
    await importFixtures(operator, [endingSoon]);
}

function importSample(operator: CommandContext): Promise<ImportResult> {
  return importText(operator, "sample-registry.csv", sample);
}

function importFixtures(operator: CommandContext, teachers: typeof sandboxTeachers): Promise<ImportResult> {
  const today = operator.calendar.dateAt(operator.clock.now());
  return importText(operator, "sandbox-teachers.ndjson", sandboxExtract(teachers, today));
}

/** Tells partners nothing: a sandbox is filled and put back, nobody's licence has changed. */
function importText(operator: CommandContext, name: string, text: string): Promise<ImportResult> {
  const options = { baseline: true, allowChange: true, liftRevocations: true, isSample: true };
  const pieces = readPieces({ name, bytes: inOnePiece(text) }, operator.blindIndex);
  return importRegister({ name, pieces }, importDependencies(operator), options);
}

async function* inOnePiece(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

/**
 * Opens the sandbox for a command that works on no other database, acts and closes. `--sandbox` need not be given.
 * @throws TvsError REGISTER_MISSING, REFUSED for a live register, in which nothing is changed
 */
export async function withSandbox<T>(
  args: object,
  act: (operator: CommandContext) => Promise<T>,
): Promise<T> {
  const config = configOf({ ...args, sandbox: true });
  await requireSandbox(config);
  return withContext(config, act);
}

async function requireSandbox(config: Config): Promise<void> {
  const stored = await settingsOfRegister(config);
  const place = locationOf(config);
  if (stored === null) {
    const isLiveThere = config.database.kind === "file" && existsSync(join(config.dataDir, "tvs.db"));
    const more = isLiveThere ? ", only a live register, which this command never touches" : "";
    const message = `there is no sandbox at ${place}${more}; tvs serve --sandbox makes one, and --data or TVS_DATA says where it is`;
    throw new TvsError("REGISTER_MISSING", message);
  }
  const refusal = `${place} is a live register, and this command is for a sandbox only`;
  if (!isSandbox(stored)) throw new TvsError("REFUSED", refusal);
}

const teachersCommand = command({
  ...words["sandbox teachers"],
  async run({ args }) {
    const [first] = stateTeachers;
    const shown = sandboxTeachers.map(({ regNo, tId, nin, shows }) => ({ regNo, tId, nin, shows }));
    printList(args, shown, {
      "REGISTRATION NUMBER": "regNo",
      "TEACHER ID": "tId",
      NIN: "nin",
      SHOWS: "shows",
    });
    // Phones are typed as people type them; the country code is the service's business.
    const phone = first?.phone?.replace(/^\+234(\d{3})(\d{3})/, "0$1 $2 ");
    hint(args, `the first can also be looked up by ${first?.email} and by ${phone}, the others likewise`);
  },
});

const resetCommand = command({
  ...words["sandbox reset"],
  async run({ args }) {
    await withSandbox(args, async (operator) => {
      const results = [await importSample(operator), await importFixtures(operator, sandboxTeachers)];
      const teachers = results.reduce((sum, { inserted, updated }) => sum + inserted + updated, 0);
      const hasEndpoint = (await operator.webhooks.endpoint(demoPartner)) !== null;
      if (hasEndpoint) await removeWebhook(operator, demoPartner);
      const endpoint = hasEndpoint ? "removed" : "none";
      await resetTold(operator);
      print(args, { teachers, endpoint }, () =>
        record({ "teachers put back": teachers, [`endpoint of ${demoPartner}`]: endpoint }),
      );
    });
  },
});

async function resetTold({ partners, watches }: CommandContext): Promise<void> {
  // The first service that is started over a sandbox makes the demo partner.
  if ((await partners.partners()).every(({ partnerId }) => partnerId !== demoPartner)) return;
  const { watchLimit } = await partners.update({ partnerId: demoPartner, eventFilter: allEvents });
  const watched = await watches.page(demoPartner, { after: "", limit: watchLimit });
  await watches.change(demoPartner, { add: [], remove: watched });
}

export const sandboxCommand = group("List the sandbox's teachers, or put the sandbox back", {
  teachers: async () => teachersCommand,
  reset: async () => resetCommand,
});
