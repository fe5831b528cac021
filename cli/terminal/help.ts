import type { ArgDef, ArgsDef } from "citty";
import { commonArgs, type OurCommand } from "../command.ts";
import { terminalWidth, wrapped } from "./output.ts";

export type Line = readonly [name: string, meaning: string];

const gap = 2;
/** Below this much room for the meaning, it goes under the name instead of beside it. */
const leastMeaningWidth = 40;

/**
 * The text of `--help`, in lines that fit the terminal: citty's own pads every line to the longest description.
 * @param path the words that lead to the command, "tvs" first
 */
export async function helpText(command: OurCommand, path: readonly string[]): Promise<string> {
  const meta = command.meta as { description?: string; version?: string };
  const args = Object.entries((command.args ?? {}) as ArgsDef);
  const isCommon = (name: string) => Object.hasOwn(commonArgs, name);
  const operands = args.filter(([, one]) => one.type === "positional");
  const options = args.filter(([name, one]) => one.type !== "positional" && !isCommon(name));
  const common = args.filter(([name]) => isCommon(name));
  const title = meta.version === undefined ? "" : ` (tvs ${meta.version})`;
  const groups = command.run === undefined ? ["COMMAND"] : [];
  const words = usage([...path, ...groups, ...(command.variadic === true ? ["[FILE...]"] : [])], args);
  return [
    `${wrapped(`${meta.description ?? ""}${title}`, terminalWidth())}\n`,
    section("USAGE", `  ${wrapped(words, terminalWidth() - 6, "\n      ")}`),
    section("ARGUMENTS", listed(operands.map(([name, one]) => [name.toUpperCase(), one.description ?? ""]))),
    section("OPTIONS", listed(options.map(optionLine))),
    section("COMMANDS", listed(await commandLines(command))),
    section("OPTIONS OF EVERY COMMAND", listed(common.map(optionLine))),
    section(command.example?.includes("\n  tvs ") ? "EXAMPLES" : "EXAMPLE", indented(command.example)),
    command.run === undefined ? `\n\`${path.join(" ")} COMMAND --help\` explains a command.\n` : "",
  ].join("");
}

export function section(name: string, body: string): string {
  return body === "" ? "" : `\n${name}\n${body}\n`;
}

function indented(text: string | undefined): string {
  return text === undefined ? "" : `  ${text}`;
}

/** The command's words, then operands and what is required by name; the rest is for the list of options. */
export function usage(words: readonly string[], args: readonly (readonly [string, ArgDef])[]): string {
  const parts = args.map(([name, one]) => {
    if (one.type === "positional")
      return one.required === false ? `[${name.toUpperCase()}]` : name.toUpperCase();
    return one.required === true ? spelled(name, one) : "";
  });
  const isOptional = args.some(([, one]) => one.type !== "positional" && one.required !== true);
  return [...words, ...parts.filter((part) => part !== ""), ...(isOptional ? ["[OPTIONS]"] : [])].join(" ");
}

function spelled(name: string, one: ArgDef): string {
  const { valueHint } = one as { valueHint?: string };
  return one.type === "boolean" ? `--${name}` : `--${name} ${valueHint ?? "VALUE"}`;
}

export function optionLine([name, one]: readonly [string, ArgDef]): Line {
  return [spelled(name, one), `${one.description ?? ""}${one.required === true ? " (required)" : ""}`];
}

export async function commandLines({ subCommands }: OurCommand): Promise<Line[]> {
  const table = (subCommands ?? {}) as Record<string, () => Promise<OurCommand>>;
  return Promise.all(
    Object.entries(table).map(async ([name, load]): Promise<Line> => {
      const { description = "" } = (await load()).meta as { description?: string };
      // The list wants what it is for; how it does it is for its own help.
      return [name, description.replace(/\. (?:[A-Z]|--json).*$/s, "")];
    }),
  );
}

export function listed(lines: readonly Line[], leastNameWidth = 0): string {
  const names = Math.max(leastNameWidth, ...lines.map(([name]) => name.length));
  const indent = 2 + names + gap;
  const isBeside = terminalWidth() - indent >= leastMeaningWidth;
  return lines
    .map(([name, meaning]) =>
      isBeside
        ? `  ${name.padEnd(names + gap)}${wrapped(meaning, terminalWidth() - indent, `\n${" ".repeat(indent)}`)}`
        : `  ${name}\n      ${wrapped(meaning, terminalWidth() - 6, "\n      ")}`,
    )
    .join("\n");
}
