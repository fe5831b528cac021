/** The console's lists of teachers, attestations, deliveries and changes: the filter, columns and query of each. */

import { stringify } from "csv-stringify/sync";
import { html } from "hono/html";
import { type Attestation, statementStatus } from "../domain/attestations.ts";
import { addActorPrefix, type RecordedChange } from "../domain/changes.ts";
import { isCalendarDate } from "../domain/clock.ts";
import { type Delivery, deliveryStates } from "../domain/deliveries.ts";
import { TvsError } from "../domain/errors.ts";
import { parseTeacherReference, requireTeacher } from "../domain/teachers/changes.ts";
import type { ListDependencies, PageRequest, TeacherFilter, TeacherPage } from "../domain/teachers/list.ts";
import { describeTeacherRow, listTeachers } from "../domain/teachers/list.ts";
import { certificateStatuses, licenseStatuses } from "../partner/contract.ts";
import type { ConsoleSources } from "./console-state.ts";
import {
  type Cell,
  formatters,
  type Markup,
  makeBadge,
  makeNote,
  renderIdCell,
  renderTable,
} from "./markup.ts";

type Query = Readonly<Record<string, string>>;

/** A field of a list's filter. The user types a text or a date, or chooses one of the words that `kind` lists. */
type Field = readonly [name: string, label: string, kind: "text" | "date" | readonly string[]];

/** A column: its heading, its value in the CSV file, and its cell on the page if the cell differs from the value. */
type Column<Row> = readonly [
  head: string,
  text: (row: Row) => string | number | null,
  cell?: (row: Row) => Cell,
];

/** A page of rows. The next page begins after `next`, a registration number or a count of rows; null on the last page. */
type Rows<Row> = { readonly rows: readonly Row[]; readonly next: string | null };

/** The page to read. `from` is the `next` of the page before, or "" for the first page; `rows` is the page's length. */
type WantedPage = { readonly from: string; readonly rows: number };

export type ListDefinition<Row> = {
  /** The list's path in the session's folder. The CSV file's path has `.csv` added. */
  readonly path: string;
  readonly title: string;
  readonly fields: readonly Field[];
  readonly columns: readonly Column<Row>[];
  /** The text that is shown instead of a table without rows. */
  readonly nothing: string;
  /** The maximum number of rows in the list's CSV file. */
  readonly csvRows: number;
  /** Reads a page of rows. @param query the filled fields of the filter, from `parseListFilter` */
  readonly read: (query: Query, page: WantedPage) => Promise<Rows<Row>>;
};

export function renderListTable<Row>(
  { title, columns, nothing }: ListDefinition<Row>,
  rows: readonly Row[],
): Markup {
  if (rows.length === 0) return makeNote(nothing);
  return renderTable(title, {
    head: columns.map(([head]) => head),
    rows: rows.map((row) => columns.map(([, text, cell]) => cell?.(row) ?? String(text(row) ?? "–"))),
  });
}

export function renderListFilter<Row>({ path, title, fields }: ListDefinition<Row>, query: Query): Markup {
  const control = (name: string, kind: Field[2]) => {
    const value = query[name] ?? "";
    if (typeof kind === "string")
      return html`<input name="${name}" type="${kind}" value="${value}" autocomplete="off">`;
    const option = (word: string) =>
      html`<option value="${word}"${word === value ? html` selected` : ""}>${word === "" ? "any" : word}</option>`;
    return html`<select name="${name}">${["", ...kind].map(option)}</select>`;
  };
  return html`<form class="filter" action=".${path}" aria-label="${title}">
${fields.map(([name, label, kind]) => html`<label>${label} ${control(name, kind)}</label>`)}
<button>Show</button>${Object.keys(query).length === 0 ? "" : html` <a href=".${path}">Show all</a>`}
</form>`;
}

export function renderPager<Row>(
  { path, csvRows }: ListDefinition<Row>,
  query: Query,
  next: string | null,
): Markup {
  const addressOf = (file: string, of: Query) => {
    const text = new URLSearchParams(of).toString();
    return text === "" ? `.${file}` : `.${file}?${text}`;
  };
  const more =
    next === null
      ? ""
      : html`<a rel="next" href="${addressOf(path, { ...query, from: next })}">Next page</a>`;
  return html`<p class="pager">${more} <a href="${addressOf(`${path}.csv`, query)}" download>Save as CSV, ${formatters.count(csvRows)} rows at most</a></p>`;
}

/** Returns the filled fields of a list's filter. @throws TvsError USAGE if a date or a word is wrong */
export function parseListFilter<Row>({ fields }: ListDefinition<Row>, given: Query): Query {
  const filled: Record<string, string> = {};
  for (const [name, label, kind] of fields) {
    const value = (given[name] ?? "").trim();
    if (value === "") continue;
    if (kind === "date" && !isCalendarDate(value))
      throw new TvsError("USAGE", `${label} must be a date, such as 2026-03-01`);
    if (typeof kind !== "string" && !kind.includes(value))
      throw new TvsError("USAGE", `${label} must be one of ${kind.join(", ")}`);
    filled[name] = value;
  }
  return filled;
}

