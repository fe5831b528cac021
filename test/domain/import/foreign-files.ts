/** Files as other registries have them, made from rules: what went in is known, so what must come out is. */

import { Buffer } from "node:buffer";
import { writeXlsx } from "hucre/xlsx";
import { numbers } from "../../harness/random.ts";

export type Person = {
  readonly regNo: string;
  readonly tId: number;
  readonly name: string;
  readonly nin: string;
  readonly phone: string;
  readonly source: "new_system" | "legacy";
  readonly certificate: "VERIFIED" | "CLAIMED";
  readonly expires: string;
};

export type ForeignFile = {
  readonly what: string;
  readonly name: string;
  readonly content: Uint8Array;
  readonly people: readonly Person[];
  /** What stands in the mapping's `open`, in order. */
  readonly open: readonly string[];
  /** What else the mapping must say. */
  readonly mapping?: Readonly<Record<string, unknown>>;
  /** What a question or a reason must say. */
  readonly says?: RegExp;
  readonly sheet?: string;
};

const familyNames = ["Okonkwo", "Abiọla", "Müller", "Bello", "Nweke", "Ọbáfẹ́mi", "Danjuma", "Peña"];
const firstNames = ["Adaeze", "Ngozi", "José", "Halima", "Tunde", "Zoë", "Chinedu", "Amina"];

/** @param maxDay 12 where no date shall decide between days and months */
function people(seed: number, { maxDay = 28, ascii = false } = {}): Person[] {
  const below = numbers(seed);
  const plain = (name: string) => (ascii ? name.normalize("NFD").replace(/[^\x20-\x7e]/g, "") : name);
  const pick = (names: readonly string[]) => plain(names[below(names.length)] ?? "");
  return Array.from({ length: 40 }, (_, index) => ({
    regNo: `LA/20${10 + below(10)}/PRI/${String(index + 1).padStart(5, "0")}`,
    tId: 1000 + index,
    name: `${pick(firstNames)} ${pick(familyNames)}`,
    nin: String(20_000_000_000 + index * 7919),
    phone: `0803${String(1_000_000 + index * 101)}`,
    source: below(2) === 0 ? "new_system" : "legacy",
    certificate: below(3) === 0 ? "CLAIMED" : "VERIFIED",
    expires: `20${27 + below(4)}-${two(1 + below(12))}-${two(index === 0 ? maxDay : 1 + below(maxDay))}`,
  }));
}

const two = (value: number) => String(value).padStart(2, "0");
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Dates in another form, and as the number of days that a spreadsheet keeps. */
export function dateAs(form: string, date: string): string {
  const [year = "", month = "", day = ""] = date.split("-");
  if (form === "excel") return String(Date.parse(date) / 86_400_000 + 25_569);
  return form
    .replace("YYYY", year)
    .replace("YY", year.slice(2))
    .replace("MMM", "\u0000")
    .replace(/MM?/, month)
    .replace(/DD?/, day)
    .replace("\u0000", months[Number(month) - 1] ?? "");
}

type Table = { readonly header: readonly string[]; readonly rowOf: (person: Person) => readonly string[] };

const theirs: Table = {
  header: [
    "Registration No",
    "Teacher ID",
    "Full Name",
    "NIN",
    "Phone Number",
    "Source",
    "Cert Status",
    "Licence Expiry",
  ],
  rowOf: (one) => [
    one.regNo,
    String(one.tId),
    one.name,
    one.nin,
    one.phone,
    one.source,
    one.certificate,
    one.expires,
  ],
};

/** The table with other dates, words or columns. */
function altered(change: (row: string[], person: Person) => void, header = theirs.header): Table {
  return {
    header,
    rowOf(person) {
      const row = [...theirs.rowOf(person)];
      change(row, person);
      return row;
    },
  };
}

const dated = (form: string) => altered((row, { expires }) => row.splice(7, 1, dateAs(form, expires)));

