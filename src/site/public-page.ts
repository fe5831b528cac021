import type { Context } from "hono";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { PublicLimit } from "../api/public-api.ts";
import type { AddressDecision } from "../domain/address-limit.ts";
import { isTvsError } from "../domain/errors.ts";
import type { TermKind } from "../domain/teachers/search-term.ts";
import { type AppEnv, type PageHandler, setRateLimitHeaders } from "../http/context.ts";
import { problemResponse } from "../http/problem.ts";
import { readForm } from "../http/request-body.ts";
import type { Service } from "../service.ts";
import type { Texts } from "./language.ts";
import {
  type Asked,
  type FormState,
  lookupAnswer,
  lookupForm,
  lookupQuestion,
  printScriptHash,
  readTerm,
  verdictOf,
} from "./lookup-answer.ts";
import type { Markup } from "./markup.ts";
import type { Allowances, PageSender } from "./shell.ts";

type PageContext = Context<AppEnv>;

/** The public lookup for people (decision D8.1), with the domain and limit of `/teacher/verify-license`, without a script. */
export function publicPage(service: Service, limit: PublicLimit, sender: PageSender) {
  const page = createPage(service, limit, createQuestions(sender));
  const orFailure =
    (handler: PageHandler): PageHandler =>
    async (c) => {
      try {
        return await handler(c);
      } catch (error) {
        return page.failed(error as Error, c);
      }
    };

  const show: PageHandler = (c) => {
    const regNo = c.req.query("regNo");
    const tId = c.req.query("tId");
    if (regNo !== undefined) return page.answerLink(c, regNo, "regNo");
    if (tId !== undefined) return page.answerLink(c, tId, "tId");
    return page.ask(c, 200);
  };
  const answer: PageHandler = (c) => {
    if (!/^application\/x-www-form-urlencoded\b/i.test(c.req.header("Content-Type") ?? "")) {
      return page.ask(c, 415, ({ formWrong }) => formWrong);
    }
    return page.answer(c, async () => readTerm((await readForm(c)).get("searchTerm") ?? ""));
  };
  return { show: orFailure(show), answer: orFailure(answer) };
}

type SentPage = { readonly status: ContentfulStatusCode; readonly allowances?: Allowances };

/** The pages without an answer: the form, and why nothing was looked up. */
function createQuestions({ fresh }: PageSender) {
  function send(c: PageContext, page: SentPage, part: (texts: Texts) => [string, Markup]) {
    return fresh(c, { path: "/", ...page }, ({ texts }) => {
      const [title, main] = part(texts);
      // Only the bare form is indexed.
      const indexed = title === texts.lookup.title;
      return { title, main, indexed, ...(indexed ? { description: texts.lookup.lead } : {}) };
    });
  }

  function ask(
    c: PageContext,
    status: ContentfulStatusCode,
    problemIn?: (texts: Texts["lookup"]) => string,
    term = "",
  ) {
    return send(c, { status }, ({ lookup, shell }) => {
      const error = problemIn?.(lookup);
      if (error === undefined) return [lookup.title, lookupQuestion(lookup, { ...formOf(c), term })];
      return [`${shell.errorPrefix} ${lookup.title}`, lookupQuestion(lookup, { ...formOf(c), term, error })];
    });
  }

  /** A headline that nobody takes for "not licensed". */
  function noAnswer(
    c: PageContext,
    status: ContentfulStatusCode,
    sentences: (texts: Texts["lookup"]) => { title: string; text: string; note: string },
  ) {
    return send(c, { status }, ({ lookup, shell }) => {
      const { title, text, note } = sentences(lookup);
      const main = html`<h1>${title}</h1>
<div class="notice warn"><p><strong>${note}</strong></p><p>${text}</p></div>
<h2>${lookup.retry}</h2>
${lookupForm(lookup, formOf(c))}`;
      return [`${shell.errorPrefix} ${title}`, main];
    });
  }

  function tooMany(
    c: PageContext,
    { retryAfterSeconds }: AddressDecision,
    text: "tooManyText" | "tooManyPersonalText",
  ) {
    c.header("Retry-After", String(retryAfterSeconds));
    return noAnswer(c, 429, (texts) => ({
      title: texts.tooMany,
      text: texts[text](retryAfterSeconds),
      note: texts.noAnswer,
    }));
  }

  /** Status, headers and log are those of every failure; the body is for people. */
  function failed(error: Error, c: PageContext) {
    if (isTvsError(error, "BODY_TOO_LARGE")) return ask(c, 413, ({ formWrong }) => formWrong);
    const { status } = problemResponse(error, c);
    return noAnswer(c, status as ContentfulStatusCode, (texts) => ({
      title: status >= 500 ? texts.failed : texts.refused,
      text: texts.failedText,
      note: texts.noAnswerFailed,
    }));
  }

  return { send, ask, tooMany, failed };
}

function createPage(
  service: Service,
  limit: PublicLimit,
  { send, ask, tooMany, failed }: ReturnType<typeof createQuestions>,
) {
  /** The lookup is counted before its term is read: a caller with none left costs nothing more. */
  async function answer(c: PageContext, read: () => Asked | Promise<Asked>) {
    const caller = limit(c);
    const decision = caller.lookup();
    showLimit(c, decision);
    if (!decision.allowed) return tooMany(c, decision, "tooManyText");
    const asked = await read();
    if ("problem" in asked) return ask(c, 400, asked.problem, asked.term);
    const personal = caller.term(asked.term);
    if (personal !== null && personal.remaining <= decision.remaining) showLimit(c, personal);
    if (personal?.allowed === false) return tooMany(c, personal, "tooManyPersonalText");
    const found = await service.publicLookup(asked.term);
    const { settings } = service.configuration.current();
    return send(c, { status: 200, allowances: { "script-src": [printScriptHash] } }, (texts) => [
      verdictOf(found, texts).word,
      lookupAnswer({
        answer: found,
        asked,
        texts,
        timeZone: settings.timeZone,
        address: settings.issuer,
        site: settings.site,
        form: { ...formOf(c), term: asked.term },
      }),
    ]);
  }

  /** A number that may be a NIN is not looked up from a link, which may carry nothing personal. */
  function answerLink(c: PageContext, text: string, expected: TermKind) {
    const asked = readTerm(text);
    if ("problem" in asked || asked.kind !== expected) return ask(c, 400, ({ linkWrong }) => linkWrong);
    return answer(c, () => asked);
  }

  return { ask, answer, answerLink, failed };
}

function showLimit(c: PageContext, decision: AddressDecision): void {
  const headers = new Headers();
  setRateLimitHeaders(headers, decision);
  for (const [name, value] of headers) c.header(name, value);
}

/** The form keeps the link's language. */
function formOf(c: PageContext): FormState {
  const lang = c.req.query("lang");
  return { action: lang === undefined ? "./" : `./?lang=${encodeURIComponent(lang)}` };
}
