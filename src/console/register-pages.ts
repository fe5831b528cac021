/** The console's pages on teachers, partners, attestations, deliveries and imports (decision D7.7). No page changes anything. */

import type { Context, Hono, MiddlewareHandler } from "hono";
import { html } from "hono/html";
import { isTvsError, TvsError } from "../domain/errors.ts";
import { findTeachers } from "../domain/teachers/list.ts";
import { readForm } from "../http/request-body.ts";
import { type AdminEnv, pathInSession, teacherSearchPath } from "./access.ts";
import { consoleFrame } from "./console-page.ts";
import type { ConsoleSources } from "./console-state.ts";
import { renderImport, renderImportsTable, renderPartner, renderTeacher } from "./file-pages.ts";
import {
  attestationListing,
  changeListing,
  deliveryListing,
  describeTeacherRows,
  generateCsv,
  type Listing,
  listingPageSize,
  listingTable,
  makeSearchSources,
  maxTeachersRead,
  pagerLinks,
  pickFilledFields,
  renderFilterForm,
  teacherListing,
} from "./listings.ts";
import type { Markup } from "./markup.ts";

const shownImports = 100;

type Guard = MiddlewareHandler<AdminEnv>;

export function addRegisterPages(app: Hono<AdminEnv>, sources: ConsoleSources, signedIn: Guard): void {
  addListing(app, signedIn, teacherListing(sources), searchForm(""));
  addListing(app, signedIn, attestationListing(sources));
  addListing(app, signedIn, deliveryListing(sources));
  addListing(app, signedIn, changeListing(sources));

  // A POST, because the search term may be a personal number, which no URL may contain (contract C6).
  app.post(teacherSearchPath, signedIn, (c) => search(c, sources));

  const page = (path: string, title: string, part: (c: Context<AdminEnv>) => Promise<Markup>) =>
    app.get(path, signedIn, (c) => shown(c, title, () => part(c)));

  page("/teacher", "Teacher", async (c) => renderTeacher(c.req.query("ref") ?? "", sources));
  page("/partner", "Partner", async (c) => renderPartner(c.req.query("id") ?? "", sources));
  page("/imports", "Imports", async () => {
    const imports = await sources.imports.latest(shownImports);
    const { commandLine, clock, configuration } = sources;
    const { timeZone } = configuration.current().settings;
    return html`<section class="panel">${renderImportsTable(imports, { timeZone, now: clock.now(), commandLine })}</section>`;
  });
  page("/import", "Import", async (c) => {
    const id = Number(c.req.query("id"));
    const found = Number.isSafeInteger(id) ? await sources.imports.find(id) : null;
    if (found === null) throw new TvsError("NOT_KNOWN", "there is no such import");
    return renderImport(found, sources);
  });
}

/** Adds the routes of a list: its page and its CSV file. @param before markup above the page's filter */
function addListing<Row>(
  app: Hono<AdminEnv>,
  signedIn: Guard,
  listing: Listing<Row>,
  before: Markup = html``,
): void {
  const { path, title, fields } = listing;
  app.get(path, signedIn, (c) =>
    shown(c, title, async () => {
      const query = pickFilledFields(fields, c.req.query());
      const { rows, next } = await listing.read(query, {
        from: c.req.query("from") ?? "",
        rows: listingPageSize,
      });
      return html`<section class="panel">${before}${renderFilterForm(listing, query)}</section>
<section class="panel">${listingTable(listing, rows)}${pagerLinks(listing, query, next)}</section>`;
    }),
  );
  app.get(`${path}.csv`, signedIn, (c) =>
    orSaid(c, title, async () => {
      // The first rows are read before the response begins, so that a malformed query gets a 400 and not a broken file.
      const pieces = generateCsv(listing, pickFilledFields(fields, c.req.query()));
      const begun = [await pieces.next(), await pieces.next()].map(({ value }) => value ?? "");
      c.header("Content-Type", "text/csv; charset=utf-8");
      c.header("Content-Disposition", `attachment; filename="${path.slice(1)}.csv"`);
      return c.body(streamOf(begun.join(""), pieces));
    }),
  );
}

/** Makes a stream of UTF-8 that pulls the next piece only when the client can receive more. */
function streamOf(begun: string, pieces: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(begun)),
    async pull(controller) {
      const { value, done } = await pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: () => void pieces.return(undefined),
  });
}

function searchForm(term: string): Markup {
  return html`<form class="filter" method="post" action="./teachers" role="search">
<label class="wide">Registration number, teacher id, NIN, e-mail address, phone number or first letters of a name
<input name="term" type="search" value="${term}" autocomplete="off" required></label>
<button>Find</button></form>`;
}

async function search(c: Context<AdminEnv>, sources: ConsoleSources): Promise<Response> {
  return shown(c, "Teachers", async () => {
    const given = await readForm(c);
    const [term, after] = [given.get("term") ?? "", given.get("after") ?? ""];
    const page = { limit: listingPageSize, maxLooked: maxTeachersRead, ...(after === "" ? {} : { after }) };
    const found = await findTeachers(makeSearchSources(sources), term, page);
    const { rows, next } = describeTeacherRows(found, sources);
    const more =
      next === null
        ? ""
        : html`<form method="post" action="./teachers"><input type="hidden" name="term" value="${term}"><input type="hidden" name="after" value="${next}"><button>Next page</button></form>`;
    return html`<section class="panel">${searchForm(term)}<p><a href="./teachers">Show the whole register</a></p></section>
<section class="panel">${listingTable(teacherListing(sources), rows)}${more}</section>`;
  });
}

function shown(c: Context<AdminEnv>, title: string, part: () => Promise<Markup>): Promise<Response> {
  const path = pathInSession(c.req.path);
  return orSaid(c, title, async () => c.html(consoleFrame({ title, path, main: await part() })));
}

const statuses = { USAGE: 400, REQUEST_INVALID: 400, NOT_KNOWN: 404, BODY_TOO_LARGE: 413 } as const;

/** Runs a handler. For a malformed query or an unknown id, it sends a page with the error's message. */
async function orSaid(c: Context<AdminEnv>, title: string, run: () => Promise<Response>): Promise<Response> {
  try {
    return await run();
  } catch (error) {
    const status = isTvsError(error) ? statuses[error.code as keyof typeof statuses] : undefined;
    if (!isTvsError(error) || status === undefined) throw error;
    const path = pathInSession(c.req.path).replace(/\.csv$/, "");
    const main = html`<section class="panel" role="alert"><h2>This cannot be shown</h2><p>${error.message}</p><p><a href=".${path}">Back</a></p></section>`;
    return await c.html(consoleFrame({ title, path, main }), status);
  }
}