function csvOf({ header, rowOf }: Table, rows: readonly Person[], delimiter = ","): string {
  const line = (cells: readonly string[]) =>
    cells.map((cell) => (/[",;\t|\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(delimiter);
  return `${[header, ...rows.map(rowOf)].map(line).join("\n")}\n`;
}

const utf16be = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le").swap16();
const utf8 = (text: string) => Buffer.from(text);

type Rows = NonNullable<Parameters<typeof writeXlsx>[0]["sheets"][number]["rows"]>;

async function workbookOf(sheets: readonly { name: string; rows: Rows }[]): Promise<Uint8Array> {
  return writeXlsx({ sheets: sheets.map(({ name, rows }) => ({ name, rows })) });
}

const excelRows = (rows: readonly Person[]): Rows => [
  [...theirs.header],
  ...rows.map((one) =>
    theirs
      .rowOf(one)
      .map((cell, at) => (at === 7 ? new Date(`${cell}T00:00:00Z`) : at === 1 ? Number(cell) : cell)),
  ),
];

export async function foreignFiles(): Promise<ForeignFile[]> {
  const some = people(1);
  const few = people(2, { maxDay: 12 });
  const latin = people(3).map((one) => ({
    ...one,
    name: one.name
      .normalize("NFD")
      .replace(/[\u0300\u0301\u0323\u0328]/g, "")
      .normalize("NFC"),
  }));
  const file = (
    what: string,
    name: string,
    content: Uint8Array,
    rest: Partial<ForeignFile> = {},
  ): ForeignFile => ({
    ...{ what, name, content, people: some, open: [] },
    ...rest,
  });
  const ours = {
    ...theirs,
    header: ["reg_no", "t_id", "name", "nin", "phone", "source", "certificate_status", "license_expiry_date"],
  };
  const text = csvOf(dated("D/M/YYYY"), some, ";");
  return [
    file("our own columns", "own.csv", utf8(csvOf(ours, some))),
    file("semicolons, days before months", "semicolons.csv", utf8(text), {
      mapping: { delimiter: ";", dates: "D/M/YYYY" },
      says: /D\/M\/YYYY, as line \d+ shows/,
    }),
    file("tabs", "tabs.txt", utf8(csvOf(theirs, some, "\t")), { mapping: { delimiter: "\t" } }),
    file("vertical bars", "bars.csv", utf8(csvOf(theirs, some, "|")), { mapping: { delimiter: "|" } }),
    file("windows-1252", "windows.csv", Buffer.from(csvOf(theirs, latin), "latin1"), {
      people: latin,
      open: ["encoding"],
      mapping: { encoding: "windows-1252" },
      says: /not UTF-8/,
    }),
    file("UTF-16 with its mark", "utf16.csv", Buffer.from(`\ufeff${csvOf(theirs, some, "\t")}`, "utf16le"), {
      mapping: { delimiter: "\t" },
    }),
    file("UTF-16, the other way round", "utf16be.csv", utf16be(csvOf(theirs, some, ";")), {
      mapping: { delimiter: ";" },
    }),
    file(
      "titles above the header",
      "titles.csv",
      utf8(`Ministry of Education,,\nTeachers by State,,,\n,,,\n${csvOf(theirs, some)}`),
    ),
    file("a sum below", "totals.csv", utf8(`${csvOf(theirs, some)},,Total: 40,,,,,\n`)),
    file(
      "blank columns",
      "blank.csv",
      utf8(
        csvOf(
          altered(
            (row) => row.splice(2, 0, "", ""),
            [...theirs.header.slice(0, 2), "", "", ...theirs.header.slice(2)],
          ),
          some,
        ),
      ),
    ),
    file(
      "a column twice",
      "twice.csv",
      utf8(
        csvOf(
          altered((row, { phone }) => row.push(phone), [...theirs.header, "Phone Number"]),
          some,
        ),
      ),
      {
        open: ["phone"],
        says: /two columns are called Phone Number/,
      },
    ),
    file(
      "the name in two columns",
      "parts.csv",
      utf8(
        csvOf(
          altered(
            (row, { name }) => row.splice(2, 1, ...name.split(" ")),
            [...theirs.header.slice(0, 2), ...["First Name", "Surname"], ...theirs.header.slice(3)],
          ),
          some,
        ),
      ),
      { open: ["name"], says: /First Name and Surname/ },
    ),
    file("serial numbers of days", "serials.csv", utf8(csvOf(dated("excel"), some)), {
      mapping: { dates: "excel" },
    }),
    file("days that may be months", "ambiguous.csv", utf8(csvOf(dated("D/M/YYYY"), few)), {
      people: few,
      open: ["dates"],
      says: /D\/M\/YYYY or M\/D\/YYYY|M\/D\/YYYY or D\/M\/YYYY/,
    }),
    file("months before days", "american.csv", utf8(csvOf(dated("M/D/YYYY"), some)), {
      mapping: { dates: "M/D/YYYY" },
    }),
    file("months by their names", "months.csv", utf8(csvOf(dated("D-MMM-YYYY"), some)), {
      mapping: { dates: "D-MMM-YYYY" },
    }),
    file("years of two digits", "short.csv", utf8(csvOf(dated("D.M.YY"), some)), {
      mapping: { dates: "D.M.YY" },
    }),
    file(
      "dates of two forms",
      "mixed.csv",
      utf8(
        csvOf(
          altered((row, { tId, expires }) =>
            row.splice(7, 1, dateAs(tId === 1000 ? "M/D/YYYY" : "D/M/YYYY", expires)),
          ),
          some,
        ),
      ),
      { open: ["dates"], says: /can only be M\/D\/YYYY/ },
    ),
    file(
      "words of its own",
      "words.csv",
      utf8(
        csvOf(
          altered((row, { source, certificate }) => {
            row.splice(
              5,
              2,
              source === "legacy" ? "Legacy" : "New System",
              certificate === "VERIFIED" ? "Approved" : "Pending",
            );
          }),
          some,
        ),
      ),
      {
        open: ["certificate_status"],
        mapping: { values: { certificate_status: { Approved: "VERIFIED", Pending: "CLAIMED" } } },
        says: /what is meant by/,
      },
    ),
    file(
      "no source",
      "sourceless.csv",
      utf8(
        csvOf(
          altered((row) => row.splice(5, 1), theirs.header.toSpliced(5, 1)),
          some,
        ),
      ),
      { open: ["source"], says: /constants/ },
    ),
    file(
      "numbers that a spreadsheet shortened",
      "shortened.csv",
      utf8(
        csvOf(
          altered((row, { tId, nin }) => row.splice(3, 1, tId % 4 === 0 ? "2.3E+10" : nin)),
          some,
        ),
      ),
      { people: some.filter(({ tId }) => tId % 4 !== 0), says: /10 of its numbers were shortened/ },
    ),
    file("an Excel workbook", "book.xlsx", await workbookOf([{ name: "Teachers", rows: excelRows(some) }])),
    file(
      "a workbook's second sheet, with titles and a sum",
      "second.xlsx",
      await workbookOf([
        { name: "Cover", rows: [["Ministry of Education"], ["as of 2026"]] },
        { name: "Teachers", rows: [["Teachers"], [], ...excelRows(some), [null, null, "Grand total", 40]] },
      ]),
      { sheet: "Teachers", mapping: { sheet: "Teachers" } },
    ),
  ];
}
