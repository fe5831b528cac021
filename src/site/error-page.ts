/** Error pages for browsers, in the site's frame (decision D8.5). */

import type { Context } from "hono";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { HonoEnv } from "../http/context.ts";
import { acceptsMediaType, createProblemResponse } from "../http/problem.ts";
import { formatLanguageQuery, type Language, type SiteTexts } from "./language.ts";
import { type Markup, pathToRoot, sendUncachedPage } from "./shell.ts";

/** Matches the API's paths, but not the pages below them. On a matching path, even a browser gets a failure as JSON. */
const apiPath = /^\/(?:teacher|v1)\/(?!inter-agency\/(?:getting-started|docs|help)(?:\/|$))/;

export function acceptsHtml(c: Context): boolean {
  return acceptsMediaType(c.req.header("Accept"), "text/html");
}

type Words = SiteTexts["failures"][500];

/** Finds the texts for an HTTP status. A 4xx status without its own texts gets the texts of 405, a 5xx status the texts of 500. */
function wordsFor(status: number, { failures }: SiteTexts): Words {
  const own = (failures as Readonly<Record<number, Words>>)[status];
  return own ?? (status < 500 ? failures[405] : failures[500]);
}

function failureMain(language: Language, { status, requestId, top }: Failure): Markup {
  const { texts } = language;
  const { title, means } = wordsFor(status, texts);
  const query = formatLanguageQuery(language);
  return html`<h1>${title}</h1>
${means.map((sentence, index) => html`<p${index === 0 ? html` class="lead"` : ""}>${sentence}</p>`)}
<ul>
<li><a href="${top}${query}">${texts.shell.home}</a></li>
<li><a href="${top}verify-envelope${query}">${texts.shell.verifyEnvelope}</a></li>
<li><a href="${top}v1/inter-agency/docs${query}">${texts.shell.reference}</a></li>
</ul>
${status < 500 ? "" : html`<p class="soft">${texts.failures.requestId(requestId)}</p>`}`;
}

type Failure = { readonly status: number; readonly requestId: string; readonly top: string };

/** Answers a failure. A browser gets an HTML page, except on the API's paths; other callers get JSON. */
export function sendFailureResponse(error: Error, c: Context<HonoEnv>): Response | Promise<Response> {
  const response = createProblemResponse(error, c);
  const { path } = c.req;
  if (!acceptsHtml(c) || apiPath.test(path)) return response;
  const status = response.status as ContentfulStatusCode;
  const { requestId } = c.get("trace");
  return sendUncachedPage(c, { path, status }, (language) => {
    const main = failureMain(language, { status, requestId, top: pathToRoot(path) });
    return { title: wordsFor(status, language.texts).title, main };
  });
}
