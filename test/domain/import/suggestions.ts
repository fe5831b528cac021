/** Proposes mappings for files, and for tables that a test writes. */

import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { UnreadableError } from "../../../src/domain/import/fields.ts";
import { openTable } from "../../../src/domain/import/read.ts";
import { type MappingSuggestion, suggestMapping } from "../../../src/domain/import/suggest.ts";

type File = { readonly name: string; readonly content: Uint8Array; readonly sheet?: string };

/** Proposes a mapping as `tvs teachers map` does. A file that is not UTF-8 is read as Windows-1252. */
export async function suggestForFile({ name, content, sheet }: File): Promise<MappingSuggestion> {
  const look = async (encoding?: "windows-1252") => {
    const bytes = (async function* () {
      for (let at = 0; at < content.length; at += 1000) yield content.subarray(at, at + 1000);
    })();
    const table = await openTable({ name, bytes, reading: { encoding, sheet } });
    return suggestMapping(table, { encoding, sheet, isEncodingGuessed: encoding !== undefined });
  };
  return look().catch((error) => {
    if (error instanceof UnreadableError && error.isNotUtf8) return look("windows-1252");
    throw error;
  });
}

export function suggestForFixture(name: string): Promise<MappingSuggestion> {
  const file = new URL(`../../fixtures/extracts/${name}`, import.meta.url);
  return suggestForFile({ name, content: readFileSync(file) });
}

const ownHeader = ["reg_no", "name", "source", "certificate_status", "license_expiry_date"];

/** Proposes a mapping for a table of the required columns and the columns `header`. @param cells their cells by row */
export function suggestForTable(
  header: readonly string[],
  cells: readonly (readonly string[])[],
  { names = [] as readonly string[] } = {},
): Promise<MappingSuggestion> {
  const rows = cells.map((own, index) => [
    `TR/2019/LA/${String(index + 1).padStart(6, "0")}`,
    names[index] ?? "Adaeze Okafor",
    ...["legacy", "VERIFIED", "2031-12-31"],
    ...own,
  ]);
  const quoted = [[...ownHeader, ...header], ...rows].map((row) =>
    row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(","),
  );
  return suggestForFile({ name: "table.csv", content: Buffer.from(`${quoted.join("\n")}\n`) });
}

/** Joins the questions about a column to one text. */
export function questionsAbout({ questions }: MappingSuggestion, about: string): string {
  return questions
    .filter((one) => one.about === about)
    .map(({ question }) => question)
    .join(" | ");
}

/** Makes rows of one cell. Each text is repeated as often as its number says. */
export function repeatCells(counts: Readonly<Record<string, number>>): string[][] {
  return Object.entries(counts).flatMap(([text, count]) => Array.from({ length: count }, () => [text]));
}
