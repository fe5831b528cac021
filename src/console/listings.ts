/** The console's lists of teachers, attestations, deliveries and changes: their filters, columns and reads. */

import { stringify } from "csv-stringify/sync";
import { html } from "hono/html";
import { type Attestation, statementStatus } from "../domain/attestations.ts";
import { addActorPrefix, type RecordedChange } from "../domain/changes.ts";
import { isCalendarDate } from "../domain/clock.ts";
import { type Delivery, deliveryStates } from "../domain/deliveries.ts";
import { TvsError } from "../domain/errors.ts";
import { requireTeacher, teacherKeyOf } from "../domain/teachers/changes.ts";
import { describeTeacherRow, listTeachers, type TeacherPage } from "../domain/teachers/list.ts";
import { certificateStatuses, licenseStatuses } from "../partner/contract.ts";
import type { ConsoleSources } from "./console-state.ts";
import { badge, type Cell, emptyNote, format, idCell, type Markup, renderTable } from "./markup.ts";

type Query = Readonly<Record<string, string>>;

/** A field of a list's filter. Its kind is a text, a date, or the words to choose from. */
type Field = readonly [name: string, label: string, kind: "text" | "date" | readonly string[]];

/** A column: its heading, its value in the CSV file, and its cell on the page if the cell differs from the value. */
type Column<Row> = readonly [
  head: string,
  text: (row: Row) => string | number | null,
  cell?: (row: Row) => Cell,
];

/** A page of rows. `next` is the cursor of the next page (a registration number or a number of rows to skip), null at the end. */
type Rows<Row> = { readonly rows: readonly Row[]; readonly next: string | null };

export type Listing<Row> = {
  /** The list's path in the session's folder. The CSV file's path has `.csv` added. */
  readonly path: string;
  readonly title: string;
  readonly fields: readonly Field[];
  readonly columns: readonly Column<Row>[];
  readonly nothing: string;
  /** The most rows that the list's CSV file has. */
  readonly csvRows: number;
  /** Reads a page. @param from the previous page's `next`, or "" @throws TvsError USAGE if the query is malformed */
  readonly read: (query: Query, page: { from: string; rows: number }) => Promise<Rows<Row>>;
};

export function listingTable<Row>({ title, columns, nothing }: Listing<Row>, rows: readonly Row[]): Markup {
  if (rows.length === 0) return emptyNote(nothing);
  return renderTable(title, {
    head: columns.map(([head]) => head),
    rows: rows.map((row) => columns.map(([, text, cell]) => cell?.(row) ?? String(text(row) ?? "–"))),
  });
}

