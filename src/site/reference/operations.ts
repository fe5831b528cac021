/** The operations: what each takes and answers, and beside it a request in five languages and its answers. */

import { html } from "hono/html";
import { keyToPutIn } from "../../http/local-caller.ts";
import { type CodeLanguage, codeLanguages } from "../getting-started-languages.ts";
import type { Markup } from "../markup.ts";
import { codeBox, jsonBox } from "./code.ts";
import { type Call, exampleOf, nameOf, type Operation, type Parameter, type Response } from "./document.ts";
import { membersOf, parametersOf, typeOf } from "./members.ts";
import { part, type Writer } from "./writer.ts";

export function operationPart(writer: Writer, call: Call): Markup {
  const { operation, method, path } = call;
  const { operationId, summary } = operation;
  const what = html`<p class="address"><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></p>
<p>${writer.prose.inline(operation.description)}</p>
<p class="needs">${credentialOf(writer, operation)}</p>
${takesPart(writer, operation)}
${answersPart(writer, operation)}`;
  const request = requestOf(writer, call);
  const shown = html`${requestSamples(writer, operationId, request)}
${answerExamples(writer, operation)}
${writer.sandbox ? tryForm(writer, call, request) : ""}`;
  return part(writer, { id: operationId, title: writer.prose.said(summary), rank: 3, what, shown });
}

function credentialOf({ texts }: Writer, { security }: Operation): Markup {
  return security.length === 0
    ? html`${texts.noCredential}`
    : html`<a href="#about-authentication">${texts.credential}</a>`;
}

function takesPart(writer: Writer, operation: Operation): Markup {
  const { texts, follow } = writer;
  const parameters = parametersFor(writer, operation);
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema;
  return html`${parameters.length === 0 ? "" : html`<h4>${texts.parameters}</h4>${parametersOf(writer, parameters)}`}
${
  body === undefined
    ? ""
    : html`<h4>${texts.body}</h4><p>${typeOf(writer, body)}. ${writer.prose.inline(follow(body).description)}</p>
${membersOf(writer, follow(body), { direction: "sent", idBefore: null })}`
}`;
}

/** What it answers; of failures statuses and codes alone, because each is explained once for all operations. */
function answersPart(writer: Writer, operation: Operation): Markup {
  const { texts } = writer;
  const answers = Object.entries(operation.responses).map(
    ([status, response]) => [status, writer.follow(response)] as const,
  );
  const good = answers.filter(([status]) => Number(status) < 400);
  const failed = answers.filter(([status]) => Number(status) >= 400);
  return html`<h4>${texts.answers}</h4>
<dl class="members">${good.map(([status, response]) => answerRow(writer, status, response))}
<div><dt>${texts.errorsOf}</dt><dd><ul class="codes">${failed.map(
    ([status, { "x-error-codes": codes = [] }]) =>
      html`<li>${status}${codes.map((code) => html` <a href="#${code}"><code>${code}</code></a>`)}</li>`,
  )}</ul></dd></div>
</dl>`;
}

function answerRow(writer: Writer, status: string, response: Response): Markup {
  const { texts } = writer;
  const [content] = Object.entries(response.content ?? {});
  const names = Object.keys(response.headers ?? {});
  const type =
    content === undefined ? "" : html` <span class="type">${typeOf(writer, content[1].schema)}</span>`;
  return html`<div><dt><strong>${status}</strong>${type}</dt>
<dd>${writer.prose.inline(response.description)}
<p class="headers">${texts.headersOf} ${names.map(
    (name, index) => html`${index === 0 ? "" : ", "}<a href="#header-${name}">${name}</a>`,
  )}</p></dd></div>
`;
}

function requestSamples({ texts }: Writer, operationId: string, request: Request): Markup {
  return html`<div class="sample">
<fieldset><legend>${texts.request}</legend>${codeLanguages.map(
    ({ id, name }, index) =>
      html`<label><input type="radio" name="language-${operationId}" value="${id}"${index === 0 ? " checked" : ""}><span>${name}</span></label>`,
  )}</fieldset>
${codeLanguages.map(
  (language) =>
    html`<div data-in="${language.id}">${codeBox(sampleOf(language, request), texts.requestExample(operationId, language.name))}</div>`,
)}</div>`;
}

/** The answers that the document has examples of, the first one open. */
function answerExamples(writer: Writer, { operationId, responses }: Operation): Markup {
  const { texts } = writer;
  const shown = Object.entries(responses)
    .filter(([status]) => Number(status) < 300)
    .flatMap(([status, response]) =>
      examplesOf(writer, writer.follow(response)).map((one) => ({ status, ...one })),
    );
  return html`${shown.map(
    (
      { status, summary, value },
      index,
    ) => html`<details class="sample" name="answer-${operationId}"${index === 0 ? " open" : ""}>
<summary>${texts.answerExample(status)}${summary === "" ? "" : html`: ${writer.prose.said(summary)}`}</summary>
${jsonBox(value, `${operationId}: ${texts.answerExample(status)} ${index + 1}`)}</details>
`,
  )}`;
}

