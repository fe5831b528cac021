/** A list that the console lets search, page through and save as CSV. */

import { stringify } from "csv-stringify/sync";
import { html } from "hono/html";
import { type Cell, count, type Markup, none, tableOf } from "./markup.ts";

/** What a form asks for. */
export type Field = {
  readonly name: string;
  readonly label: string;
  /** A text, a day, or one of a few words. */
  readonly kind: "text" | "date" | readonly string[];
};

/** A column: as it is shown, and as CSV has it. */
type Column<Row> = {
  readonly head: string;
  readonly text: (row: Row) => string | number | null;
  /** Where it is more than its text. */
  readonly cell?: (row: Row) => Cell;
};

/** Where the next page begins: a registration number, or how many rows are left out. */
export type Rows<Row> = { readonly rows: readonly Row[]; readonly next: string | null };

/** What was asked for, by the names of the fields. */
export type Query = Readonly<Record<string, string>>;

export type Listing<Row> = {
  /** The path in the session's folder, also of the CSV file. */
  readonly path: string;
  readonly title: string;
  readonly fields: readonly Field[];
  readonly columns: readonly Column<Row>[];
  readonly nothing: string;
  /** The most rows of its CSV file, which the link to it says. */
  readonly csvRows: number;
  /**
   * @param page where it begins, empty for the first, and how many rows it has
   * @throws TvsError USAGE for a query that makes no sense
   */
  readonly read: (query: Query, page: { from: string; rows: number }) => Promise<Rows<Row>>;
};

export function tableOfRows<Row>({ title, columns, nothing }: Listing<Row>, rows: readonly Row[]): Markup {
  if (rows.length === 0) return none(nothing);
  return tableOf(title, {
    head: columns.map(({ head }) => head),
    rows: rows.map((row) => columns.map(({ text, cell }) => cell?.(row) ?? String(text(row) ?? "–"))),
  });
}

/** The form of a list, with what was asked for in it. */
export function filterForm(
  { path, title, fields }: Pick<Listing<never>, "path" | "title" | "fields">,
  query: Query,
): Markup {
  return html`<form class="filter" action=".${path}" aria-label="${title}">
${fields.map((field) => html`<label>${field.label} ${control(field, query[field.name] ?? "")}</label>`)}
<button>Show</button>${Object.keys(query).length === 0 ? "" : html` <a href=".${path}">Show all</a>`}
</form>`;
}

function control({ name, kind }: Field, value: string): Markup {
  if (kind === "text" || kind === "date")
    return html`<input name="${name}" type="${kind}" value="${value}" autocomplete="off">`;
  const option = (word: string) =>
    html`<option value="${word}"${word === value ? html` selected` : ""}>${word === "" ? "any" : word}</option>`;
  return html`<select name="${name}">${["", ...kind].map(option)}</select>`;
}

/** The way to the next page, and to the file. */
export function pager<Row>({ path, csvRows }: Listing<Row>, query: Query, next: string | null): Markup {
  const more =
    next === null
      ? ""
      : html`<a rel="next" href="${addressOf(path, { ...query, from: next })}">Next page</a>`;
  return html`<p class="pager">${more} <a href="${addressOf(`${path}.csv`, query)}" download>Save as CSV, ${count(csvRows)} rows at most</a></p>`;
}

function addressOf(path: string, query: Query): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? `.${path}` : `.${path}?${text}`;
}

/** The fields of a form that were filled in; what else stands in an address is left out. */
export function queryOf(
  fields: readonly Pick<Field, "name">[],
  given: Readonly<Record<string, string>>,
): Query {
  const filled = fields.flatMap(({ name }) => {
    const value = (given[name] ?? "").trim();
    return value === "" ? [] : [[name, value]];
  });
  return Object.fromEntries(filled);
}

/** Rows that are read at once for a file. */
const csvPageRows = 2_000;

/**
 * The rows of a list as CSV, so many at a time. A cell that a spreadsheet would take for a formula is marked as text.
 */
export async function* csvOf<Row>(listing: Listing<Row>, query: Query): AsyncGenerator<string> {
  const { columns, csvRows } = listing;
  yield stringify([columns.map(({ head }) => head)]);
  let from: string | null = "";
  for (let written = 0; from !== null && written < csvRows; ) {
    const rows = Math.min(csvPageRows, csvRows - written);
    const page: Rows<Row> = await listing.read(query, { from, rows });
    yield stringify(
      page.rows.map((row) => columns.map(({ text }) => text(row))),
      { escape_formulas: true },
    );
    written += page.rows.length;
    from = page.next;
  }
}
