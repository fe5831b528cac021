/** `tvs init`: a new register, and what it must know (decision D1.9). */

import { basename } from "node:path";
import { createInterface } from "node:readline";
import words from "../../data/commands.json" with { type: "json" };
import { type Config, type Environment, type Flags, readServeConfig, variableOf } from "../../src/config.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { keepForever, retentionSettings } from "../../src/domain/evidence/retention.ts";
import { issuerFlaw } from "../../src/domain/networks.ts";
import { shellWord } from "../../src/domain/plain-text.ts";
import type { Secrets } from "../../src/domain/secrets.ts";
import { initSettings, issuerToldName, onOff, statusListName } from "../../src/domain/settings.ts";
import { type Site, storedSite } from "../../src/domain/site.ts";
import { parseSite } from "../../src/domain/site-file.ts";
import { command, option, serveConfigOf } from "../command.ts";
import { hasRegister, withOperator } from "../open.ts";
import { programWords } from "../program.ts";
import { masterKeyLocation } from "../safe/vault.ts";
import { hint, note, print, record, terminalWidth } from "../terminal/output.ts";
import { wrapped } from "../terminal/tables.ts";
import { byArg } from "./operator-name.ts";
import { locationOf, serviceSettings } from "./register.ts";

/** What each answer may be is judged where it is used: by the settings, and for the site by {@link siteOf}. */
const questions: readonly Omit<Question, "check">[] = [
  {
    name: "issuer",
    words: "Public URL of the service, which envelopes name for ever (https://verify.example.gov)",
  },
  { name: "name", words: "Name of the registry, as every page and attestation shows it" },
  { name: "contact-email", words: "E-mail address for people's questions (Enter leaves it out)", usual: "" },
  { name: "time-zone", words: "Time zone whose midnight ends a licence", usual: "Africa/Lagos" },
  { name: "host", words: "IP address to listen on", usual: "127.0.0.1" },
  { name: "port", words: "Port", usual: "8080" },
  {
    name: "keep-attestations",
    words: "How long what was attested is kept: forever, or a time such as 7y",
    usual: keepForever,
  },
  {
    name: "access-log",
    words: "Log who called what and why it was refused, never what was asked (on or off)",
    usual: "on",
  },
  {
    name: "status-list",
    words: "Serve signed lists by which an envelope is checked later, offline, for a withdrawal (on or off)",
    usual: "on",
  },
];

/** What a register is made with, by the options' names, each judged. */
type Answers = Readonly<Record<string, string>>;

export const initCommand = command({
  ...words.init,
  args: {
    issuer: option("URL"),
    name: option("NAME"),
    "contact-email": option("ADDRESS"),
    "time-zone": option("ZONE"),
    host: option("ADDRESS"),
    port: option("N"),
    "keep-attestations": option("TIME"),
    "access-log": option("on|off"),
    "status-list": option("on|off"),
    ...byArg,
  },
  async run({ args }) {
    const { sandbox: isSandbox, ...flags } = args as Flags;
    if (isSandbox === true || process.env.TVS_SANDBOX)
      throw new TvsError("USAGE", "a sandbox needs no init: `serve --sandbox` makes it");
    const { file, environment } = serviceSettings(flags, process.env, { all: true });
    const config = serveConfigOf(flags, environment);
    if (await hasRegister(config)) throw registerThere(config);
    refuseRoot(config, file);
    const answers = await answersOf(flags, environment);
    await make(readServeConfig({ ...flags, ...answers }, environment), answers);
    const next = nextCommands(flags, file);
    const location = locationOf(config);
    const { "contact-email": contactEmail = null, port, ...rest } = answers;
    const told = { ...camel(rest), contactEmail, port: Number(port) };
    print(args, { location, masterKey: masterKeyLocation(config), ...told, next }, () =>
      [
        record({ register: location, ...answers }),
        "",
        `Keep a copy of the master key (${masterKeyLocation(config)}) apart from the backups: nothing opens without it.`,
        "",
        "Next:",
        ...next.map((words) => `  ${words}`),
      ].join("\n"),
    );
    warn(args, answers);
  },
});

function registerThere(config: Config): TvsError {
  const message =
    `there is a register at ${locationOf(config)} already; \`serve\` changes what it remembers ` +
    "(--issuer, --time-zone, --keep-attestations, --status-list, --site), and another register needs another --data";
  return new TvsError("REFUSED", message);
}

/**
 * Refuses root where a service is installed and its data folder is not its user's yet: it could not open the files.
 * @throws TvsError REFUSED
 */
function refuseRoot({ database }: Config, file: string | undefined): void {
  if (process.geteuid?.() !== 0 || database.kind !== "file" || file === undefined) return;
  const user = basename(file, ".env");
  throw new TvsError("REFUSED", `the register is to belong to the service's user: sudo -u ${user} tvs init`);
}

/**
 * What was given, and what is asked for where somebody can be.
 * @throws TvsError USAGE, CONFIG_INVALID, REFUSED
 */
async function answersOf(flags: Flags, environment: Environment): Promise<Answers> {
  const isSite = (name: string) => name === "name" || name === "contact-email";
  const check = (name: string, answer: string): void => {
    if (isSite(name)) siteOf({ name: "-", [name]: answer });
    else readServeConfig({ [name]: answer }, {});
  };
  const given: Record<string, string> = {};
  for (const { name } of questions) {
    const told = flags[name] ?? (isSite(name) ? undefined : environment[variableOf(name)]);
    if (typeof told === "string" && told !== "") given[name] = told;
  }
  for (const [name, answer] of Object.entries(given)) check(name, answer);
  const open = questions.filter(({ name }) => given[name] === undefined);
  const canAsk = flags.json !== true && process.stdin.isTTY === true && process.stderr.isTTY === true;
  const answers = canAsk
    ? await ask(open.map((question) => ({ ...question, check: (answer) => check(question.name, answer) })))
    : usualAnswers(open);
  const all = { ...answers, ...given };
  // In the order of the questions, whoever answered them.
  return Object.fromEntries(questions.flatMap(({ name }) => (all[name] ? [[name, all[name]]] : [])));
}