const csvPageRows = 2_000;

/** Makes the stream of a list's CSV file. The first rows are read before the stream starts: a malformed query still gets a 400. */
export async function createCsvStream<Row>({ columns, csvRows, read }: ListDefinition<Row>, query: Query) {
  const first = await read(query, { from: "", rows: csvPageRows });
  async function* pieces() {
    yield stringify([columns.map(([head]) => head)]);
    let page = first;
    for (let left = csvRows; ; ) {
      const cells = page.rows.map((row) => columns.map(([, text]) => text(row)));
      // A cell that a spreadsheet would run as a formula gets a leading apostrophe.
      yield stringify(cells, { escape_formulas: true });
      left -= page.rows.length;
      if (page.next === null || left <= 0) return;
      page = await read(query, { from: page.next, rows: Math.min(csvPageRows, left) });
    }
  }
  const rest = pieces();
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await rest.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
  });
}

export const rowsPerListPage = 50;
/** The maximum number of teachers read for a page. A page therefore takes under a second, but has few rows if few match. */
const maxTeachersRead = 200_000;
/** The maximum number of rows that a list of {@link newestFirst} shows, on all pages together. */
const maxNewest = 2_000;
/** The maximum number of teachers in a CSV file. `tvs teachers export` has no limit. */
const maxTeachers = 100_000;

const partnerField: Field = ["partner", "Partner", "text"];

function startOfDay(day: string | undefined, { configuration }: ConsoleSources): number | undefined {
  return day === undefined ? undefined : configuration.current().calendar.startOfDay(day);
}

type NewestFirst<Row> = Omit<ListDefinition<Row>, "csvRows" | "read"> & {
  /** Reads the newest `limit` rows. `since` is a time in Unix milliseconds; undefined reads rows of any age. */
  readonly find: (
    query: Query,
    most: { readonly since: number | undefined; readonly limit: number },
  ) => Promise<readonly Row[]>;
};

function newestFirst<Row>(sources: ConsoleSources, { find, ...list }: NewestFirst<Row>): ListDefinition<Row> {
  return {
    ...list,
    fields: [...list.fields, ["since", "Since", "date"]],
    csvRows: maxNewest,
    async read(query, { from, rows }) {
      const skip = /^\d{1,6}$/.test(from) ? Math.min(Number(from), maxNewest) : 0;
      const end = skip + rows;
      const all = await find(query, { since: startOfDay(query.since, sources), limit: end + 1 });
      return { rows: all.slice(skip, end), next: all.length > end && end < maxNewest ? String(end) : null };
    },
  };
}

const statusLevels = { VALID: "good", EXPIRED: "warn", REVOKED: "bad", NOT_FOUND: "quiet" } as const;

export const renderStatusBadge = (status: keyof typeof statusLevels): Cell =>
  makeBadge(statusLevels[status], status);

function idColumn<Name extends string>(head: string, name: Name): Column<Readonly<Record<Name, string>>> {
  return [head, (row) => row[name], (row) => renderIdCell(row[name])];
}

type DescribedRow = ReturnType<typeof describeTeacherRow>;

export function defineTeacherList(sources: ConsoleSources): ListDefinition<DescribedRow> {
  return {
    path: "/teachers",
    title: "Teachers",
    nothing: "No teacher matches.",
    csvRows: maxTeachers,
    fields: [
      ["license", "Licence today", licenseStatuses],
      ["certificate", "Certificate", certificateStatuses],
      ["expires", "Licence ends before", "date"],
      ["changed", "Changed since", "date"],
      ["state", "State", "text"],
    ],
    columns: [
      [
        "Registration number",
        ({ regNo }) => regNo,
        ({ regNo }) => html`<a class="long" href="./teacher?ref=${encodeURIComponent(regNo)}">${regNo}</a>`,
      ],
      ["Teacher id", ({ tId }) => tId],
      ["Name", ({ name }) => name],
      ["State", ({ state }) => state],
      [
        "Licence",
        ({ licenseStatus }) => licenseStatus,
        ({ licenseStatus, active, hidden }) => {
          const marks = [...(active ? [] : ["deactivated"]), ...(hidden ? ["hidden"] : [])];
          return html`${renderStatusBadge(licenseStatus)}${marks.map((mark) => html` ${makeBadge("quiet", mark)}`)}`;
        },
      ],
      ["Ends", ({ licenseExpiryDate }) => licenseExpiryDate],
      ["Certificate", ({ certificateStatus }) => certificateStatus],
      ["Changed", ({ updatedAt }) => updatedAt],
    ],
    read({ license, certificate, expires, changed, state }, page) {
      const changedSince = startOfDay(changed, sources);
      const filter = { license, certificate, expiresBefore: expires, changedSince, state } as TeacherFilter;
      return readTeacherRows(sources, page, (list, asked) => listTeachers(list, filter, asked));
    },
  };
}

