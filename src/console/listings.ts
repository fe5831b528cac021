/** The lists of the console: teachers, attestations, deliveries and changes. */

import { stringify } from "csv-stringify/sync";
import { html } from "hono/html";
import { type Attestation, statementStatus } from "../domain/attestations.ts";
import { completeActor, type RecordedChange } from "../domain/changes.ts";
import { isCalendarDate } from "../domain/clock.ts";
import { type Delivery, deliveryStates } from "../domain/deliveries.ts";
import { TvsError } from "../domain/errors.ts";
import { requireTeacher, teacherKeyOf } from "../domain/teachers/changes.ts";
import { describeRow, listTeachers, type TeacherPage } from "../domain/teachers/list.ts";
import { certificateStatuses, licenseStatuses } from "../partner/contract.ts";
import type { ConsoleSources } from "./console-state.ts";
import { badge, type Cell, count, idCell, inZone, type Markup, moment, none, tableOf } from "./markup.ts";

type Query = Readonly<Record<string, string>>;

/** A field of the filter: a text, a date, or one of some words. */
type Field = readonly [name: string, label: string, kind: "text" | "date" | readonly string[]];

/** A column with its CSV value, and its cell if that is more than the value. */
type Column<Row> = readonly [
  head: string,
  text: (row: Row) => string | number | null,
  cell?: (row: Row) => Cell,
];

/** `next` is the beginning of the next page: a registration number, or the number of rows to skip. */
type Rows<Row> = { readonly rows: readonly Row[]; readonly next: string | null };

export type Listing<Row> = {
  /** The path in the session's folder, also of the CSV file. */
  readonly path: string;
  readonly title: string;
  readonly fields: readonly Field[];
  readonly columns: readonly Column<Row>[];
  readonly nothing: string;
  /** The most rows of its CSV file. */
  readonly csvRows: number;
  /** @param from the `next` of the page before, empty for the first @throws TvsError USAGE for a malformed query */
  readonly read: (query: Query, page: { from: string; rows: number }) => Promise<Rows<Row>>;
};

export function tableOfRows<Row>({ title, columns, nothing }: Listing<Row>, rows: readonly Row[]): Markup {
  if (rows.length === 0) return none(nothing);
  return tableOf(title, {
    head: columns.map(([head]) => head),
    rows: rows.map((row) => columns.map(([, text, cell]) => cell?.(row) ?? String(text(row) ?? "–"))),
  });
}