/** @throws TvsError USAGE for what nobody can be asked */
function usualAnswers(open: readonly Omit<Question, "check">[]): Record<string, string> {
  const missing = open.filter(({ usual }) => usual === undefined).map(({ name }) => `--${name}`);
  if (missing.length > 0)
    throw new TvsError("USAGE", `nobody can be asked here; give ${missing.join(" and ")} too`);
  return Object.fromEntries(open.flatMap(({ name, usual }) => (usual ? [[name, usual]] : [])));
}

/** The site as `--site` would read it, of a name and perhaps an address. @throws TvsError CONFIG_INVALID */
function siteOf({ name, "contact-email": email }: Answers): Site {
  const contact = email === undefined ? {} : { contact: { email } };
  try {
    return parseSite(JSON.stringify({ name, ...contact }), () => new Uint8Array());
  } catch (error) {
    if (!isTvsError(error)) throw error;
    const message = error.message
      .replace("the site is not valid: ", "")
      .replace(/^contact\.email/, "--contact-email")
      .replace(/^name/, "--name");
    throw new TvsError("CONFIG_INVALID", message);
  }
}

/** @throws TvsError REFUSED where another command has made a register meanwhile, and what making one throws */
async function make(config: Config, answers: Answers): Promise<void> {
  const firstSettings = (secrets: Secrets) => ({
    issuer: config.issuer ?? "",
    [issuerToldName]: "true",
    time_zone: answers["time-zone"] ?? "",
    [statusListName]: onOff(config.statusList ?? false),
    site: storedSite(siteOf(answers)),
    ...Object.fromEntries(
      Object.entries(initSettings).map(([name, setting]) => [setting, answers[name] ?? ""]),
    ),
    ...retentionSettings(answers["keep-attestations"] ?? keepForever, secrets),
  });
  const isNew = await withOperator(config, async (operator) => operator.isNew, {
    whenMade: () => {},
    firstSettings,
  });
  if (!isNew) throw registerThere(config);
}

function nextCommands(flags: Flags, file: string | undefined): string[] {
  const user = file === undefined ? undefined : basename(file, ".env");
  const place = ["data", "database"].flatMap((name) =>
    flags[name] ? [` --${name} ${shellWord(String(flags[name]))}`] : [],
  );
  const tvs = user === undefined ? programWords() : `sudo -u ${user} ${programWords()}`;
  const where = place.join("");
  return [
    `${tvs} teachers import extract.csv --baseline${where}`,
    `${tvs} partners add exam-board --name "Examination Board" --scopes eligibility --purposes BODYA_INVIGILATOR_ELIGIBILITY --per-minute 60 --per-day 1000${where}`,
    user === undefined ? `${tvs} serve${where}` : `sudo systemctl enable --now ${user}`,
  ];
}

function camel(answers: Answers): Answers {
  const name = (option: string) => option.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(answers).map(([option, value]) => [name(option), value]));
}

/** Says what is right for a trial and wrong for a service that others are to rely on. */
function warn(args: { json?: unknown }, { issuer = "" }: Answers): void {
  const flaw = issuerFlaw(issuer);
  if (flaw === "loopback")
    note("this issuer is this machine alone: envelopes will name an address that partners cannot reach");
  if (flaw === "http") note("this issuer is http: whoever is on the way can change what partners read");
  hint(args, "`tvs help install` has the rest: systemd, backups, alerts; `tvs help proxy` a reverse proxy");
}

type Question = {
  readonly name: string;
  readonly words: string;
  /** The answer of who only presses Enter; absent where there must be one, empty where there need not. */
  readonly usual?: string;
  /** Refuses an answer. @throws TvsError whose message says why */
  check(answer: string): void;
};

/**
 * Asks each question until its answer is right. Questions go to stderr, as all remarks do.
 * @returns the answers by their names, without those that were left empty
 * @throws TvsError REFUSED when the input ends before the last answer
 */
async function ask(questions: readonly Question[]): Promise<Record<string, string>> {
  // One reader for all answers: what a second one would begin with, the first has already read.
  const asked = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const lines = asked[Symbol.asyncIterator]();
  const answers: Record<string, string> = {};
  try {
    for (const question of questions) {
      const answer = await askOne(question, lines);
      if (answer !== "") answers[question.name] = answer;
    }
    return answers;
  } finally {
    asked.close();
  }
}

async function askOne(question: Question, lines: AsyncIterator<string>): Promise<string> {
  const { words, usual, check } = question;
  const prompt = wrapped(`${words}${usual ? ` [${usual}]` : ""}:`, terminalWidth() - 1);
  for (;;) {
    process.stderr.write(`${prompt} `);
    const { value, done } = await lines.next();
    if (done === true) throw new TvsError("REFUSED", "cancelled; nothing was made");
    const answer = value.trim() || usual;
    try {
      if (answer === undefined) throw new TvsError("USAGE", "this one must be answered");
      if (answer !== "") check(answer);
      return answer;
    } catch (error) {
      if (!isTvsError(error)) throw error;
      note(`  ${error.message}`);
    }
  }
}
