/** The command `tvs init`, which makes a register with its first settings (decision D1.9). */

import { basename } from "node:path";
import { createInterface } from "node:readline";
import words from "../../data/commands.json" with { type: "json" };
import type { CommandLineOptions, Config, Environment, ServeConfig } from "../../src/config.ts";
import { readServeConfig } from "../../src/config.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { foreverRetention, makeRetentionSettings } from "../../src/domain/evidence/retention.ts";
import { findIssuerFlaw } from "../../src/domain/networks.ts";
import { quoteShellWord } from "../../src/domain/plain-text.ts";
import type { Secrets } from "../../src/domain/secrets.ts";
import {
  envVariableOf,
  issuerIsSetSettingName,
  optionNameOf,
  type SettingRow,
  serializeSetting,
  serveSettings,
  sharedSettings,
  storedNameOf,
} from "../../src/domain/settings.ts";
import type { SiteDetails } from "../../src/domain/site.ts";
import { parseSiteFile } from "../../src/domain/site-file.ts";
import { option, serveConfigOf } from "../command.ts";
import { hasRegister, withRegister } from "../open.ts";
import { defineTvsCommand } from "../operator-command.ts";
import { programInvocation } from "../program.ts";
import { describeMasterKeyLocation } from "../safe/vault.ts";
import {
  chooseTextWidth,
  formatMembers,
  hint,
  printNote,
  printResult,
  wrapText,
} from "../terminal/output.ts";
import { actorArg } from "./operator-name.ts";
import { addServiceSettings, describeRegisterLocation } from "./register.ts";

const asked = new Map(
  Object.entries<SettingRow>({ ...sharedSettings, ...serveSettings })
    .filter(([, { init }]) => init !== undefined)
    .map(([name, setting]) => [optionNameOf(name), setting]),
);

type Question = {
  readonly name: string;
  readonly words: string;
  readonly hint: string;
  /** The default answer, which Enter gives. Undefined: an answer is required. Empty: Enter skips the question. */
  readonly usual: string | undefined;
};

/** The questions of `tvs init`, in the order of commands.json. The setting `site` stores the name and the e-mail address. */
const questions = Object.entries(words.init.options).map(([name, words]): Question => {
  if (name === "name") return { name, words, hint: "NAME", usual: undefined };
  if (name === "contact-email") return { name, words, hint: "ADDRESS", usual: "" };
  const { hint = "on|off", usual, init } = asked.get(name) as SettingRow;
  return { name, words, hint, usual: init === true ? usual : init };
});

type Answers = Readonly<Record<string, string>>;

export const initCommand = defineTvsCommand("init", {
  args: {
    ...Object.fromEntries(
      questions.map(({ name, words, hint, usual }) => [
        name,
        option(hint, usual ? `${words} (default ${usual})` : words),
      ]),
    ),
    ...actorArg,
  },
  async run({ args }) {
    const { sandbox: isSandbox, ...flags } = args as CommandLineOptions;
    if (isSandbox === true || process.env.TVS_SANDBOX)
      throw new TvsError("USAGE", "a sandbox needs no init: `serve --sandbox` makes it");
    const { file, environment } = addServiceSettings(flags, process.env, { all: true });
    const config = serveConfigOf(flags, environment);
    if (await hasRegister(config)) throw registerThere(config);
    refuseRoot(config, file);
    const answers = await answersOf(flags, environment);
    await makeRegister(readServeConfig({ ...flags, ...answers }, environment), answers);
    const next = nextCommands(flags, file);
    const [location, masterKey] = [describeRegisterLocation(config), describeMasterKeyLocation(config)];
    const { contactEmail = null, port, ...others } = camelCaseNames(answers);
    printResult(args, { location, masterKey, ...others, contactEmail, port: Number(port), next }, () =>
      [
        formatMembers({ register: location, ...answers }),
        `\nKeep a copy of the master key (${masterKey}) apart from the backups: nothing opens without it.\n`,
        "Next:",
        ...next.map((words) => `  ${words}`),
      ].join("\n"),
    );
    const warning = issuerWarnings[findIssuerFlaw(answers.issuer ?? "") ?? "none"];
    if (warning !== undefined) printNote(warning);
    hint(args, "`tvs help install` has the rest: systemd, backups, alerts; `tvs help proxy` a reverse proxy");
  },
});

const issuerWarnings: Readonly<Record<string, string>> = {
  loopback: "this issuer is this machine alone: envelopes will name an address that partners cannot reach",
  http: "this issuer is http: whoever is on the way can change what partners read",
};

function registerThere(config: Config): TvsError {
  const message =
    `there is a register at ${describeRegisterLocation(config)} already; \`serve\` changes what it remembers ` +
    "(--issuer, --time-zone, --keep-attestations, --status-list, --site), and another register needs another --data";
  return new TvsError("REFUSED", message);
}

/** Refuses root if a service is installed, because the service's user could not open files of root. @throws TvsError REFUSED */
function refuseRoot({ database }: Config, file: string | undefined): void {
  if (process.geteuid?.() !== 0 || database.kind !== "file" || file === undefined) return;
  const user = basename(file, ".env");
  throw new TvsError("REFUSED", `the register is to belong to the service's user: sudo -u ${user} tvs init`);
}

/**
 * Collects the answers from options and environment variables. At a terminal, asks for missing answers.
 * @throws TvsError CONFIG_INVALID for an invalid option, USAGE if a required answer is missing, REFUSED if the input ends
 */