export function renderFilterForm(
  { path, title, fields }: Pick<Listing<never>, "path" | "title" | "fields">,
  query: Query,
): Markup {
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

export function pagerLinks<Row>({ path, csvRows }: Listing<Row>, query: Query, next: string | null): Markup {
  const addressOf = (file: string, of: Query) => {
    const text = new URLSearchParams(of).toString();
    return text === "" ? `.${file}` : `.${file}?${text}`;
  };
  const more =
    next === null
      ? ""
      : html`<a rel="next" href="${addressOf(path, { ...query, from: next })}">Next page</a>`;
  return html`<p class="pager">${more} <a href="${addressOf(`${path}.csv`, query)}" download>Save as CSV, ${format.count(csvRows)} rows at most</a></p>`;
}

/** Picks the fields that the reader has filled in. Other parameters of the URL are dropped. */
export function pickFilledFields(fields: readonly Field[], given: Readonly<Record<string, string>>): Query {
  const filled = fields.map(([name]) => [name, (given[name] ?? "").trim()] as const);
  return Object.fromEntries(filled.filter(([, value]) => value !== ""));
}

const csvPageRows = 2_000;

/** Generates a list's CSV file, 2,000 rows at a time. Cells that a spreadsheet would run as formulas get a leading apostrophe. */
export async function* generateCsv<Row>(listing: Listing<Row>, query: Query): AsyncGenerator<string> {
  const { columns, csvRows } = listing;
  yield stringify([columns.map(([head]) => head)]);
  let from: string | null = "";
  for (let written = 0; from !== null && written < csvRows; ) {
    const rows = Math.min(csvPageRows, csvRows - written);
    const page: Rows<Row> = await listing.read(query, { from, rows });
    yield stringify(
      page.rows.map((row) => columns.map(([, text]) => text(row))),
      { escape_formulas: true },
    );
    written += page.rows.length;
    from = page.next;
  }
}

export const listingPageSize = 50;
/** The most teachers that are read for one page. With few matches a page may be short, but it takes less than a second. */
export const maxTeachersRead = 200_000;
/** The most rows that {@link newestFirst} shows. */
const maxNewest = 2_000;
/** The most teachers in a CSV file. `tvs teachers export` has no such limit. */
const maxTeachers = 100_000;

const partnerField: Field = ["partner", "Partner", "text"];

/** Checks that a value is one of some words. @throws TvsError USAGE */
function oneOf<T extends string>(name: string, value: string | undefined, words: readonly T[]) {
  const known = words.find((word) => word === value);
  if (value !== undefined && known === undefined)
    throw new TvsError("USAGE", `${name} must be one of ${words.join(", ")}`);
  return known;
}

/** Checks that a value is a date. @throws TvsError USAGE */
function dayOf(name: string, value: string | undefined): string | undefined {
  if (value !== undefined && !isCalendarDate(value))
    throw new TvsError("USAGE", `${name} must be a date, such as 2026-03-01`);
  return value;
}

/** Finds when a day begins, in milliseconds since the epoch. @throws TvsError USAGE */
function startOf(name: string, value: string | undefined, { configuration }: ConsoleSources) {
  const day = dayOf(name, value);
  return day === undefined ? undefined : configuration.current().calendar.startOfDay(day);
}

type NewestFirst<Row> = Omit<Listing<Row>, "csvRows" | "read">;

/** Makes a list whose newest row comes first. @param find reads the newest `limit` rows since a time in milliseconds */
function newestFirst<Row>(
  sources: ConsoleSources,
  list: NewestFirst<Row>,
  find: (query: Query, most: () => { since: number | undefined; limit: number }) => Promise<readonly Row[]>,
): Listing<Row> {
  return {
    ...list,
    fields: [...list.fields, ["since", "Since", "date"]],
    csvRows: maxNewest,
    async read(query, { from, rows }) {
      const skip = /^\d{1,6}$/.test(from) ? Math.min(Number(from), maxNewest) : 0;
      const end = skip + rows;
      const most = () => ({ since: startOf("Since", query.since, sources), limit: end + 1 });
      const all = await find(query, most);
      return { rows: all.slice(skip, end), next: all.length > end && end < maxNewest ? String(end) : null };
    },
  };
}

const statusLevels = { VALID: "good", EXPIRED: "warn", REVOKED: "bad", NOT_FOUND: "quiet" } as const;

export const statusBadge = (status: keyof typeof statusLevels): Cell => badge(statusLevels[status], status);

/** Makes a column of long ids, which may break into lines. */
function idColumn<Name extends string>(head: string, name: Name): Column<Readonly<Record<Name, string>>> {
  return [head, (row) => row[name], (row) => idCell(row[name])];
}

type DescribedRow = ReturnType<typeof describeTeacherRow>;

export function teacherListing(sources: ConsoleSources): Listing<DescribedRow> {
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
          return html`${statusBadge(licenseStatus)}${marks.map((mark) => html` ${badge("quiet", mark)}`)}`;
        },
      ],
      ["Ends", ({ licenseExpiryDate }) => licenseExpiryDate],
      ["Certificate", ({ certificateStatus }) => certificateStatus],
      ["Changed", ({ updatedAt }) => updatedAt],
    ],
    async read({ license, certificate, expires, changed, state }, { from, rows: limit }) {
      const filter = {
        license: oneOf("Licence today", license, licenseStatuses),
        certificate: oneOf("Certificate", certificate, certificateStatuses),
        expiresBefore: dayOf("Licence ends before", expires),
        changedSince: startOf("Changed since", changed, sources),
        state,
      };
      const page = { limit, maxLooked: maxTeachersRead, ...(from === "" ? {} : { after: from }) };
      return describeTeacherRows(await listTeachers(makeSearchSources(sources), filter, page), sources);
    },
  };
}

export function makeSearchSources({ teachers, blindIndex, clock, configuration }: ConsoleSources) {
  return { teachers, blindIndex, clock, calendar: configuration.current().calendar };
}

