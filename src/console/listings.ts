/** The lists of the console: teachers, attestations, deliveries and changes. */

import { stringify } from "csv-stringify/sync";
import { html } from "hono/html";
import { type Attestation, statementStatus } from "../domain/attestations.ts";
import { actorNamed, type RecordedChange } from "../domain/changes.ts";
import { isCalendarDate } from "../domain/clock.ts";
import { type Delivery, deliveryStates } from "../domain/deliveries.ts";
import { TvsError } from "../domain/errors.ts";
import { requireTeacher, teacherKeyOf } from "../domain/teachers/changes.ts";
import { describeRow, listTeachers, type TeacherFilter, type TeacherPage } from "../domain/teachers/list.ts";
import { certificateStatuses, licenseStatuses } from "../partner/contract.ts";
import type { ConsoleSources } from "./console-state.ts";
import { badge, type Cell, count, inZone, type Markup, moment, none, tableOf } from "./markup.ts";

type Field = {
  readonly name: string;
  readonly label: string;
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

type Query = Readonly<Record<string, string>>;

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

export const pageRows = 50;
/** Teachers who are looked at for one page: some hundred milliseconds; a page may so be short. */
export const maxLooked = 200_000;
/** Lists whose newest rows come first are paged through so far; what lies further back is found by its day. */
const maxNewest = 2_000;
/** More than anybody reads in a spreadsheet; `tvs teachers export` has no such limit. */
const maxTeachers = 100_000;

const partnerField: Field = { name: "partner", label: "Partner", kind: "text" };

/** A select's value as one of its words. @throws TvsError USAGE */
function oneOf<T extends string>(
  name: string,
  value: string | undefined,
  words: readonly T[],
): T | undefined {
  if (value === undefined) return undefined;
  const known = words.find((word) => word === value);
  if (known === undefined) throw new TvsError("USAGE", `${name} must be one of ${words.join(", ")}`);
  return known;
}

/** A day of a form. @throws TvsError USAGE */
function dayOf(name: string, value: string | undefined): string | undefined {
  if (value !== undefined && !isCalendarDate(value))
    throw new TvsError("USAGE", `${name} must be a date, such as 2026-03-01`);
  return value;
}

/** When a day of a form begins. @throws TvsError USAGE */
function startOf(name: string, value: string | undefined, { configuration }: ConsoleSources) {
  const day = dayOf(name, value);
  return day === undefined ? undefined : configuration.current().calendar.startOfDay(day);
}

type NewestFirst<Row> = Omit<Listing<Row>, "csvRows" | "read">;

/**
 * A list that is read from its newest row on.
 * @param find the newest rows that fit, so many of them; `since` is in milliseconds since the epoch
 */
function newestFirst<Row>(
  sources: ConsoleSources,
  list: NewestFirst<Row>,
  find: (query: Query, most: () => { since: number | undefined; limit: number }) => Promise<readonly Row[]>,
): Listing<Row> {
  return {
    ...list,
    fields: [...list.fields, { name: "since", label: "Since", kind: "date" }],
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

export function statusBadge(status: keyof typeof statusLevels): Cell {
  return badge(statusLevels[status], status);
}

/** A column of ids, which may break where a table has no room for them. */
function idColumn<Name extends string>(head: string, name: Name) {
  return {
    head,
    text: (row: Readonly<Record<Name, string>>) => row[name],
    cell: (row: Readonly<Record<Name, string>>) => html`<span class="id">${row[name]}</span>`,
  };
}

type DescribedRow = ReturnType<typeof describeRow>;

export function teacherListing(sources: ConsoleSources): Listing<DescribedRow> {
  return {
    path: "/teachers",
    title: "Teachers",
    nothing: "No teacher fits.",
    csvRows: maxTeachers,
    fields: [
      { name: "license", label: "Licence today", kind: licenseStatuses },
      { name: "certificate", label: "Certificate", kind: certificateStatuses },
      { name: "expires", label: "Licence ends before", kind: "date" },
      { name: "changed", label: "Changed since", kind: "date" },
      { name: "state", label: "State", kind: "text" },
    ],
    columns: teacherColumns,
    async read(query, { from, rows }) {
      const page = await listTeachers(looking(sources), teacherFilter(query, sources), {
        limit: rows,
        maxLooked,
        ...(from === "" ? {} : { after: from }),
      });
      return describedPage(page, sources);
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

const teacherColumns: Listing<DescribedRow>["columns"] = [
  {
    head: "Registration number",
    text: ({ regNo }) => regNo,
    cell: ({ regNo }) => html`<a class="long" href="./teacher?ref=${encodeURIComponent(regNo)}">${regNo}</a>`,
  },
  { head: "Teacher id", text: ({ tId }) => tId },
  { head: "Name", text: ({ name }) => name },
  { head: "State", text: ({ state }) => state },
  {
    head: "Licence",
    text: ({ licenseStatus }) => licenseStatus,
    cell: ({ licenseStatus, active, hidden }) => {
      const marks = [...(active ? [] : ["deactivated"]), ...(hidden ? ["hidden"] : [])];
      return html`${statusBadge(licenseStatus)}${marks.map((mark) => html` ${badge("quiet", mark)}`)}`;
    },
  },
  { head: "Ends", text: ({ licenseExpiryDate }) => licenseExpiryDate },
  { head: "Certificate", text: ({ certificateStatus }) => certificateStatus },
  { head: "Changed", text: ({ updatedAt }) => updatedAt },
];

function teacherFilter(query: Query, sources: ConsoleSources): TeacherFilter {
  return {
    license: oneOf("Licence today", query.license, licenseStatuses),
    certificate: oneOf("Certificate", query.certificate, certificateStatuses),
    expiresBefore: dayOf("Licence ends before", query.expires),
    changedSince: startOf("Changed since", query.changed, sources),
    state: query.state,
  };
}

/** "Did we attest this, and to whom?" */
export function attestationListing(sources: ConsoleSources): Listing<Attestation> {
  const { timeZone } = sources.configuration.current().settings;
  const list: NewestFirst<Attestation> = {
    path: "/attestations",
    title: "Attestations",
    nothing: "Nothing was attested that fits.",
    fields: [partnerField, { name: "teacher", label: "Teacher", kind: "text" }],
    columns: [
      { head: "Verified at", text: ({ issuedAt }) => moment(issuedAt * 1_000, timeZone) },
      { head: "Partner", text: ({ partnerId }) => partnerId },
      idColumn("Key", "credential"),
      { head: "Asked for", text: ({ reference }) => reference },
      { head: "Purpose", text: ({ purpose }) => purpose },
      {
        head: "Licence",
        text: ({ status }) => status,
        cell: ({ status }) => (status === statementStatus ? status : statusBadge(status)),
      },
      { head: "Eligible", text: ({ eligible }) => (eligible ? "yes" : "no") },
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
    nothing: "There is no delivery that fits.",
    fields: [{ name: "state", label: "State", kind: deliveryStates }, partnerField],
    columns: [
      { head: "Created", text: ({ createdAt }) => at(createdAt) },
      { head: "State", text: ({ state }) => state, cell: ({ state }) => badge(deliveryLevels[state], state) },
      { head: "Partner", text: ({ partnerId }) => partnerId },
      { head: "Event", text: ({ eventType }) => eventType },
      { head: "Attempts", text: ({ attempts }) => attempts },
      {
        head: "Last answer",
        text: ({ lastError, lastStatus }) => [lastError, lastStatus].filter(Boolean).join(" "),
      },
      { head: "Next", text: ({ heldBy, dueAt }) => (heldBy === null ? at(dueAt) : `held by ${heldBy}`) },
      idColumn("Delivery", "deliveryId"),
    ],
  };
  return newestFirst(sources, list, async (query, most) => {
    const state = oneOf("State", query.state, deliveryStates);
    return sources.webhooks.deliveries({ ...most(), state, partnerId: query.partner });
  });
}

/** Who changed what, but for the teachers' records, of which each has a history. */
export function changeListing(sources: ConsoleSources): Listing<RecordedChange> {
  const { timeZone } = sources.configuration.current().settings;
  const list: NewestFirst<RecordedChange> = {
    path: "/changes",
    title: "Changes",
    nothing: "Nothing was changed that fits.",
    fields: [
      { name: "by", label: "By", kind: "text" },
      { name: "of", label: "Of (partner:ID, key:KID, setting:NAME)", kind: "text" },
    ],
    columns: [
      { head: "Time", text: ({ at }) => moment(at, timeZone) },
      { head: "By", text: ({ actor }) => actor },
      idColumn("Of", "subject"),
      { head: "Change", text: ({ action }) => action },
      {
        head: "Now",
        text: ({ detail }) => detail && inZone(detail, timeZone),
        cell: ({ detail }) =>
          html`<span class="prose">${detail === null ? "–" : inZone(detail, timeZone)}</span>`,
      },
    ],
  };
  return newestFirst(sources, list, async ({ by, of }, most) => {
    const actor = by === undefined ? undefined : actorNamed(by);
    return sources.changes.list({ ...most(), actor, subject: of });
  });
}
