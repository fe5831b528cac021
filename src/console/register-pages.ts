/** The console's pages on teachers, partners, attestations, deliveries and imports (decision D7.7). No page changes anything. */

import type { Context, Hono, MiddlewareHandler } from "hono";
import { html } from "hono/html";
import { TvsError } from "../domain/errors.ts";
import { findTeachers } from "../domain/teachers/list.ts";
import { readFormBody } from "../http/request-body.ts";
import type { AdminEnv } from "./access.ts";
import { renderFrame } from "./console-page.ts";
import type { ConsoleSources } from "./console-state.ts";
import { renderImportPage, renderImportsTable, renderPartnerPage, renderTeacherPage } from "./file-pages.ts";
import {
  createCsvStream,
  defineAttestationList,
  defineChangeList,
  defineDeliveryList,
  defineTeacherList,
  type ListDefinition,
  parseListFilter,
  readTeacherRows,
  renderListFilter,
  renderListTable,
  renderPager,
  rowsPerListPage,
} from "./listings.ts";
import type { Markup } from "./markup.ts";

const shownImports = 100;

/** Adds the pages to the app of a session. @param signedIn the middleware that refuses requests without a session */
export function addRegisterPages(
  app: Hono<AdminEnv>,
  sources: ConsoleSources,
  signedIn: MiddlewareHandler<AdminEnv>,
): void {
  function page(
    method: "get" | "post",
    path: string,
    title: string,
    part: (c: Context<AdminEnv>) => Promise<Markup>,
  ): void {
    app[method](path, signedIn, async (c) => {
      // If the query is refused, the page with the refusal has the same title.
      c.set("title", title);
      return c.html(renderFrame({ title, path, main: await part(c) }));
    });
  }

  function list<Row>(listing: ListDefinition<Row>, before: Markup = html``): void {
    const { path, title } = listing;
    page("get", path, title, async (c) => {
      const query = parseListFilter(listing, c.req.query());
      const wanted = { from: c.req.query("from") ?? "", rows: rowsPerListPage };
      const { rows, next } = await listing.read(query, wanted);
      return html`<section class="panel">${before}${renderListFilter(listing, query)}</section>
<section class="panel">${renderListTable(listing, rows)}${renderPager(listing, query, next)}</section>`;
    });
    app.get(`${path}.csv`, signedIn, async (c) => {
      c.set("title", title);
      const csv = await createCsvStream(listing, parseListFilter(listing, c.req.query()));
      c.header("Content-Type", "text/csv; charset=utf-8");
      c.header("Content-Disposition", `attachment; filename="${path.slice(1)}.csv"`);
      return c.body(csv);
    });
  }

  const teachers = defineTeacherList(sources);
  list(teachers, searchForm(""));
  list(defineAttestationList(sources));
  list(defineDeliveryList(sources));
  list(defineChangeList(sources));

  // The search is a POST, because its term can be a personal number, which no URL may contain (contract C6).
  page("post", teachers.path, teachers.title, async (c) => {
    const given = await readFormBody(c);
    const term = given.get("term") ?? "";
    const wanted = { from: given.get("after") ?? "", rows: rowsPerListPage };
    const { rows, next } = await readTeacherRows(sources, wanted, (register, asked) =>
      findTeachers({ ...register, blindIndex: sources.blindIndex }, term, asked),
    );
    const more =
      next === null
        ? ""
        : html`<form method="post" action="./teachers"><input type="hidden" name="term" value="${term}"><input type="hidden" name="after" value="${next}"><button>Next page</button></form>`;
    return html`<section class="panel">${searchForm(term)}<p><a href="./teachers">Show the whole register</a></p></section>
<section class="panel">${renderListTable(teachers, rows)}${more}</section>`;
  });

  page("get", "/teacher", "Teacher", (c) => renderTeacherPage(c.req.query("ref") ?? "", sources));
  page("get", "/partner", "Partner", (c) => renderPartnerPage(c.req.query("id") ?? "", sources));
  page("get", "/imports", "Imports", async () => {
    const imports = await sources.imports.latest(shownImports);
    const { commandLine, clock, configuration } = sources;
    const { timeZone } = configuration.current().settings;
    return html`<section class="panel">${renderImportsTable(imports, { timeZone, now: clock.now(), commandLine })}</section>`;
  });
  page("get", "/import", "Import", async (c) => {
    const id = Number(c.req.query("id"));
    const found = Number.isSafeInteger(id) ? await sources.imports.find(id) : null;
    if (found === null) throw new TvsError("NOT_KNOWN", "there is no such import");
    return renderImportPage(found, sources);
  });
}

function searchForm(term: string): Markup {
  return html`<form class="filter" method="post" action="./teachers" role="search">
<label class="wide">Registration number, teacher id, NIN, e-mail address, phone number or first letters of a name
<input name="term" type="search" value="${term}" autocomplete="off" required></label>
<button>Find</button></form>`;
}
