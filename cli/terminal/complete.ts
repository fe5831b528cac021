/** What could come next on a command line: the completion scripts ask, with the words so far. */

import type { ArgDef, ArgsDef } from "citty";
import { describeApiKey } from "../../src/domain/credentials.ts";
import { deliveryStates } from "../../src/domain/deliveries.ts";
import { scopes } from "../../src/domain/partners.ts";
import { eventTypes, purposes } from "../../src/partner/contract.ts";
import { configOf, type OurCommand } from "../command.ts";
import type { Operator } from "../open.ts";

/** Values that are always the same, by option or operand. Lists end with commas and go on. */
const choices: Readonly<Record<string, readonly string[]>> = {
  scopes: ["all", ...scopes],
  purposes: ["all", ...purposes],
  purpose: purposes,
  events: ["all", ...eventTypes],
  state: deliveryStates,
  "signing-engine": ["auto", "openssl", "webcrypto"],
};
const lists = ["scopes", "purposes", "events"];
const maxIds = 200;

type Ids = (operator: Operator) => Promise<readonly (readonly [id: string, meaning: string])[]>;

/** Ids that are looked up in the database at hand, by the operand's or option's name. */
const ids: Readonly<Record<string, Ids>> = {
  id: partnerIds,
  partner: partnerIds,
  kid: async ({ stores: { keys } }) => (await keys.list()).map((key) => [key.kid, key.state]),
  keyid: async ({ stores: { partners }, clock }) =>
    (await partners.apiKeys()).map((key) => {
      const { keyId, state, partnerId } = { ...describeApiKey(key, clock.now()), partnerId: key.partnerId };
      return [keyId, `${partnerId}, ${state}`];
    }),
  delivery: async ({ stores: { webhooks } }) =>
    (await webhooks.deliveries({ state: undefined, partnerId: undefined, limit: maxIds })).map((one) => [
      one.deliveryId,
      `${one.state}, ${one.partnerId}, ${one.eventType}`,
    ]),
};

async function partnerIds({ stores: { partners } }: Operator) {
  return (await partners.partners()).map((one) => [one.partnerId, one.name] as const);
}

type Candidate = readonly [word: string, meaning: string];

/**
 * Prints what may follow, a line each: the word, a tab, what it means. Nothing is printed where a file is meant,
 * or nothing is known: the shell offers files then.
 * @param words those before the cursor, the last one being begun (and perhaps empty)
 * @returns the exit code, 0: whoever presses Tab does not want to read of an error
 */
export async function complete(root: OurCommand, words: readonly string[]): Promise<number> {
  const found = await candidates(root, words).catch((): Candidate[] => []);
  const text = found.map(([word, meaning]) => `${word}\t${oneLine(meaning)}\n`).join("");
  process.stdout.write(text);
  return 0;
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, " ").replace(/\. (?:[A-Z]|--json).*$/s, "");
}

export async function candidates(root: OurCommand, words: readonly string[]): Promise<Candidate[]> {
  const begun = words.at(-1) ?? "";
  const { command, operands, open } = await readLine(root, words.slice(0, -1));
  const all = await offers(command, { begun, operands, open, words });
  return all.filter(([word]) => word.startsWith(begun));
}

type Line = { command: OurCommand; operands: number; open: string | null };

/** Follows the words: which command they name, how many operands it has, and which option waits for its value. */
async function readLine(root: OurCommand, words: readonly string[]): Promise<Line> {
  const line: Line = { command: root, operands: 0, open: null };
  for (const word of words) {
    if (line.open !== null) line.open = null;
    else if (word.startsWith("--"))
      line.open = word.includes("=") || !takesValue(line.command, word.slice(2)) ? null : word.slice(2);
    else if (line.operands === 0) await descend(line, word);
    else line.operands++;
  }
  return line;
}

async function descend(line: Line, word: string): Promise<void> {
  const table = tableOf(line.command);
  const load = Object.hasOwn(table, word) ? table[word] : undefined;
  if (load === undefined) line.operands++;
  else line.command = await load();
}

