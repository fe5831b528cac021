/** Generates files like those of other registries from known people. */

import { Buffer } from "node:buffer";
import { writeXlsx } from "hucre/xlsx";
import { seededNumbers } from "../../harness/random.ts";

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
  readonly name: string;
  readonly content: Uint8Array;
  readonly people: readonly Person[];
  /** The expected list `open` of the proposed mapping. */
  readonly open: readonly string[];
  /** Other expected members of the proposed mapping. */
  readonly mapping?: Readonly<Record<string, unknown>>;
  /** A pattern that a question or a reason must match. */
  readonly says?: RegExp;
  readonly sheet?: string;
};

const familyNames = ["Okonkwo", "Abiọla", "Müller", "Bello", "Nweke", "Ọbáfẹ́mi", "Danjuma", "Peña"];
const firstNames = ["Adaeze", "Ngozi", "José", "Halima", "Tunde", "Zoë", "Chinedu", "Amina"];

/** Generates people. @param maxDay the last day of a month; 12 makes all dates ambiguous */
function people(seed: number, { maxDay = 28 } = {}): Person[] {
  const below = seededNumbers(seed);
  const pick = (names: readonly string[]) => names[below(names.length)] ?? "";
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

/** Writes a date in another format. `excel` writes the number of days since 1900. */
function dateAs(form: string, date: string): string {
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

const theirHeader =
  "Registration No,Teacher ID,Full Name,NIN,Phone Number,Source,Cert Status,Licence Expiry".split(",");

function rowOf({ regNo, tId, name, nin, phone, source, certificate, expires }: Person): string[] {
  return [regNo, String(tId), name, nin, phone, source, certificate, expires];
}

const some = people(1);
const few = people(2, { maxDay: 12 });
const latin = people(3).map(({ name, ...one }) => {
  const bare = name.normalize("NFD").replace(/[\u0300\u0301\u0323\u0328]/g, "");
  return { ...one, name: bare.normalize("NFC") };
});

/** A file's rows, delimiter and encoding, and the expected proposal. */
type Recipe = Partial<Omit<ForeignFile, "name" | "content">> & {
  /** The people in the file. `people` has those whom an import accepts. */
  readonly written?: readonly Person[];
  readonly edit?: (row: string[], person: Person) => unknown;
  readonly header?: readonly string[];
  readonly delimiter?: string;
  readonly bytes?: (text: string) => Uint8Array;
};

const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le");
const dated = (form: string): Recipe => ({
  edit: (row, { expires }) => row.splice(7, 1, dateAs(form, expires)),
});
/** Writes the dates in an unambiguous format. */
const inForm = (form: string): Recipe => ({ ...dated(form), mapping: { dates: form } });
const partedBy = (delimiter: string): Recipe => ({ delimiter, mapping: { delimiter } });

/** The recipes by file name. */
const recipes: Readonly<Record<string, Recipe>> = {
  "own.csv": {
    header: "reg_no,t_id,name,nin,phone,source,certificate_status,license_expiry_date".split(","),
  },
  "semicolons.csv": {
    ...{ ...dated("D/M/YYYY"), delimiter: ";", mapping: { delimiter: ";", dates: "D/M/YYYY" } },
    says: /D\/M\/YYYY, as line \d+ shows/,
  },
  "tabs.txt": partedBy("\t"),
  "bars.csv": partedBy("|"),
  "windows.csv": {
    bytes: (text) => Buffer.from(text, "latin1"),
    ...{ written: latin, open: ["encoding"], mapping: { encoding: "windows-1252" }, says: /not UTF-8/ },
  },
  "utf16.csv": { ...partedBy("\t"), bytes: utf16 },
  "utf16be.csv": { ...partedBy(";"), bytes: (text) => utf16(text).swap16() },
  "titles.csv": {
    bytes: (text) => Buffer.from(`Ministry of Education,,\nTeachers by State,,,\n,,,\n${text}`),
  },
  "totals.csv": { bytes: (text) => Buffer.from(`${text},,Total: 40,,,,,\n`) },
  "blank.csv": { edit: (row) => row.splice(2, 0, "", ""), header: theirHeader.toSpliced(2, 0, "", "") },
  "twice.csv": {
    ...{ edit: (row, { phone }) => row.push(phone), header: [...theirHeader, "Phone Number"] },
    ...{ open: ["phone"], says: /two columns are called Phone Number/ },
  },
  "parts.csv": {
    edit: (row, { name }) => row.splice(2, 1, ...name.split(" ")),
    header: theirHeader.toSpliced(2, 1, "First Name", "Surname"),
    ...{ open: ["name"], says: /First Name and Surname/ },
  },
  "serials.csv": inForm("excel"),
  "ambiguous.csv": {
    ...{ ...dated("D/M/YYYY"), written: few, open: ["dates"] },
    says: /D\/M\/YYYY or M\/D\/YYYY|M\/D\/YYYY or D\/M\/YYYY/,
  },
  "american.csv": inForm("M/D/YYYY"),
  "months.csv": inForm("D-MMM-YYYY"),
  "short.csv": inForm("D.M.YY"),
  "mixed.csv": {
    edit: (row, { tId, expires }) =>
      row.splice(7, 1, dateAs(tId === 1000 ? "M/D/YYYY" : "D/M/YYYY", expires)),
    ...{ open: ["dates"], says: /can only be M\/D\/YYYY/ },
  },
  "words.csv": {
    edit(row, { source, certificate }) {
      const own = source === "legacy" ? "Legacy" : "New System";
      row.splice(5, 2, own, certificate === "VERIFIED" ? "Approved" : "Pending");
    },
    ...{ open: ["certificate_status"], says: /what is meant by/ },
    mapping: { values: { certificate_status: { Approved: "VERIFIED", Pending: "CLAIMED" } } },
  },
  "sourceless.csv": {
    ...{ edit: (row) => row.splice(5, 1), header: theirHeader.toSpliced(5, 1) },
    ...{ open: ["source"], says: /constants/ },
  },
  // A spreadsheet has shortened some numbers.
  "shortened.csv": {
    edit: (row, { tId, nin }) => row.splice(3, 1, tId % 4 === 0 ? "2.3E+10" : nin),
    ...{ people: some.filter(({ tId }) => tId % 4 !== 0), says: /10 of its numbers were shortened/ },
  },
};

function textFile(name: string, recipe: Recipe): ForeignFile {
  const {
    written = some,
    edit,
    header = theirHeader,
    delimiter = ",",
    bytes = Buffer.from,
    ...expected
  } = recipe;
  const rows = written.map((person) => {
    const row = rowOf(person);
    edit?.(row, person);
    return row;
  });
  const text = [header, ...rows].map((row) => `${row.join(delimiter)}\n`).join("");
  return { people: written, open: [], ...expected, name, content: bytes(text) };
}

export async function foreignFiles(): Promise<ForeignFile[]> {
  const cells = some.map((person) =>
    rowOf(person).map((cell, at) =>
      at === 7 ? new Date(`${cell}T00:00:00Z`) : at === 1 ? Number(cell) : cell,
    ),
  );
  const rows = [theirHeader, ...cells];
  const cover = { name: "Cover", rows: [["Ministry of Education"], ["as of 2026"]] };
  const second = { name: "Teachers", rows: [["Teachers"], [], ...rows, [null, null, "Grand total", 40]] };
  const workbook = { people: some, open: [], name: "book.xlsx" };
  return [
    ...Object.entries(recipes).map(([name, recipe]) => textFile(name, recipe)),
    { ...workbook, content: await writeXlsx({ sheets: [{ name: "Teachers", rows }] }) },
    {
      ...{ ...workbook, name: "second.xlsx", sheet: "Teachers", mapping: { sheet: "Teachers" } },
      content: await writeXlsx({ sheets: [cover, second] }),
    },
  ];
}
