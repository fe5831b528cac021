import type { Context } from "hono";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { PublicRateLimit } from "../api/public-api.ts";
import type { LimitDecision } from "../domain/address-limit.ts";
import { isTvsError } from "../domain/errors.ts";
import type { TermKind } from "../domain/teachers/search-term.ts";
import { type AppEnv, type PageHandler, setRateLimitHeaders } from "../http/context.ts";
import { problemResponse } from "../http/problem.ts";
import { readForm } from "../http/request-body.ts";
import type { Service } from "../service.ts";
import type { Texts } from "./language.ts";
import {
  describeLookupVerdict,
  type FormState,
  lookupAnswer,
  lookupForm,
  lookupQuestion,
  parseSearchTerm,
  printScriptCspSource,
  type SearchTermInput,
} from "./lookup-answer.ts";
import type { CspDirectives, Page, PageSender } from "./shell.ts";

type PageContext = Context<AppEnv>;

/** Makes the handlers of the lookup page (decision D8.1). It shares its answers and its limit with `/teacher/verify-license`. */
export function createLookupHandlers(service: Service, limit: PublicRateLimit, sender: PageSender) {
  const questions = createQuestions(sender);
  const { answer, answerLink } = createAnswers(service, limit, questions);
  const orFailure =
    (handler: PageHandler): PageHandler =>
    async (c) => {
      try {
        return await handler(c);
      } catch (error) {
        return questions.failed(error as Error, c);
      }
    };
  const show: PageHandler = (c) => {
    const { regNo, tId } = c.req.query();
    if (regNo !== undefined) return answerLink(c, regNo, "regNo");
    if (tId !== undefined) return answerLink(c, tId, "tId");
    return questions.ask(c);
  };
  const submit: PageHandler = (c) => {
    if (!/^application\/x-www-form-urlencoded\b/i.test(c.req.header("Content-Type") ?? ""))
      return questions.refuse(c, 415, ({ formWrong }) => formWrong);
    return answer(c, async () => parseSearchTerm((await readForm(c)).get("searchTerm") ?? ""));
  };
  return { show: orFailure(show), answer: orFailure(submit) };
}

type SentPage = { readonly status: ContentfulStatusCode; readonly cspDirectives?: CspDirectives };
type Lookup = Texts["lookup"];

/** Makes the functions that send the form, or the reason why nothing was looked up. */
function createQuestions({ fresh }: PageSender) {
  const send = (c: PageContext, page: SentPage, part: (texts: Texts) => Pick<Page, "title" | "main">) =>
    fresh(c, { path: "/", ...page }, ({ texts }) => part(texts));

  /** Sends the form without an error. No other page of the lookup may be in search engines. */
  const ask = (c: PageContext) =>
    fresh(c, { path: "/" }, ({ texts: { lookup } }) => {
      const { title, lead: description } = lookup;
      return { title, description, main: lookupQuestion(lookup, formOf(c)) };
    });

  /** Sends the form with an error message. */
  const refuse = (
    c: PageContext,
    status: ContentfulStatusCode,
    problem: (texts: Lookup) => string,
    term = "",
  ) =>
    send(c, { status }, ({ lookup, shell }) => ({
      title: `${shell.errorPrefix} ${lookup.title}`,
      main: lookupQuestion(lookup, { ...formOf(c), term, error: problem(lookup) }),
    }));

  /** Sends a page without an answer. Its headline must not read like "not licensed". */
  const noAnswer = (
    c: PageContext,
    status: ContentfulStatusCode,
    sentences: (texts: Lookup) => { title: string; text: string; note: string },
  ) =>
    send(c, { status }, ({ lookup, shell }) => {
      const { title, text, note } = sentences(lookup);
      const main = html`<h1>${title}</h1>
<div class="notice warn"><p><strong>${note}</strong></p><p>${text}</p></div>
<h2>${lookup.retry}</h2>
${lookupForm(lookup, formOf(c))}`;
      return { title: `${shell.errorPrefix} ${title}`, main };
    });

  function tooMany(
    c: PageContext,
    { retryAfterSeconds }: LimitDecision,
    text: "tooManyText" | "tooManyPersonalText",
  ) {
    c.header("Retry-After", String(retryAfterSeconds));
    return noAnswer(c, 429, (texts) => ({
      title: texts.tooMany,
      text: texts[text](retryAfterSeconds),
      note: texts.noAnswer,
    }));
  }

  /** Sends the page of a failure. `problemResponse` sets its status and headers and logs it, as for the API. */
  function failed(error: Error, c: PageContext) {
    if (isTvsError(error, "BODY_TOO_LARGE")) return refuse(c, 413, ({ formWrong }) => formWrong);
    const { status } = problemResponse(error, c);
    return noAnswer(c, status as ContentfulStatusCode, (texts) => ({
      title: status >= 500 ? texts.failed : texts.refused,
      text: texts.failedText,
      note: texts.noAnswerFailed,
    }));
  }

  return { send, ask, refuse, tooMany, failed };
}

function createAnswers(
  service: Service,
  limit: PublicRateLimit,
  { send, refuse, tooMany }: ReturnType<typeof createQuestions>,
) {
  /** Looks a term up. The lookup is counted before `read`, so that a caller above the limit costs no more work. */
  async function answer(c: PageContext, read: () => SearchTermInput | Promise<SearchTermInput>) {
    const caller = limit(c);
    const decision = caller.lookup();
    showLimit(c, decision);
    if (!decision.allowed) return tooMany(c, decision, "tooManyText");
    const asked = await read();
    if ("problem" in asked) return refuse(c, 400, asked.problem, asked.term);
    const personal = caller.term(asked.term);
    if (personal !== null && personal.remaining <= decision.remaining) showLimit(c, personal);
    if (personal?.allowed === false) return tooMany(c, personal, "tooManyPersonalText");
    const found = await service.publicLookup(asked.term);
    const { settings } = service.configuration.current();
    return send(c, { status: 200, cspDirectives: { "script-src": [printScriptCspSource] } }, (texts) => ({
      title: describeLookupVerdict(found, texts).word,
      main: lookupAnswer({ answer: found, asked, texts, settings, form: { ...formOf(c), term: asked.term } }),
    }));
  }

  /** Answers a link with a term in its query. A term that may be a NIN gets 400, because URLs must not contain one. */
  function answerLink(c: PageContext, text: string, expected: TermKind) {
    const asked = parseSearchTerm(text);
    if ("problem" in asked || asked.kind !== expected) return refuse(c, 400, ({ linkWrong }) => linkWrong);
    return answer(c, () => asked);
  }

  return { answer, answerLink };
}

function showLimit(c: PageContext, decision: LimitDecision): void {
  const headers = new Headers();
  setRateLimitHeaders(headers, decision);
  for (const [name, value] of headers) c.header(name, value);
}

/** Makes the state of an empty form whose URL keeps `?lang=`. */
function formOf(c: PageContext): FormState {
  const lang = c.req.query("lang");
  return { action: lang === undefined ? "./" : `./?lang=${encodeURIComponent(lang)}` };
}