/** The examples of an answer: its own, else that of its schema. */
function examplesOf(writer: Writer, response: Response): { summary: string; value: unknown }[] {
  const [content] = Object.values(response.content ?? {});
  if (content === undefined) return [];
  const named = Object.values(content.examples ?? {}).map((one) => writer.follow(one));
  if (named.length > 0) return named.map(({ summary, value }) => ({ summary, value }));
  const value = exampleOf(content.schema, writer);
  return value === undefined ? [] : [{ summary: "", value }];
}

/** The form by which a call is tried in a sandbox. The script shows it, and sends it to where the page came from. */
function tryForm(writer: Writer, { method, path, operation }: Call, { body }: Request): Markup {
  const { texts, apiKey } = writer;
  const { operationId, security } = operation;
  const fields = parametersFor(writer, operation).map((parameter) => field(writer, operationId, parameter));
  const key =
    security.length === 0
      ? ""
      : html`<label>${texts.apiKey} <input type="text" name="key" autocomplete="off" spellcheck="false" value="${apiKey ?? ""}"></label>`;
  const text =
    body === undefined
      ? ""
      : html`<label>${texts.body} <textarea name="body" rows="10" spellcheck="false">${JSON.stringify(body, null, 2)}</textarea></label>`;
  return html`<details class="sample try" hidden><summary>${texts.tryIt}</summary>
<form data-method="${method}" data-path="${path}">
${key}${fields}${text}
<button>${texts.send}</button>
<p role="status"></p>
<pre tabindex="0" role="group" aria-label="${operationId}: ${texts.answerShown}" hidden><code></code></pre>
</form></details>`;
}

function field(writer: Writer, operationId: string, parameter: Parameter): Markup {
  const { name, in: place, required } = parameter;
  const value = required === true ? parameterExample(writer, parameter) : "";
  return html`<label><code>${name}</code> <input type="text" name="${name}" data-in="${place}" id="try-${operationId}-${name}" autocomplete="off" spellcheck="false" value="${value}"></label>`;
}

/** Whether callers send it, or a part of it. */
export function sentSchemas(writer: Writer): ReadonlySet<string> {
  const names = new Set<string>();
  const add = (value: unknown): void => {
    for (const [, pointer = ""] of JSON.stringify(value ?? null).matchAll(/"\$ref":"([^"]+)"/g)) {
      if (names.has(nameOf(pointer))) continue;
      names.add(nameOf(pointer));
      add(writer.follow({ $ref: pointer }));
    }
  };
  for (const { operation } of writer.calls) {
    add(operation.requestBody);
    add(operation.parameters);
  }
  return names;
}

function parametersFor(writer: Writer, operation: Operation): readonly Parameter[] {
  return (operation.parameters ?? []).map((parameter) => writer.follow(parameter));
}

/** The request that the example shows. Its teacher is one that every sandbox has. */
function requestOf(writer: Writer, { method, path, operation }: Call): Request {
  const given = parametersFor(writer, operation).flatMap((parameter) => {
    const isSent = parameter.required === true || parameter.name === "Idempotency-Key";
    return isSent ? [[parameter, parameterExample(writer, parameter)] as const] : [];
  });
  const valuesIn = (place: Parameter["in"]) => given.filter(([parameter]) => parameter.in === place);
  const filled = valuesIn("path").reduce(
    (address, [{ name }, value]) => address.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  const query = valuesIn("query").map(([{ name }, value]) => `${name}=${encodeURIComponent(value)}`);
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema;
  return {
    method,
    url: `${writer.issuer}${filled}${query.length === 0 ? "" : `?${query.join("&")}`}`,
    headers: {
      ...(operation.security.length > 0 && { Authorization: `Bearer ${shownKey(writer)}` }),
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...Object.fromEntries(valuesIn("header").map(([{ name }, value]) => [name, value])),
    },
    ...(body !== undefined && { body: exampleOf(body, writer) }),
  };
}

function parameterExample(writer: Writer, { example, schema }: Parameter): string {
  return String(example ?? exampleOf(schema, writer));
}

function shownKey({ apiKey, sandbox }: Writer): string {
  return apiKey ?? keyToPutIn(sandbox);
}

type Request = {
  readonly method: string;
  /** The whole address, filled in. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
};

/**
 * METHOD, ADDRESS and BODY stand for themselves. The line with NAME and VALUE is there once for each header, and the one
 * with BODY goes where there is none; BODY_IF_ANY is then empty.
 */
function sampleOf({ call, escape: escaped }: CodeLanguage, request: Request): string {
  const { method, url, headers, body } = request;
  const written = body === undefined ? "" : escaped(JSON.stringify(body, null, 2));
  const places: Readonly<Record<string, string>> = { METHOD: method, ADDRESS: url, BODY: written };
  const lines = call.source
    .trimEnd()
    .split("\n")
    .flatMap((line) => {
      if (line.includes("NAME")) return linesOf(headers, line);
      return body === undefined && /BODY\b/.test(line) ? [] : [line];
    });
  return lines
    .join("\n")
    .replace(/\b(METHOD|ADDRESS|BODY)(_IF_ANY)?\b/g, (_all, place) => places[place] ?? "");
}

function linesOf(headers: Request["headers"], line: string): string[] {
  return Object.entries(headers).map(([name, value]) =>
    line.replace(/NAME|VALUE/g, (place) => (place === "NAME" ? name : value)),
  );
}