/** Reads a page of teachers as rows of the list. @param find the function that lists or searches the teachers */
export async function readTeacherRows(
  sources: ConsoleSources,
  { from, rows: limit }: WantedPage,
  find: (list: ListDependencies, page: PageRequest) => Promise<TeacherPage>,
): Promise<Rows<DescribedRow>> {
  const { teachers, clock, configuration } = sources;
  const { calendar } = configuration.current();
  const page = { limit, maxLooked: maxTeachersRead, ...(from === "" ? {} : { after: from }) };
  const found = await find({ teachers, clock, calendar }, page);
  const today = calendar.dateAt(clock.now());
  const rows = found.teachers.map((teacher) => ({
    ...describeTeacherRow(teacher, today),
    updatedAt: calendar.dateAt(teacher.updatedAt),
  }));
  return { rows, next: found.next };
}

/** Defines the list of attestations: which partner received which answer about which teacher. */
export function defineAttestationList(sources: ConsoleSources): ListDefinition<Attestation> {
  const { timeZone } = sources.configuration.current().settings;
  return newestFirst<Attestation>(sources, {
    path: "/attestations",
    title: "Attestations",
    nothing: "No attestation matches.",
    fields: [partnerField, ["teacher", "Teacher", "text"]],
    columns: [
      ["Verified at", ({ issuedAt }) => formatters.time(issuedAt * 1_000, timeZone)],
      ["Partner", ({ partnerId }) => partnerId],
      idColumn("Key", "credential"),
      ["Asked for", ({ reference }) => reference],
      ["Purpose", ({ purpose }) => purpose],
      [
        "Licence",
        ({ status }) => status,
        ({ status }) => (status === statementStatus ? status : renderStatusBadge(status)),
      ],
      ["Eligible", ({ eligible }) => (eligible ? "yes" : "no")],
      idColumn("Verification id", "verificationId"),
      idColumn("Request id", "requestId"),
    ],
    async find({ teacher, partner }, most) {
      const key = teacher === undefined ? undefined : parseTeacherReference(teacher);
      const teacherId = key && (await requireTeacher(sources.teachers, key)).id;
      return sources.attestations.list({ ...most, partnerId: partner, teacherId });
    },
  });
}

const deliveryLevels = { pending: "warn", delivered: "good", dead: "bad" } as const;

export function defineDeliveryList(sources: ConsoleSources): ListDefinition<Delivery> {
  const { timeZone } = sources.configuration.current().settings;
  const at = (time: number | null) => (time === null ? null : formatters.time(time, timeZone));
  return newestFirst<Delivery>(sources, {
    path: "/deliveries",
    title: "Webhook deliveries",
    nothing: "No delivery matches.",
    fields: [["state", "State", deliveryStates], partnerField],
    columns: [
      ["Created", ({ createdAt }) => at(createdAt)],
      ["State", ({ state }) => state, ({ state }) => makeBadge(deliveryLevels[state], state)],
      ["Partner", ({ partnerId }) => partnerId],
      ["Event", ({ eventType }) => eventType],
      ["Attempts", ({ attempts }) => attempts],
      ["Last answer", ({ lastError, lastStatus }) => [lastError, lastStatus].filter(Boolean).join(" ")],
      ["Next", ({ heldBy, dueAt }) => (heldBy === null ? at(dueAt) : `held by ${heldBy}`)],
      idColumn("Delivery", "deliveryId"),
    ],
    find({ state, partner }, most) {
      const filter = { state: state as Delivery["state"] | undefined, partnerId: partner };
      return sources.webhooks.deliveries({ ...most, ...filter });
    },
  });
}

/** Defines the list of changes to partners, keys and settings. Changes to a teacher's record are on the teacher's page. */
export function defineChangeList(sources: ConsoleSources): ListDefinition<RecordedChange> {
  const { timeZone } = sources.configuration.current().settings;
  const now = ({ detail }: RecordedChange) => detail && formatters.timesIn(detail, timeZone);
  return newestFirst<RecordedChange>(sources, {
    path: "/changes",
    title: "Changes",
    nothing: "No change matches.",
    fields: [
      ["by", "By", "text"],
      ["of", "Subject (partner:ID, key:KID, setting:NAME)", "text"],
    ],
    columns: [
      ["Time", ({ at }) => formatters.time(at, timeZone)],
      ["By", ({ actor }) => actor],
      idColumn("Subject", "subject"),
      ["Change", ({ action }) => action],
      ["New value", now, (row) => html`<span class="prose">${now(row) ?? "–"}</span>`],
    ],
    async find({ by, of }, most) {
      const actor = by === undefined ? undefined : addActorPrefix(by);
      return sources.changes.list({ ...most, actor, subject: of });
    },
  });
}
