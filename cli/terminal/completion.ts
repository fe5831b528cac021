/** Shell completion: the scripts for the shells, and the words that they offer at Tab. */

import { parseArgs } from "node:util";
import { manualTopics } from "../../src/manual.ts";
import type { ArgDefinitions, IdReader, TvsCommand } from "../command.ts";
import { argsOf, commonArgs, configOf, operand, subCommandsOf } from "../command.ts";
import { defineTvsCommand } from "../operator-command.ts";
import bash from "./completion.bash" with { type: "text" };
import fish from "./completion.fish" with { type: "text" };
import zsh from "./completion.zsh" with { type: "text" };
import { parseChoice, printResult } from "./output.ts";

/** The completion scripts by shell. Each script runs `tvs __complete WORDS` and offers the printed lines. */
export const completionScripts = { bash, zsh, fish } as const;

const shells = Object.keys(completionScripts) as (keyof typeof completionScripts)[];

export const completionCommand = defineTvsCommand("completion", {
  args: {
    shell: {
      ...operand(`One of ${shells.join(", ")}`, (text) => parseChoice(text, "the shell", shells)),
      valueHint: shells.join("|"),
    },
  },
  async run({ args }) {
    const { shell } = args;
    const script = completionScripts[shell];
    printResult(args, { shell, script }, () => script);
  },
});

const maxIds = 200;

type Words = readonly string[];
type Completion = readonly [word: string, meaning: string];

/**
 * Prints the words that complete the word at the cursor, one a line. If no word is printed, the shell offers files.
 * @param words the words up to the cursor; the last one may be incomplete @returns 0, because Tab shows no error
 */
export async function printCompletions(root: TvsCommand, words: Words): Promise<number> {
  const found = await findCompletions(root, words).catch((): Completion[] => []);
  const oneLine = (text: string) =>
    text.replace(/[\p{Cc}\p{Cf}]/gu, " ").replace(/\. (?:[A-Z]|--json).*$/s, "");
  process.stdout.write(found.map(([word, meaning]) => `${word}\t${oneLine(meaning)}\n`).join(""));
  return 0;
}

/** Lists the words that complete the last of `words`, which can be empty. */
export async function findCompletions(root: TvsCommand, words: Words): Promise<Completion[]> {
  const line = await readLine(root, words.slice(0, -1));
  const begun = words.at(-1) ?? "";
  const all = line.isHelp ? await helpOffers(line, root) : await findOffers(line, begun, words);
  if (line.command === root && line.operands === 0 && !line.isHelp && line.open === null)
    all.push(["help", "The manual, and the help of every command"]);
  return all.filter(([word]) => word.startsWith(begun));
}

/** Lists the words that can follow `tvs help`: topics and commands; after `--print`, files. */
async function helpOffers({ command, operands, open }: TypedLine, root: TvsCommand): Promise<Completion[]> {
  if (open !== null)
    return Object.keys((await import("./manual.ts")).printableFiles).map((name) => [name, ""]);
  if (operands > 0) return [];
  const pages = command === root ? manualTopics.map(({ name, summary }): Completion => [name, summary]) : [];
  const commands = await subCommands(command);
  return [...pages, ...commands.filter(([name]) => !pages.some(([page]) => page === name))];
}

type TypedLine = {
  readonly command: TvsCommand;
  readonly operands: number;
  /** The option whose value is the next word; null if the next word is not a value. */
  readonly open: string | null;
  /** Whether the first word is `help`, which the table of commands does not have. */
  readonly isHelp: boolean;
};

/** Finds which command the words before the cursor name, and which kind of word comes next. */
async function readLine(root: TvsCommand, words: Words): Promise<TypedLine> {
  let [command, operands, isHelp] = [root, 0, false];
  let open: string | null = null;
  for (const word of words) {
    const args: ArgDefinitions = command.args === undefined ? commonArgs : argsOf(command);
    const table = subCommandsOf(command);
    const load = operands === 0 && Object.hasOwn(table, word) ? table[word] : undefined;
    if (open !== null) open = null;
    else if (isHelp && word === "--print") open = "print";
    else if (word.startsWith("--")) open = args[word.slice(2)]?.type === "string" ? word.slice(2) : null;
    else if (word === "help" && command === root && !isHelp && operands === 0) isHelp = true;
    else if (load === undefined) operands++;
    else command = await load();
  }
  return { command, operands, open, isHelp };
}

async function findOffers(line: TypedLine, begun: string, words: Words): Promise<Completion[]> {
  const { command, operands, open } = line;
  const [start = "", inline] = /^--([\w-]+)=/.exec(begun) ?? [];
  if (inline !== undefined) {
    const found = await values(command, inline, begun.slice(start.length), words);
    return found.map(([word, meaning]) => [`${start}${word}`, meaning]);
  }
  if (open !== null) return values(command, open, begun, words);
  if (begun.startsWith("-")) return flags(command, words);
  const positional = Object.entries(argsOf(command)).filter(([, one]) => one.type === "positional")[operands];
  const named = operands === 0 ? await subCommands(command) : [];
  return [...named, ...(positional === undefined ? [] : await values(command, positional[0], begun, words))];
}

async function subCommands(command: TvsCommand): Promise<Completion[]> {
  const all = Object.entries(subCommandsOf(command));
  return Promise.all(all.map(async ([name, load]) => [name, (await load()).description] as const));
}

function flags(command: TvsCommand, words: Words): Completion[] {
  const own = Object.entries(argsOf(command)).filter(
    ([name, one]) => one.type !== "positional" && !words.includes(`--${name}`),
  );
  return [
    ...own.map(([name, one]): Completion => [`--${name}`, one.description ?? ""]),
    ["--help", "What it does, with examples"],
  ];
}

async function values(command: TvsCommand, name: string, begun: string, words: Words): Promise<Completion[]> {
  const arg = argsOf(command)[name];
  const hint = arg?.valueHint ?? "";
  // A hint such as `call|item` names its choices.
  const choices = /^[a-z0-9]+(\|[a-z0-9]+)+$/.test(hint) ? { oneOf: hint.split("|") } : null;
  const known = arg?.values ?? choices;
  if (known === null) return [];
  if ("oneOf" in known) return known.oneOf.map((one) => [one, ""]);
  if ("ids" in known) return lookUp(known.ids, words);
  const before = begun.slice(0, begun.lastIndexOf(",") + 1);
  const left = known.listOf.filter(
    (one) => !before.split(",").includes(one) && (before === "" || one !== "all"),
  );
  return left.map((one) => [`${before}${one}`, ""]);
}

/** Reads ids from a database file. Completion must not make a data directory, and must not wait for a server. */
async function lookUp(find: IdReader, words: Words): Promise<Completion[]> {
  const text = { type: "string" } as const;
  const options = { data: text, database: text, sandbox: { type: "boolean" } } as const;
  const { values } = parseArgs({ args: [...words], options, strict: false, allowPositionals: true });
  const config = configOf(values);
  if (config.database.kind !== "file") return [];
  const { withRegister } = await import("../open.ts");
  const found = await withRegister(config, (operator) => find(operator, maxIds));
  return found.slice(0, maxIds);
}
