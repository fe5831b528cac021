import type { ArgDef, ArgsDef } from "citty";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { toTvsError } from "../../src/store/driver/driver.ts";
import { errorCodeOf } from "../../src/store/driver/files.ts";
import type { CommandLoaders, TvsCommand } from "../command.ts";
import { argsOf, commonArgs, subCommandsOf, tvsVersion } from "../command.ts";
import { chooseTextWidth, escapeUnprintable, exitCodeOf, wrapIndented, wrapText } from "./output.ts";

type Line = readonly [name: string, meaning: string];

const gap = 2;
/** The narrowest column for descriptions, in characters. If less is left, descriptions are printed below the names. */
const leastMeaningWidth = 40;

const firstSteps = `  tvs serve --sandbox                          try it, with made-up teachers
  tvs init                                     make a register of your own
  tvs teachers import extract.csv --baseline   load the register
  tvs partners add ID --help                   onboard a partner
  tvs serve                                    go live
  tvs doctor                                   when something looks wrong`;

/** Makes the text of `tvs --help`: the commands by purpose, and the first steps. */
export async function formatRootHelp({ description, sections = {} }: TvsCommand): Promise<string> {
  const listings = await Promise.all(
    Object.entries(sections).map(async ([title, commands]) => [title, await commandLines(commands)] as const),
  );
  const nameWidth = Math.max(...listings.flatMap(([, lines]) => lines.map(([name]) => name.length)));
  const more =
    "`tvs COMMAND --help` explains a command, with examples; `tvs help` lists the topics of the manual, and `tvs help TOPIC` prints one; `tvs help --print FILE` prints alerts.yml (alert rules for Prometheus) or grafana-dashboard.json; `tvs completion bash|zsh|fish` enables completion in your shell.";
  return [
    `${wrapText(`${description} (tvs ${tvsVersion})`)}\n`,
    section("USAGE", "  tvs COMMAND [OPTIONS]"),
    ...listings.map(([title, lines]) => section(title, listed(lines, nameWidth))),
    section("OPTIONS OF EVERY COMMAND", listed(Object.entries(commonArgs as ArgsDef).map(optionLine))),
    section("FIRST STEPS", firstSteps),
    `\n${wrapText(more)}\n`,
  ].join("");
}

/** Makes the text of `--help`, in lines that fit the terminal. @param path the words of the command, `tvs` first */
export async function formatCommandHelp(command: TvsCommand, path: readonly string[]): Promise<string> {
  const { example } = command;
  const args = Object.entries(argsOf(command));
  const isCommon = (name: string) => Object.hasOwn(commonArgs, name);
  const operands = args.filter(([, one]) => one.type === "positional");
  const options = args.filter(([name, one]) => one.type !== "positional" && !isCommon(name));
  const common = args.filter(([name]) => isCommon(name));
  const groups = command.run === undefined ? ["COMMAND"] : [];
  const words = usage([...path, ...groups, ...(command.variadic === true ? ["[FILE...]"] : [])], args);
  return [
    `${wrapText(command.description)}\n`,
    section("USAGE", wrapIndented("  ", words, { indent: 6 })),
    section("ARGUMENTS", listed(operands.map(([name, one]) => [name.toUpperCase(), one.description ?? ""]))),
    section("OPTIONS", listed(options.map(optionLine))),
    section("COMMANDS", listed(await commandLines(subCommandsOf(command)))),
    section(path.length === 1 ? "MORE OPTIONS" : "OPTIONS OF EVERY COMMAND", listed(common.map(optionLine))),
    section(example?.includes("\n  tvs") ? "EXAMPLES" : "EXAMPLE", example ? `  ${example}` : ""),
    command.run === undefined ? `\n\`${path.join(" ")} COMMAND --help\` explains a command.\n` : "",
  ].join("");
}

const section = (name: string, body: string): string => (body === "" ? "" : `\n${name}\n${body}\n`);

/** Makes the usage line: command, operands and required options. `[OPTIONS]` means the options that are not required. */
function usage(words: readonly string[], args: readonly (readonly [string, ArgDef])[]): string {
  const parts = args.map(([name, one]) => {
    if (one.type === "positional")
      return one.required === false ? `[${name.toUpperCase()}]` : name.toUpperCase();
    return one.required === true ? spell(name, one) : "";
  });
  const isOptional = args.some(([, one]) => one.type !== "positional" && one.required !== true);
  return [...words, ...parts.filter((part) => part !== ""), ...(isOptional ? ["[OPTIONS]"] : [])].join(" ");
}

function spell(name: string, one: ArgDef): string {
  const { valueHint } = one as { valueHint?: string };
  return one.type === "boolean" ? `--${name}` : `--${name} ${valueHint ?? "VALUE"}`;
}

function optionLine([name, one]: readonly [string, ArgDef]): Line {
  return [spell(name, one), `${one.description ?? ""}${one.required === true ? " (required)" : ""}`];
}

async function commandLines(commands: CommandLoaders): Promise<Line[]> {
  return Promise.all(
    Object.entries(commands).map(async ([name, load]): Promise<Line> => {
      const { description } = await load();
      // A list of commands has only the first sentence of each description. The command's own help has all sentences.
      return [name, description.replace(/\. (?:[A-Z]|--json).*$/s, "")];
    }),
  );
}

function listed(lines: readonly Line[], leastNameWidth = 0): string {
  const names = Math.max(leastNameWidth, ...lines.map(([name]) => name.length)) + gap;
  const isBeside = chooseTextWidth() - names >= 2 + leastMeaningWidth;
  const starts = lines.map(([name]) => (isBeside ? `  ${name.padEnd(names)}` : `  ${name}\n      `));
  const indent = isBeside ? 2 + names : 6;
  return lines.map(([, meaning], index) => wrapIndented(starts[index] ?? "", meaning, { indent })).join("\n");
}

/** Adds the usage line to an error of citty, which names only the first missing argument. */
export function addUsageToError(error: unknown, command: TvsCommand, path: readonly string[]): unknown {
  const { name, message = "" } = error as { name?: string; message?: string };
  if (name !== "CLIError") return error;
  const words = usage(path, Object.entries(argsOf(command)));
  const wrong = `${message.charAt(0).toLowerCase()}${message.slice(1)}`;
  return new TvsError("USAGE", `${wrong}; usage: ${words}; --help explains them`);
}

/** Prints a failure in one line, with a stack trace only if TVS_DEBUG is set. @returns the exit code */
export function printFailure(error: unknown, words: readonly string[], program = "tvs"): number {
  const known = asTvsError(error);
  const { code, message } = known;
  process.stderr.write(`${program}: ${escapeUnprintable(message.replaceAll("\n", " "))}\n`);
  if (words.includes("--json")) process.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`);
  if (process.env.TVS_DEBUG && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  return exitCodeOf(known);
}

function asTvsError(error: unknown): TvsError {
  if (isTvsError(error)) return error;
  const { message, path } = error as { message?: string; path?: string };
  if (path !== undefined && ["EACCES", "EPERM"].includes(errorCodeOf(error)))
    return new TvsError("INPUT_UNREADABLE", `${path} cannot be entered or read by this user`, {
      cause: error,
    });
  const ofDisk = toTvsError(error);
  if (["STORE_FULL", "STORE_READ_ONLY"].includes(ofDisk.code)) return ofDisk;
  return new TvsError("INTERNAL", `internal error: ${message ?? String(error)}; set TVS_DEBUG=1 for details`);
}
