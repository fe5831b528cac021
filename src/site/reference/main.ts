/** The whole of the reference, between the site's head and foot. */

import { html } from "hono/html";
import type { Markup } from "../markup.ts";
import { plainBox } from "./code.ts";
import { errorsPart, headersPart, schemaPart, schemasOf, webhookPart, wordsPart } from "./lists.ts";
import { operationPart } from "./operations.ts";
import { sectionsOf } from "./prose.ts";
import { part, type Writer } from "./writer.ts";

/** A chapter: its place in the contents and the parts in it. */
type Chapter = {
  readonly id: string;
  readonly title: Markup | string;
  readonly entries: readonly {
    readonly id: string;
    readonly title: Markup | string;
    readonly method?: string;
  }[];
  readonly body: Markup;
};

export function referenceMain(writer: Writer): Markup {
  const { texts } = writer;
  const chapters = [overview(writer), ...operations(writer), ...lists(writer)];
  return html`<div class="reference">
<nav class="contents" aria-label="${texts.contents}">
<div id="search" hidden><label for="term">${texts.search}</label>
<input type="text" id="term" autocomplete="off" spellcheck="false" aria-describedby="count">
<p role="status" id="count" data-idle data-hint="${texts.searchHint}" data-one="${texts.result}" data-many="${texts.results}" data-none="${texts.nothing}">${texts.searchHint}</p>
<ul id="results"></ul></div>
<ul>${chapters.map(
    ({ id, title, entries }) => html`<li><a href="#${id}">${title}</a>${
      entries.length === 0
        ? ""
        : html`<ul>${entries.map(
            (entry) => html`<li><a href="#${entry.id}">${
              entry.method === undefined
                ? ""
                : html`<span class="method ${entry.method.toLowerCase()}">${entry.method}</span> `
            }${entry.title}</a></li>
`,
          )}</ul>`
    }</li>
`,
  )}</ul></nav>
<div class="chapters" data-copy="${texts.copy}" data-copied="${texts.copied}" data-copy-failed="${texts.copyFailed}" data-sending="${texts.sending}" data-unreachable="${texts.unreachable}">
<h1>${texts.title}</h1>
${chapters.map(({ body }) => body)}</div>
</div>`;
}

function overview(writer: Writer): Chapter {
  const { texts, prose, document, issuer, sandbox, apiKey, query } = writer;
  const [first, ...sections] = sectionsOf(document.info.description).map((section) => ({
    text: section.text,
    title: prose.said(section.title),
    id: `about-${section.title.toLowerCase().replaceAll(" ", "-")}`,
  }));
  const place = sandbox
    ? html`<p>${apiKey === null ? texts.sandboxNoKey : texts.sandboxKey}</p>`
    : html`<div class="notice warn"><p><strong>${texts.liveTitle}.</strong> ${texts.live}</p></div>`;
  const what = html`<p class="lead">${texts.lead}</p>
${place}
${prose.block(first?.text ?? "")}
${sections.map(({ id, title, text }) => part(writer, { id, title, rank: 3, what: prose.block(text) }))}`;
  const shown = html`<div class="sample"><p class="caption">${texts.baseAddress}</p>${plainBox(issuer, texts.baseAddress)}</div>
<p class="caption">${texts.otherWays}</p>
<ul><li><a href="getting-started${query}">${texts.gettingStarted}</a></li>
<li><a href="openapi.json">${texts.openApi}</a></li>
<li><a href="../../verify-envelope${query}">${texts.verifyPage}</a></li></ul>
<p>${texts.version(document.info.version)}</p>`;
  return {
    id: "overview",
    title: texts.overview,
    entries: sections,
    body: part(writer, { id: "overview", title: texts.overview, rank: 2, what, shown }),
  };
}

function operations(writer: Writer): Chapter[] {
  const { prose, document } = writer;
  return document.tags.map(({ name, description }) => {
    const title = prose.said(name);
    const calls = writer.callsOf(name);
    const id = name.toLowerCase().replaceAll(" ", "-");
    return {
      id,
      title,
      entries: calls.map(({ method, operation }) => ({
        id: operation.operationId,
        title: prose.said(operation.summary),
        method,
      })),
      body: html`${part(writer, { id, title, rank: 2, what: html`<p>${prose.inline(description)}</p>` })}
${calls.map((call) => operationPart(writer, call))}`,
    };
  });
}

function lists(writer: Writer): Chapter[] {
  const { texts, document, prose } = writer;
  const { lists: wordLists, others } = schemasOf(writer);
  const named = (entries: readonly (readonly [string, unknown])[]) =>
    entries.map(([name]) => ({ id: name, title: name }));
  const [webhook] = Object.values(document.webhooks).flatMap((methods) => Object.values(methods));
  const events = wordLists.filter(([name]) => name === "EventType");
  const words = wordLists.filter(([name]) => name !== "EventType");
  const heading = (id: string, title: string, lead = "") =>
    part(writer, { id, title, rank: 2, what: lead === "" ? html`` : html`<p>${lead}</p>` });
  return [
    {
      id: "webhooks",
      title: texts.webhooks,
      entries: [
        { id: webhook?.operationId ?? "", title: prose.said(webhook?.summary ?? "") },
        ...named(events),
      ],
      body: html`${heading("webhooks", texts.webhooks)}
${webhookPart(writer)}
${events.map((entry) => wordsPart(writer, entry))}`,
    },
    {
      id: "words",
      title: texts.words,
      entries: named(words),
      body: html`${heading("words", texts.words, texts.wordsLead)}
${words.map((entry) => wordsPart(writer, entry))}`,
    },
    { id: "errors", title: texts.errors, entries: [], body: errorsPart(writer) },
    { id: "headers", title: texts.headers, entries: [], body: headersPart(writer) },
    {
      id: "schemas",
      title: texts.schemas,
      entries: named(others),
      body: html`${heading("schemas", texts.schemas)}
${others.map((entry) => schemaPart(writer, entry))}`,
    },
  ];
}