function tableOf(command: OurCommand): Record<string, () => Promise<OurCommand>> {
  return (command.subCommands ?? {}) as Record<string, () => Promise<OurCommand>>;
}

function argsOf(command: OurCommand): Record<string, ArgDef> {
  return (command.args ?? {}) as ArgsDef;
}

function takesValue(command: OurCommand, name: string): boolean {
  // Before a command only the common options stand, two of which take a value.
  return command.args === undefined
    ? /^(data|database)$/.test(name)
    : argsOf(command)[name]?.type === "string";
}

type Asked = { begun: string; operands: number; open: string | null; words: readonly string[] };

async function offers(command: OurCommand, { begun, operands, open, words }: Asked): Promise<Candidate[]> {
  const [, inline] = /^--([\w-]+)=/.exec(begun) ?? [];
  if (inline !== undefined)
    return (await values(command, inline, begun.slice(inline.length + 3), words)).map(([word, meaning]) => [
      `--${inline}=${word}`,
      meaning,
    ]);
  if (open !== null) return values(command, open, begun, words);
  if (begun.startsWith("-")) return flags(command, words);
  const positional = Object.entries(argsOf(command)).filter(([, one]) => one.type === "positional")[operands];
  const named = operands === 0 ? await subCommands(command) : [];
  return [...named, ...(positional === undefined ? [] : await values(command, positional[0], begun, words))];
}

async function subCommands(command: OurCommand): Promise<Candidate[]> {
  return Promise.all(
    Object.entries(tableOf(command)).map(async ([name, load]): Promise<Candidate> => {
      const { description = "" } = (await load()).meta as { description?: string };
      return [name, description];
    }),
  );
}

function flags(command: OurCommand, words: readonly string[]): Candidate[] {
  const own = Object.entries(argsOf(command)).filter(
    ([name, one]) => one.type !== "positional" && !words.includes(`--${name}`),
  );
  return [
    ...own.map(([name, one]): Candidate => [`--${name}`, one.description ?? ""]),
    ["--help", "What it does, with examples"],
  ];
}

async function values(
  command: OurCommand,
  name: string,
  begun: string,
  words: readonly string[],
): Promise<Candidate[]> {
  const hint = (argsOf(command)[name] as { valueHint?: string } | undefined)?.valueHint ?? "";
  const fixed = choices[name] ?? (/^[a-z0-9]+(\|[a-z0-9]+)+$/.test(hint) ? hint.split("|") : null);
  if (fixed !== null && lists.includes(name)) {
    const before = begun.slice(0, begun.lastIndexOf(",") + 1);
    const left = fixed.filter((one) => !before.split(",").includes(one) && (before === "" || one !== "all"));
    return left.map((one) => [`${before}${one}`, ""]);
  }
  if (fixed !== null) return fixed.map((one) => [one, ""]);
  const find = Object.hasOwn(ids, name) && isExisting(command) ? ids[name] : undefined;
  return find === undefined ? [] : lookUp(find, words);
}

/** Whoever adds something names it anew. */
function isExisting({ meta, args }: OurCommand): boolean {
  return (meta as { name?: string }).name !== "add" || (args as ArgsDef | undefined)?.file !== undefined;
}

/** Only looks: a Tab must neither make a data directory nor wait for a busy database. */
async function lookUp(find: Ids, words: readonly string[]): Promise<Candidate[]> {
  const given = (name: string) => {
    const at = words.lastIndexOf(name);
    return at === -1
      ? words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
      : words[at + 1];
  };
  const [data, database] = [given("--data"), given("--database")];
  const config = configOf({
    ...(data === undefined ? {} : { data }),
    ...(database === undefined ? {} : { database }),
    ...(words.includes("--sandbox") ? { sandbox: true } : {}),
  });
  // A server may be far away.
  if (config.database.kind !== "file") return [];
  const { withOperator } = await import("../open.ts");
  let found: readonly Candidate[] = [];
  await withOperator(config, async (operator) => {
    found = (await find(operator)).slice(0, maxIds);
  });
  return [...found];
}
