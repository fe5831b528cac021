import { parseArgs } from "node:util";
import type { ArgDef, ArgsDef, CommandDef } from "citty";
import packageJson from "../package.json" with { type: "json" };
import type { CommandLineOptions, Config, Environment, ServeConfig } from "../src/config.ts";
import { readCommandConfig, readServeConfig } from "../src/config.ts";
import { suggestWord } from "../src/domain/did-you-mean.ts";
import { TvsError } from "../src/domain/errors.ts";
import type { OpenedRegister } from "./open.ts";
import { addServiceSettings, refuseForeignFolder } from "./register/register.ts";
import { hint } from "./terminal/output.ts";

export const tvsVersion = packageJson.version;

/** Reads at most `limit` ids from the register, each with a short description, for completion. */
export type IdReader = (
  operator: OpenedRegister,
  limit: number,
) => Promise<readonly (readonly [id: string, meaning: string])[]>;

/** The values that completion offers for an option or operand. */
type Values =
  | { readonly oneOf: readonly string[] }
  /** The option's value is one or more of these words, separated by commas. */
  | { readonly listOf: readonly string[] }
  | { readonly ids: IdReader };

/** Parses an option's or operand's text. @param flag the name in messages, such as `--limit` or `FILE` @throws TvsError */
type Parser<V> = (text: string, flag: string) => V;

/** The definition of an option or operand. Completion needs no `values` if `valueHint` lists the choices: `call|item`. */
type Arg = ArgDef & {
  readonly values?: Values;
  readonly valueHint?: string;
  readonly read?: Parser<unknown>;
};

export type ArgDefinitions = Readonly<Record<string, Arg>>;

export type ArgValues<T extends ArgDefinitions> = { [K in keyof T]: Given<T[K]> } & { readonly _: string[] };

type Given<A extends Arg> = A extends { required: true } | { default: string }
  ? ParsedArg<A>
  : ParsedArg<A> | undefined;
type ParsedArg<A extends Arg> = A extends { read: Parser<infer V> }
  ? V
  : A extends { type: "boolean" }
    ? boolean
    : string;

/** An option's description (absent if {@link CommandWords} has one), and the parser of the option's text. */
type Meaning = readonly [description?: string] | readonly [...description: string[], read: Parser<unknown>];
type ValueOf<M> = M extends readonly [...unknown[], Parser<infer V>] ? V : string;

function meaning<const M extends Meaning>(given: M) {
  const description = given.find((one) => typeof one === "string") ?? "";
  const read = given.find((one) => typeof one === "function") ?? ((text: string) => text);
  return { description, read: read as Parser<ValueOf<M>> };
}

/** Defines an option with a value. @param valueHint the name of the value in help, such as `FILE` */
export function option<const M extends Meaning>(valueHint: string, ...given: M) {
  return { type: "string", valueHint, ...meaning(given) } as const;
}

/** Defines an option without a value, such as `--force`. */
export function toggle(description = "") {
  return { type: "boolean", description } as const;
}

/** Defines an operand, which has a position instead of a name. It is required unless `required` is false. */
export function operand<const M extends Meaning>(...given: M) {
  return { type: "positional", required: true, ...meaning(given) } as const;
}

export const commonArgs = {
  data: option("DIR", "Data directory (TVS_DATA; default that of the installed service, else ./data)"),
  database: option("URL", "file:PATH or the URL of a libSQL server (TVS_DATABASE; default file:DIR/tvs.db)"),
  sandbox: toggle("Use the sandbox's database instead (TVS_SANDBOX)"),
  json: toggle("Print exactly one JSON value on stdout"),
} as const satisfies ArgDefinitions;

/** The texts of a command for `--help`. Most commands have their texts in data/commands.json. */
type CommandWords = {
  description: string;
  example: string | readonly string[];
  /** Descriptions of the command's own options. An option that several commands share has its description in `args`. */
  options?: Readonly<Record<string, string>>;
};

export type CommandDefinition<T extends ArgDefinitions> = CommandWords & {
  args?: T;
  /** True if the command accepts any number of operands. The list of all operands is `args._`. */
  variadic?: boolean;
  run(context: { args: ArgValues<T & typeof commonArgs>; rawArgs: string[] }): Promise<void>;
};

/** Functions by command name. Each imports the module of its command, so most runs load the module of one command only. */
export type CommandLoaders = Readonly<Record<string, () => Promise<TvsCommand>>>;

export type TvsCommand = Omit<CommandDef<ArgsDef>, "meta" | "subCommands"> & {
  readonly description: string;
  readonly example?: string;
  readonly variadic?: boolean;
  /** The subcommands. In `tvs backup verify`, `verify` is a subcommand, and never the FILE of `tvs backup FILE`. */
  readonly subCommands?: CommandLoaders;
  /** The subcommands below the headings that `tvs --help` prints. */
  readonly sections?: Readonly<Record<string, CommandLoaders>>;
};

export const argsOf = ({ args = {} }: TvsCommand): ArgDefinitions => args as ArgDefinitions;
export const subCommandsOf = ({ subCommands = {} }: TvsCommand): CommandLoaders => subCommands;