export function filterForm(
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

export function pager<Row>({ path, csvRows }: Listing<Row>, query: Query, next: string | null): Markup {
  const addressOf = (file: string, of: Query) => {
    const text = new URLSearchParams(of).toString();
    return text === "" ? `.${file}` : `.${file}?${text}`;
  };
  const more =
    next === null
      ? ""
      : html`<a rel="next" href="${addressOf(path, { ...query, from: next })}">Next page</a>`;
  return html`<p class="pager">${more} <a href="${addressOf(`${path}.csv`, query)}" download>Save as CSV, ${count(csvRows)} rows at most</a></p>`;
}

/** The filled-in fields of a form; other parts of the address are dropped. */
export function queryOf(fields: readonly Field[], given: Readonly<Record<string, string>>): Query {
  const filled = fields.map(([name]) => [name, (given[name] ?? "").trim()] as const);
  return Object.fromEntries(filled.filter(([, value]) => value !== ""));
}

const csvPageRows = 2_000;

/** The rows of a list as CSV, page by page. A cell that a spreadsheet would take for a formula is marked as text. */
export async function* csvOf<Row>(listing: Listing<Row>, query: Query): AsyncGenerator<string> {
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

export const pageRows = 50;
/** The most teachers read for one page, in some hundred milliseconds. A page of rare matches may be short. */
export const maxLooked = 200_000;
/** The most rows of a list that begins with its newest row. The filter "Since" finds older rows. */
const maxNewest = 2_000;
/** More than anybody reads in a spreadsheet; `tvs teachers export` has no such limit. */
const maxTeachers = 100_000;

const partnerField: Field = ["partner", "Partner", "text"];

/** @throws TvsError USAGE */
function oneOf<T extends string>(name: string, value: string | undefined, words: readonly T[]) {
  const known = words.find((word) => word === value);
  if (value !== undefined && known === undefined)
    throw new TvsError("USAGE", `${name} must be one of ${words.join(", ")}`);
  return known;
}

/** @throws TvsError USAGE */
function dayOf(name: string, value: string | undefined): string | undefined {
  if (value !== undefined && !isCalendarDate(value))
    throw new TvsError("USAGE", `${name} must be a date, such as 2026-03-01`);
  return value;
}

/** The beginning of a day in milliseconds since the epoch. @throws TvsError USAGE */
function startOf(name: string, value: string | undefined, { configuration }: ConsoleSources) {
  const day = dayOf(name, value);
  return day === undefined ? undefined : configuration.current().calendar.startOfDay(day);
}

type NewestFirst<Row> = Omit<Listing<Row>, "csvRows" | "read">;

/** A list that begins with its newest row. `find` reads `limit` rows since a time in milliseconds since the epoch. */
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

/** A column of ids, which may break into lines. */
function idColumn<Name extends string>(head: string, name: Name): Column<Readonly<Record<Name, string>>> {
  return [head, (row) => row[name], (row) => idCell(row[name])];
}

type DescribedRow = ReturnType<typeof describeRow>;

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
      const page = { limit, maxLooked, ...(from === "" ? {} : { after: from }) };
      return describedPage(await listTeachers(looking(sources), filter, page), sources);
    },
  };
}

export function looking({ teachers, blindIndex, clock, configuration }: ConsoleSources) {
  return { teachers, blindIndex, clock, calendar: configuration.current().calendar };
}

export function describedPage(
  { teachers, next }: TeacherPage,
  { configuration, clock }: ConsoleSources,
): Rows<DescribedRow> {
  const { calendar } = configuration.current();
  const today = calendar.dateAt(clock.now());
  const rows = teachers.map((teacher) => ({
    ...describeRow(teacher, today),
    updatedAt: calendar.dateAt(teacher.updatedAt),
  }));
  return { rows, next };
}

/** Answers "did we attest this, and to whom?" */
export function attestationListing(sources: ConsoleSources): Listing<Attestation> {
  const { timeZone } = sources.configuration.current().settings;
  const list: NewestFirst<Attestation> = {
    path: "/attestations",
    title: "Attestations",
    nothing: "No attestation matches.",
    fields: [partnerField, ["teacher", "Teacher", "text"]],
    columns: [
      ["Verified at", ({ issuedAt }) => moment(issuedAt * 1_000, timeZone)],
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
  const at = (time: number | null) => (time === null ? null : moment(time, timeZone));
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

/** All changes except those of teachers' records, which have their own histories. */
export function changeListing(sources: ConsoleSources): Listing<RecordedChange> {
  const { timeZone } = sources.configuration.current().settings;
  const now = ({ detail }: RecordedChange) => detail && inZone(detail, timeZone);
  const list: NewestFirst<RecordedChange> = {
    path: "/changes",
    title: "Changes",
    nothing: "No change matches.",
    fields: [
      ["by", "By", "text"],
      ["of", "Subject (partner:ID, key:KID, setting:NAME)", "text"],
    ],
    columns: [
      ["Time", ({ at }) => moment(at, timeZone)],
      ["By", ({ actor }) => actor],
      idColumn("Subject", "subject"),
      ["Change", ({ action }) => action],
      ["New value", now, (row) => html`<span class="prose">${now(row) ?? "–"}</span>`],
    ],
  };
  return newestFirst(sources, list, async ({ by, of }, most) => {
    const actor = by === undefined ? undefined : completeActor(by);
    return sources.changes.list({ ...most(), actor, subject: of });
  });
}