async function answersOf(flags: CommandLineOptions, environment: Environment): Promise<Answers> {
  const given: Record<string, string> = {};
  for (const { name } of questions) {
    const answer = flags[name] ?? (asked.has(name) ? environment[envVariableOf(name)] : undefined);
    if (typeof answer === "string" && answer !== "") given[name] = answer;
  }
  for (const [name, answer] of Object.entries(given)) checkAnswer(name, answer);
  const open = questions.filter(({ name }) => given[name] === undefined);
  const canAsk = flags.json !== true && process.stdin.isTTY === true && process.stderr.isTTY === true;
  const all = { ...(canAsk ? await askQuestions(open) : usualAnswers(open)), ...given };
  return Object.fromEntries(questions.flatMap(({ name }) => (all[name] ? [[name, all[name]]] : [])));
}

function checkAnswer(name: string, answer: string): void {
  if (asked.has(name)) readServeConfig({ [name]: answer }, {});
  else siteOf({ name: "-", [name]: answer });
}

/** Answers open questions with their defaults. @throws TvsError USAGE for a question without a default */
function usualAnswers(open: readonly Question[]): Record<string, string> {
  const missing = open.filter(({ usual }) => usual === undefined).map(({ name }) => `--${name}`);
  if (missing.length > 0)
    throw new TvsError("USAGE", `nobody can be asked here; give ${missing.join(" and ")} too`);
  return Object.fromEntries(open.map(({ name, usual = "" }) => [name, usual]));
}

/** Makes the site's settings from a name and an e-mail address. @throws TvsError CONFIG_INVALID if one is invalid */
function siteOf({ name, "contact-email": email }: Answers): SiteDetails {
  const contact = email === undefined ? {} : { contact: { email } };
  try {
    return parseSiteFile(JSON.stringify({ name, ...contact }), () => new Uint8Array());
  } catch (error) {
    if (!isTvsError(error)) throw error;
    const message = error.message
      .replace("the site is not valid: ", "")
      .replace(/^contact\.email/, "--contact-email")
      .replace(/^name/, "--name");
    throw new TvsError("CONFIG_INVALID", message);
  }
}

async function makeRegister(config: ServeConfig, answers: Answers): Promise<void> {
  const remembered = [...asked.keys()].map((name) => [storedNameOf(name), answers[name] ?? ""]);
  const firstSettings = (secrets: Secrets) => ({
    ...Object.fromEntries(remembered),
    issuer: config.issuer ?? "",
    [issuerIsSetSettingName]: "true",
    status_list: serializeSetting(config.statusList ?? false),
    site: JSON.stringify(siteOf(answers)),
    ...makeRetentionSettings(answers["keep-attestations"] ?? foreverRetention, secrets),
  });
  const options = { whenMade: () => {}, firstSettings };
  if (!(await withRegister(config, async ({ isNew }) => isNew, options))) throw registerThere(config);
}

function nextCommands(flags: CommandLineOptions, file: string | undefined): string[] {
  const user = file === undefined ? undefined : basename(file, ".env");
  const tvs = user === undefined ? programInvocation() : `sudo -u ${user} ${programInvocation()}`;
  const given = ["data", "database"].filter((name) => flags[name]);
  const where = given.map((name) => ` --${name} ${quoteShellWord(String(flags[name]))}`).join("");
  return [
    `${tvs} teachers import extract.csv --baseline${where}`,
    `${tvs} partners add exam-board --name "Examination Board" --scopes eligibility --purposes BODYA_INVIGILATOR_ELIGIBILITY --per-minute 60 --per-day 1000${where}`,
    user === undefined ? `${tvs} serve${where}` : `sudo systemctl enable --now ${user}`,
  ];
}

function camelCaseNames(answers: Answers): Answers {
  const name = (option: string) => option.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(answers).map(([option, value]) => [name(option), value]));
}

/** Asks each question until its answer is valid. A skipped question has an empty answer. @throws TvsError REFUSED if input ends */
async function askQuestions(open: readonly Question[]): Promise<Record<string, string>> {
  // All questions share one reader: a reader reads ahead, so a second reader would miss answers that the first has read.
  const asked = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const lines = asked[Symbol.asyncIterator]();
  const answers: Record<string, string> = {};
  try {
    for (const question of open) answers[question.name] = await askOne(question, lines);
    return answers;
  } finally {
    asked.close();
  }
}

async function askOne(question: Question, lines: AsyncIterator<string>): Promise<string> {
  const { name, words, hint, usual } = question;
  const choices = hint === "on|off" ? " (on or off)" : "";
  const enter = usual === "" ? " (Enter leaves it out)" : usual && ` [${usual}]`;
  const prompt = wrapText(`${words}${choices}${enter ?? ""}:`, chooseTextWidth() - 1);
  for (;;) {
    process.stderr.write(`${prompt} `);
    const { value, done } = await lines.next();
    if (done === true) throw new TvsError("REFUSED", "cancelled; nothing was made");
    const answer = value.trim() || usual;
    try {
      if (answer === undefined) throw new TvsError("USAGE", "this one must be answered");
      if (answer !== "") checkAnswer(name, answer);
      return answer;
    } catch (error) {
      if (!isTvsError(error)) throw error;
      printNote(`  ${error.message}`);
    }
  }
}
