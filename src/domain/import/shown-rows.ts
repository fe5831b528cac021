/** The first rows of a table as an import would read them, without what is never shown. */

import { digitsOf, holdsPersonalData, personalDigits, withoutPersonalData } from "../personal-data.ts";
import { requiredFields } from "./columns.ts";
import type { TableRecord } from "./csv.ts";
import type { OpenedTable } from "./extract.ts";
import { columnOfField, type ImportField, type RawRow, squeezed } from "./fields.ts";
import { compileMapping, type Mapping } from "./mapping.ts";
import { readTable } from "./table.ts";
import { readCertificateStatus, readLicenseStatus, readSource } from "./values.ts";

/** Fields that are stored as keyed hashes alone. */
const unshown: ReadonlySet<string> = new Set(["nin", "email", "phone"]);

type Sample = {
  readonly header: TableRecord;
  readonly records: readonly TableRecord[];
  readonly mapping: Mapping;
};

export async function showRows(table: OpenedTable, sample: Sample): Promise<Record<string, string>[]> {
  const rows = await readSample(table, sample);
  return rows.map(({ cells }) =>
    Object.fromEntries(
      Object.entries(cells)
        .filter(([field, value]) => !unshown.has(field) && value !== "")
        .map(([field, value]) => [columnOfField[field as ImportField], shown(field, value)]),
    ),
  );
}

/** Reads some rows of a table as an import would, whatever is still open in the mapping. */
export async function readSample(
  { format, delimiter }: OpenedTable,
  { header, records, mapping }: Sample,
): Promise<RawRow[]> {
  const compiled = compileMapping({ ...mapping, header: header.line });
  const unheard = { fields: [], unknown: [], totals: [] };
  const names = header.cells.map(onceEach());
  const found = new Set(names.map((name) => compiled.fieldOf(name.trim())));
  const missing = requiredFields.filter((field) => !found.has(field));
  const filled = { ...compiled, constants: missing.map((field) => [field, ""] as const) };
  const pieces = (async function* () {
    yield [{ ...header, cells: names }, ...records];
  })();
  const rows: RawRow[] = [];
  for await (const some of readTable(pieces, { format, delimiter, mapping: filled }, unheard))
    rows.push(...some);
  return rows;
}

/** Leaves out a name that stands there twice, which would be refused: which column is meant is asked. */
function onceEach(): (name: string) => string {
  const seen = new Set<string>();
  return (name) => {
    const isFirst = !seen.has(squeezed(name));
    seen.add(squeezed(name));
    return isFirst ? name : "";
  };
}

function shown(field: string, text: string): string {
  const value = asRead(field, text);
  return field === "regNo" ? shownRegNo(value) : withoutPersonalData(value);
}

/** A registration number has many digits; each of its segments is looked at, and all of it where no letter parts them. */
function shownRegNo(regNo: string): string {
  const isNumber =
    /[@＠﹫]/.test(regNo) ||
    regNo.split("/").some((part) => holdsPersonalData(part)) ||
    (!/\p{L}/u.test(regNo) && digitsOf(regNo).length >= personalDigits && holdsPersonalData(regNo));
  return isNumber ? "[removed]" : regNo;
}

const readers = {
  source: readSource,
  certificateStatus: readCertificateStatus,
  licenseStatus: readLicenseStatus,
} as const;

/** A word of the register's own where it is read as one. */
function asRead(field: string, text: string): string {
  const read = field in readers ? readers[field as keyof typeof readers](text) : null;
  return read !== null && "value" in read ? read.value : text;
}
