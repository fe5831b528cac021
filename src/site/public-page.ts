import type { Context } from "hono";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { RateLimitDecision } from "../domain/address-limit.ts";
import type { SearchTermKind } from "../domain/teachers/search-term.ts";
import { type HonoEnv, type PageHandler, setRateLimitHeaders } from "../http/context.ts";
import { createProblemResponse, setFailureCode } from "../http/problem.ts";
import { readFormBody } from "../http/request-body.ts";
import type { SiteTexts } from "./language.ts";
import {
  describeLookupVerdict,
  type LookupFormState,
  type ParsedSearchTerm,
  parseSearchTerm,
  printScriptCspSource,
  renderLookupAnswer,
  renderLookupForm,
  renderLookupFormPage,
} from "./lookup-answer.ts";
import { type CspDirectives, type SitePage, sendUncachedPage } from "./shell.ts";

type PageContext = Context<HonoEnv>;
type Lookup = SiteTexts["lookup"];
type Part = (texts: SiteTexts) => Pick<SitePage, "title" | "description" | "main">;

/** Sends the form, or the answer to a lookup link (decision D8.1), with the rate limit of `/teacher/verify-license`. */
export const sendLookupPage = orFailurePage((c) => {
  const { regNo, tId } = c.req.query();
  if (regNo !== undefined) return answerLink(c, regNo, "regNo");
  if (tId !== undefined) return answerLink(c, tId, "tId");
  // Only the page without an answer has a description, because search engines may index no other page of the lookup.
  return send(c, 200, ({ lookup }) => {
    const { title, lead: description } = lookup;
    return { title, description, main: renderLookupFormPage(lookup, formOf(c)) };
  });
});

export const answerLookupForm = orFailurePage((c) => {
  if (!/^application\/x-www-form-urlencoded\b/i.test(c.req.header("Content-Type") ?? ""))
    return refuse(c, 415, ({ formWrong }) => formWrong);
  return answer(c, async () => parseSearchTerm((await readFormBody(c)).get("searchTerm") ?? ""));
});

/** Makes a handler that answers a failure with a page. `createProblemResponse` sets status and headers and logs the failure. */
function orFailurePage(handler: PageHandler): PageHandler {
  return async (c) => {
    try {
      return await handler(c);
    } catch (error) {
      const { status } = createProblemResponse(error, c);
      if (status === 413) return refuse(c, status, ({ formWrong }) => formWrong);
      return noAnswer(c, status, (texts) => ({
        title: status >= 500 ? texts.failed : texts.refused,
        text: texts.failedText,
        note: texts.noAnswerFailed,
      }));
    }
  };
}

/** Answers a request with a term in the URL's query. A term that may be a NIN gets 400, because no URL may contain a NIN. */
function answerLink(c: PageContext, text: string, expected: SearchTermKind) {
  const asked = parseSearchTerm(text);
  if ("problem" in asked || asked.kind !== expected) return refuse(c, 400, ({ linkWrong }) => linkWrong);
  return answer(c, () => asked);
}

/** Looks a term up and sends the answer. The rate limit counts the lookup before `read` runs, so a refused caller costs little. */
async function answer(c: PageContext, read: () => ParsedSearchTerm | Promise<ParsedSearchTerm>) {
  const { service, limit } = c.get("parts");
  const caller = limit(c);
  const decision = caller.lookup();
  setRateLimitHeaders(c.res.headers, decision);
  if (!decision.allowed) return tooMany(c, decision, "tooManyText");
  const asked = await read();
  if ("problem" in asked) return refuse(c, 400, asked.problem, asked.term);
  const personal = caller.term(asked.term);
  if (personal !== null && personal.remaining <= decision.remaining)
    setRateLimitHeaders(c.res.headers, personal);
  if (personal?.allowed === false) return tooMany(c, personal, "tooManyPersonalText");
  const found = await service.publicLookup(asked.term);
  const { settings } = service.configuration.current();
  const form = { ...formOf(c), term: asked.term };
  const part: Part = (texts) => ({
    title: describeLookupVerdict(found, texts).word,
    main: renderLookupAnswer({ answer: found, asked, texts, settings, form }),
  });
  return send(c, 200, part, { "script-src": [printScriptCspSource] });
}

function send(c: PageContext, status: number, part: Part, cspDirectives?: CspDirectives) {
  const about = { path: "/", status: status as ContentfulStatusCode, cspDirectives };
  return sendUncachedPage(c, about, ({ texts }) => part(texts));
}

function refuse(c: PageContext, status: 400 | 413 | 415, problem: (texts: Lookup) => string, term = "") {
  if (status !== 413) setFailureCode("REQUEST_INVALID", c);
  return send(c, status, ({ lookup, shell }) => ({
    title: `${shell.errorPrefix} ${lookup.title}`,
    main: renderLookupFormPage(lookup, { ...formOf(c), term, error: problem(lookup) }),
  }));
}

function tooMany(
  c: PageContext,
  { retryAfterSeconds }: RateLimitDecision,
  text: "tooManyText" | "tooManyPersonalText",
) {
  setFailureCode("ADDRESS_QUOTA", c);
  c.header("Retry-After", String(retryAfterSeconds));
  return noAnswer(c, 429, (texts) => ({
    title: texts.tooMany,
    text: texts[text](retryAfterSeconds),
    note: texts.noAnswer,
  }));
}

/** Sends a page without an answer. Its headline must not read like "not licensed". */
function noAnswer(
  c: PageContext,
  status: number,
  sentences: (texts: Lookup) => { title: string; text: string; note: string },
) {
  return send(c, status, ({ lookup, shell }) => {
    const { title, text, note } = sentences(lookup);
    const main = html`<h1>${title}</h1>
<div class="notice warn"><p><strong>${note}</strong></p><p>${text}</p></div>
<h2>${lookup.retry}</h2>
${renderLookupForm(lookup, formOf(c))}`;
    return { title: `${shell.errorPrefix} ${title}`, main };
  });
}

function formOf(c: PageContext): LookupFormState {
  const lang = c.req.query("lang");
  return { action: lang === undefined ? "./" : `./?lang=${encodeURIComponent(lang)}` };
}