export function describeTeacherRows(
  { teachers, next }: TeacherPage,
  { configuration, clock }: ConsoleSources,
): Rows<DescribedRow> {
  const { calendar } = configuration.current();
  const today = calendar.dateAt(clock.now());
  const rows = teachers.map((teacher) => ({
    ...describeTeacherRow(teacher, today),
    updatedAt: calendar.dateAt(teacher.updatedAt),
  }));
  return { rows, next };
}

/** Makes the list of attestations: which partner received which answer about which teacher. */
export function attestationListing(sources: ConsoleSources): Listing<Attestation> {
  const { timeZone } = sources.configuration.current().settings;
  const list: NewestFirst<Attestation> = {
    path: "/attestations",
    title: "Attestations",
    nothing: "No attestation matches.",
    fields: [partnerField, ["teacher", "Teacher", "text"]],
    columns: [
      ["Verified at", ({ issuedAt }) => format.time(issuedAt * 1_000, timeZone)],
      ["Partner", ({ partnerId }) => partnerId],
      idColumn("Key", "credential"),
      ["Asked for", ({ reference }) => reference],
      ["Purpose", ({ purpose }) => purpose],
      [
        "Licence",
        ({ status }) => status,
        ({ status }) => (status === statementStatus ? status : statusBadge(status)),
      ],
      ["Eligible", ({ eligible }) => (eligible ? "yes" : "no")],
      idColumn("Verification id", "verificationId"),
      idColumn("Request id", "requestId"),
    ],
  };
  return newestFirst(sources, list, async ({ teacher, partner }, most) => {
    const key = teacher === undefined ? undefined : teacherKeyOf(teacher);
    const teacherId = key && (await requireTeacher(sources.teachers, key)).id;
    return sources.attestations.list({ ...most(), partnerId: partner, teacherId });
  });
}

const deliveryLevels = { pending: "warn", delivered: "good", dead: "bad" } as const;

export function deliveryListing(sources: ConsoleSources): Listing<Delivery> {
  const { timeZone } = sources.configuration.current().settings;
  const at = (time: number | null) => (time === null ? null : format.time(time, timeZone));
  const list: NewestFirst<Delivery> = {
    path: "/deliveries",
    title: "Webhook deliveries",
    nothing: "No delivery matches.",
    fields: [["state", "State", deliveryStates], partnerField],
    columns: [
      ["Created", ({ createdAt }) => at(createdAt)],
      ["State", ({ state }) => state, ({ state }) => badge(deliveryLevels[state], state)],
      ["Partner", ({ partnerId }) => partnerId],
      ["Event", ({ eventType }) => eventType],
      ["Attempts", ({ attempts }) => attempts],
      ["Last answer", ({ lastError, lastStatus }) => [lastError, lastStatus].filter(Boolean).join(" ")],
      ["Next", ({ heldBy, dueAt }) => (heldBy === null ? at(dueAt) : `held by ${heldBy}`)],
      idColumn("Delivery", "deliveryId"),
    ],
  };
  return newestFirst(sources, list, async (query, most) => {
    const state = oneOf("State", query.state, deliveryStates);
    return sources.webhooks.deliveries({ ...most(), state, partnerId: query.partner });
  });
}

/** Makes the list of changes to partners, keys and settings. Changes to a teacher's record are on the teacher's page. */
export function changeListing(sources: ConsoleSources): Listing<RecordedChange> {
  const { timeZone } = sources.configuration.current().settings;
  const now = ({ detail }: RecordedChange) => detail && format.timesIn(detail, timeZone);
  const list: NewestFirst<RecordedChange> = {
    path: "/changes",
    title: "Changes",
    nothing: "No change matches.",
    fields: [
      ["by", "By", "text"],
      ["of", "Subject (partner:ID, key:KID, setting:NAME)", "text"],
    ],
    columns: [
      ["Time", ({ at }) => format.time(at, timeZone)],
      ["By", ({ actor }) => actor],
      idColumn("Subject", "subject"),
      ["Change", ({ action }) => action],
      ["New value", now, (row) => html`<span class="prose">${now(row) ?? "–"}</span>`],
    ],
  };
  return newestFirst(sources, list, async ({ by, of }, most) => {
    const actor = by === undefined ? undefined : addActorPrefix(by);
    return sources.changes.list({ ...most(), actor, subject: of });
  });
}
