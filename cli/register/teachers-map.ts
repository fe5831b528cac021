import { createReadStream, readFileSync } from "node:fs";
import { basename } from "node:path";
import { TvsError } from "../../src/domain/errors.ts";
import { UnreadableError } from "../../src/domain/import/fields.ts";
import { type Mapping, parseMapping } from "../../src/domain/import/mapping.ts";
import { openTable, type ReadOptions, toUnreadableInputError } from "../../src/domain/import/read.ts";
import { type MappingSuggestion, suggestMapping } from "../../src/domain/import/suggest.ts";
import { delimiterNames } from "../../src/domain/import/table.ts";
import { csvDelimiters, type Delimiter, type Encoding, textEncodings } from "../../src/domain/import/text.ts";
import type { SettingsStore } from "../../src/store/settings.ts";
import { configOf, operand, option, toggle } from "../command.ts";
import { type OpenedRegister, withRegister } from "../open.ts";
import { defineTvsCommand } from "../operator-command.ts";
import { getMainUrl } from "../program.ts";
import {
  exitCodes,
  formatTerminalJson,
  hint,
  parseChoice,
  printNote,
  printNoteTable,
  printResult,
} from "../terminal/output.ts";
import { actorArg } from "./operator-name.ts";
import { makeSheetReader } from "./workbook-process.ts";

/** Options for a file's delimiter, encoding and sheet, which an import cannot always find in the file. */
export const fileFormatArgs = {
  delimiter: option(
    "CHARACTER",
    "What parts the columns of CSV: , ; | or tab (default what the header shows)",
    (text, flag): Delimiter => {
      const found = csvDelimiters.find((one) => one === (text === "tab" || text === "\\t" ? "\t" : text));
      if (found !== undefined) return found;
      throw new TvsError("USAGE", `${flag} is one of , ; | or tab`);
    },
  ),
  encoding: option(
    "NAME",
    `Character set of CSV: ${textEncodings.join(", ")} (default utf-8, or what its mark says)`,
    (text, flag): Encoding => parseChoice(text, flag, textEncodings),
  ),
  sheet: option("NAME", "The sheet of an Excel workbook (default the first one that is shown and has cells)"),
};

/** The setting that stores the last applied mapping of columns (--map). `tvs teachers map --forget` empties the setting. */
const mappingName = "import_mapping";

export async function readRememberedMapping(settings: SettingsStore): Promise<Mapping | undefined> {
  const text = (await settings.read()).get(mappingName) ?? "";
  return text === "" ? undefined : parseMapping(text, "the remembered mapping");
}

export async function rememberMapping(settings: SettingsStore, mapping: Mapping | null): Promise<void> {
  await settings.write({ [mappingName]: mapping === null ? "" : JSON.stringify(mapping) });
}

/** Reads a mapping file. @throws TvsError INPUT_UNREADABLE if the file cannot be read or is not a valid mapping */
export function readMappingFile(file: string): Mapping {
  try {
    return parseMapping(readFileSync(file, "utf8"), basename(file));
  } catch (error) {
    throw toUnreadableInputError(basename(file), error);
  }
}

export const mapColumnsCommand = defineTvsCommand("teachers map", {
  args: {
    file: { ...operand(), required: false },
    ...fileFormatArgs,
    show: toggle(),
    forget: toggle(),
    ...actorArg,
  },
  async run({ args }) {
    const { file, show = false, forget = false } = args;
    if ([file !== undefined, show, forget].filter(Boolean).length !== 1)
      throw new TvsError("USAGE", "name the extract, or give --show or --forget");
    if (show || forget)
      return withRegister(configOf(args), (operator) => printOrForgetMapping(operator, args));
    const found = await suggestFor(file as string, args);
    printResult(args, found, () => formatTerminalJson(withoutEmpty(found.mapping)));
    if (args.json !== true) explainSuggestion(found);
    if (found.questions.length > 0) process.exitCode = exitCodes.refused;
    else hint(args, `tvs teachers import ${file} --map FILE --dry-run shows what it would do`);
  },
});

async function suggestFor(file: string, reading: ReadOptions): Promise<MappingSuggestion> {
  const name = basename(file);
  const readSheet = makeSheetReader(getMainUrl());
  const look = async (encoding: Encoding | undefined, isEncodingGuessed: boolean) => {
    const { delimiter, sheet } = reading;
    const bytes = createReadStream(file);
    const table = await openTable({ name, bytes, reading: { delimiter, sheet, encoding }, readSheet });
    const found = await suggestMapping(table, { encoding, sheet, isEncodingGuessed });
    if (table.sheet !== undefined) printNote(`the sheet that is read is ${JSON.stringify(table.sheet)}`);
    return found;
  };
  try {
    return await look(reading.encoding, false).catch((error) => {
      if (!(error instanceof UnreadableError && error.isNotUtf8) || reading.encoding !== undefined)
        throw error;
      return look("windows-1252", true);
    });
  } catch (error) {
    throw toUnreadableInputError(name, error);
  }
}

function withoutEmpty(mapping: Mapping): Partial<Mapping> {
  const isEmpty = (value: unknown) => typeof value === "object" && Object.keys(value ?? {}).length === 0;
  return Object.fromEntries(Object.entries(mapping).filter(([, value]) => !isEmpty(value)));
}

/** Prints on stderr how each column is read, the first rows, and the open questions. */
function explainSuggestion({ mapping, columns, questions, rows }: MappingSuggestion): void {
  printNoteTable(
    ["column", "taken for", "why"],
    columns
      .filter(({ name, sure }) => name !== "" || !sure)
      .map(({ name, taken, why }) => [name, taken ?? "left out", why]),
  );
  const { delimiter } = mapping;
  if (delimiter !== undefined) printNote(`The columns are separated by ${delimiterNames[delimiter]}.`);
  printNote("The first rows, as they would be read, without NINs, e-mail addresses and phone numbers:");
  const cells = (row: Record<string, string>) => Object.entries(row).map((pair) => pair.join(" "));
  for (const row of rows) printNote(`  ${cells(row).join("; ")}`);
  if (questions.length === 0) printNote("No questions.");
  else printNote('Questions. Answer each in mapping.json, then delete it from the list "open":');
  for (const { about, question } of questions) printNote(`  ${about}: ${question}`);
}

/** Prints the remembered mapping, or forgets it with --forget. @throws TvsError NOT_KNOWN if none is remembered */
async function printOrForgetMapping(
  { settings }: OpenedRegister,
  args: { forget?: boolean | undefined; json?: boolean | undefined },
) {
  const found = await readRememberedMapping(settings);
  if (found === undefined) throw new TvsError("NOT_KNOWN", "no mapping is remembered");
  const mapping = withoutEmpty(found);
  if (args.forget !== true) return printResult(args, mapping, () => formatTerminalJson(mapping));
  await rememberMapping(settings, null);
  const next = "forgotten; the next extract needs the register's own columns, or --map";
  printResult(args, { forgotten: true }, () => next);
}