/** Defines a command that refuses unknown options. citty ignores unknown options, so a mistyped `--dry-rum` would change data. */
export function defineCommand<const T extends ArgDefinitions>(definition: CommandDefinition<T>): TvsCommand {
  // A command's own description of --json replaces the description in commonArgs.
  const own = definition.args?.json === undefined ? {} : { json: definition.args.json };
  const { description, example, options = {}, variadic = false, run } = definition;
  const args = { ...definition.args, ...commonArgs, ...own } as unknown as T & typeof commonArgs;
  const explained = Object.entries<Arg>(args).map(([name, one]) => [
    name,
    { ...one, description: one.description || options[name] },
  ]);
  return {
    description,
    example: [example].flat().join("\n  "),
    variadic,
    args: Object.fromEntries(explained),
    plugins: [{ name: "strict", setup: ({ rawArgs }) => refuseUnknown(rawArgs, args, variadic) }],
    run: ({ args: given, rawArgs }) =>
      run({ args: readArgs(given, args) as ArgValues<T & typeof commonArgs>, rawArgs }),
  };
}

/** Parses all options and operands before the command runs. @throws TvsError USAGE for an invalid value */
function readArgs(given: Readonly<Record<string, unknown>>, args: ArgDefinitions): object {
  const read = Object.entries(args).flatMap(([name, one]) => {
    const value = given[name];
    if (typeof value !== "string" || one.read === undefined)
      return value === undefined ? [] : [[name, value]];
    return [[name, one.read(value, one.type === "positional" ? name.toUpperCase() : `--${name}`)]];
  });
  return { ...Object.fromEntries(read), _: given._ };
}

export function makeGroup(description: string, subCommands: CommandLoaders): TvsCommand {
  return { description, subCommands };
}

/** A command with its name. The name of `tvs keys list` is its last word, `list`. */
export type NamedCommand = TvsCommand & { readonly name: string };

/** Makes the table of commands whose modules are already loaded. */
export function byName(...commands: readonly NamedCommand[]): CommandLoaders {
  return Object.fromEntries(commands.map((one) => [one.name, async () => one]));
}

function refuseUnknown(rawArgs: string[], args: ArgsDef, variadic: boolean): void {
  const isOperand = (name: string) => args[name]?.type === "positional";
  const operands = Object.keys(args).filter(isOperand);
  const named = Object.entries(args).filter(([name]) => !isOperand(name));
  const options = Object.fromEntries(
    named.map(([name, { type }]) => [name, { type: type === "boolean" ? type : "string", multiple: true }]),
  ) as Record<string, { type: "string" | "boolean"; multiple: true }>;
  let positionals: string[];
  try {
    ({ positionals } = parseArgs({ args: rawArgs, options, allowPositionals: true, strict: true }));
  } catch (error) {
    // The first sentence of Node's message names the option. The sentences after it advise the authors of Node programs.
    const [sentence = ""] = String((error as Error).message).split(/\. |\n/);
    const unknown = /^Unknown option '--([^']+)'/.exec(sentence)?.[1];
    const meant = unknown === undefined ? "" : suggestWord(unknown, Object.keys(options), "--");
    throw new TvsError("USAGE", `${sentence}${meant}${meant === "" ? ";" : ""} --help shows its options`);
  }
  if (variadic || positionals.length <= operands.length) return;
  const names = operands.join(" ").toUpperCase();
  const expected = names === "" ? "" : `: the command takes ${names} and nothing else`;
  const found = `unexpected argument number ${operands.length + 1}${expected}`;
  throw new TvsError("USAGE", `${found}; --help shows its options`);
}

export function readRepeatedOption(rawArgs: string[], name: string): string[] | undefined {
  const options = { [name]: { type: "string", multiple: true } } as const;
  const { values } = parseArgs({ args: rawArgs, options, allowPositionals: true, strict: false });
  return values[name] as string[] | undefined;
}

/**
 * Reads the configuration from options and environment. If neither names a register, the register of the service
 * that is installed on this machine is used. @throws TvsError CONFIG_INVALID, REGISTER_CLOSED
 */
export function configOf(args: object): Config {
  const config = readCommandConfig(args as CommandLineOptions, readEnvironment(args as CommandLineOptions));
  refuseForeignFolder(config);
  return config;
}

/** Reads the configuration of `serve` with all its options. @throws TvsError CONFIG_INVALID, REGISTER_CLOSED */
export function serveConfigOf(flags: CommandLineOptions, environment: Environment): ServeConfig {
  const config = readServeConfig(flags, environment);
  refuseForeignFolder(config);
  return config;
}

/** Returns the environment variables, plus the installed service's settings if the command uses that service's register. */
export function readEnvironment(flags: CommandLineOptions, options: { all?: boolean } = {}): Environment {
  const { file, environment } = addServiceSettings(flags, process.env, options);
  if (file !== undefined) {
    const { TVS_DATA, TVS_DATABASE } = environment;
    hint(flags, `using the register of the installed service: ${TVS_DATABASE ?? TVS_DATA} (${file})`);
  }
  return environment;
}

/** Moves key ids with a leading dash to the end, after `--`, or joins them to an option (`--key=ID`): citty would read options. */
export function moveKeyIdsLast(words: readonly string[], command: TvsCommand): string[] {
  const isKid = (word: string | undefined) => /^-[\w-]{42}$/.test(word ?? "");
  const args = argsOf(command);
  const takesNext = (word: string | undefined) =>
    word?.startsWith("--") === true && args[word.slice(2)]?.type === "string";
  const joined = words.flatMap((word, index) => {
    if (takesNext(word) && isKid(words[index + 1])) return [`${word}=${words[index + 1]}`];
    return isKid(word) && takesNext(words[index - 1]) ? [] : [word];
  });
  const [kids, others] = [joined.filter(isKid), joined.filter((word) => !isKid(word))];
  return kids.length === 0 || words.includes("--") ? joined : [...others, "--", ...kids];
}
