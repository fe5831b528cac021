/** What is told once for all operations: words, errors, headers, schemas and what webhooks bring. */

import { STATUS_CODES } from "node:http";
import { html } from "hono/html";
import { errorCodes } from "../../partner/error-codes.ts";
import type { Markup } from "../markup.ts";
import { jsonBox, plainBox } from "./code.ts";
import { exampleOf, type Schema } from "./document.ts";
import { membersOf, parametersOf, typeOf } from "./members.ts";
import { sentSchemas } from "./operations.ts";
import { part, type Writer } from "./writer.ts";

/** The schemas that are lists of words, which have tables, and the others. */
export function schemasOf({ document }: Writer) {
  const all = Object.entries(document.components.schemas);
  const isList = ([name, schema]: [string, Schema]) =>
    schema["x-enumDescriptions"] !== undefined && name !== "ErrorCode";
  return { lists: all.filter(isList), others: all.filter((entry) => !isList(entry)) };
}

/** A list of words as a table, in which every word can be linked to. */
export function wordsPart(writer: Writer, [name, schema]: [string, Schema]): Markup {
  const { texts, prose } = writer;
  const what = html`<p>${prose.inline(schema.description)}</p>
${table(
  [texts.word, texts.meaning],
  [
    name,
    Object.entries(schema["x-enumDescriptions"] ?? {}).map(([word, meaning]) => ({
      id: `${name}-${word.replaceAll(" ", "-")}`,
      name: codeWord(word),
      cells: [prose.inline(meaning)],
    })),
  ],
)}`;
  return part(writer, { id: name, title: name, rank: 3, what });
}

/** A word that may break after its underscores and hyphens, where a phone has no room for it. */
function codeWord(word: string): Markup {
  return html`<code>${word.split(/(?<=[_-])/).map((piece, index) => (index === 0 ? piece : html`<wbr>${piece}`))}</code>`;
}

type TableRow = { readonly id: string; readonly name: Markup; readonly cells: readonly (Markup | string)[] };

/** A table whose rows are records on a phone: there each cell says what its column is called. */
function table(columns: readonly string[], [label, rows]: [label: string, rows: readonly TableRow[]]) {
  return html`<table class="records words" aria-label="${label}"><thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map(
    ({ id, name, cells }) => html`<tr id="${id}"><th scope="row">${name}</th>${cells.map(
      (cell, index) => html`<td data-label="${columns[index + 1]}">${cell}</td>`,
    )}</tr>
`,
  )}</tbody></table>`;
}

/** Every code of a failure, at the address to which `Link` leads: what it means and what to do. */
export function errorsPart(writer: Writer): Markup {
  const { texts, document, prose } = writer;
  const rows = Object.entries(errorCodes).map(([code, { status, meaning, remedy }]) => ({
    id: code,
    name: codeWord(code),
    cells: [
      html`${status} ${prose.said(STATUS_CODES[status] ?? "")}`,
      prose.inline(`${meaning} **${remedy}**`),
    ],
  }));
  const columns = [texts.word, texts.status, texts.when];
  const what = html`<p>${texts.errorsLead}</p>${table(columns, [texts.errors, rows])}`;
  const { Error: plain, Problem: problem, RateLimitError: quota } = document.components.schemas;
  const shown = html`${exampleBox(writer, "Error", plain)}
${exampleBox(writer, "RateLimitError", quota)}
${exampleBox(writer, "Problem", problem)}`;
  return part(writer, { id: "errors", title: texts.errors, rank: 2, what, shown });
}

export function headersPart(writer: Writer): Markup {
  const { texts, prose, document } = writer;
  const rows = Object.entries(document.components.headers).map(([name, { description, schema }]) => ({
    id: `header-${name}`,
    name: codeWord(name),
    cells: [
      html`${prose.inline(description)}<p class="message"><code>${String(exampleOf(schema, writer))}</code></p>`,
    ],
  }));
  const what = table([texts.name, texts.says], [texts.headers, rows]);
  return part(writer, { id: "headers", title: texts.headers, rank: 2, what });
}

export function schemaPart(writer: Writer, [name, schema]: [string, Schema]): Markup {
  const { prose } = writer;
  const direction = sentSchemas(writer).has(name) ? "sent" : "answered";
  const members =
    schema.properties === undefined
      ? html`<p class="type">${typeOf(writer, schema)}</p>`
      : membersOf(writer, schema, { direction, idBefore: name });
  const what = html`<p>${prose.inline(schema.description)}</p>${members}`;
  return part(writer, { id: name, title: name, rank: 3, what, shown: exampleBox(writer, name, schema) });
}

function exampleBox(writer: Writer, name: string, schema: Schema | undefined): Markup {
  const { texts } = writer;
  const shown = schema === undefined ? undefined : exampleOf(schema, writer);
  return html`<div class="sample"><p class="caption">${texts.exampleOf(name)}</p>${jsonBox(shown, texts.exampleOf(name))}</div>`;
}

/** What the service sends to a partner's endpoint: headers, answers, and each event with its example. */
export function webhookPart(writer: Writer): Markup {
  const { texts, prose, document } = writer;
  const [operation] = Object.values(document.webhooks).flatMap((methods) => Object.values(methods));
  const content = operation?.requestBody?.content["application/json"];
  if (operation === undefined || content === undefined) return html``;
  const what = html`<p>${prose.inline(operation.description)}</p>
<h4>${texts.delivered}</h4>
${parametersOf(writer, operation.parameters ?? [])}
<h4>${texts.body}</h4>
<p>${typeOf(writer, content.schema)}. ${prose.inline(operation.requestBody?.description)}</p>
<h4>${texts.yourAnswer}</h4>
<dl class="members">${Object.entries(operation.responses).map(
    ([status, { description }]) =>
      html`<div><dt><code>${status}</code></dt><dd>${prose.inline(description)}</dd></div>`,
  )}</dl>`;
  const signed = exampleOf(document.components.schemas.EventType ?? {}, writer);
  const sent = (operation.parameters ?? []).map(
    (header) => `${header.name}: ${String(exampleOf(header.schema, writer))}`,
  );
  const shown = html`<div class="sample"><p class="caption">${texts.delivered}</p>${plainBox(sent.join("\n"), texts.delivered)}</div>
${Object.entries(content.examples ?? {}).map(([type, example]) => {
  const { value } = writer.follow(example);
  return html`<details class="sample" name="event"${type === signed ? " open" : ""} id="example-${type}"><summary><code>${type}</code></summary>${jsonBox(value, type)}</details>
`;
})}`;
  return part(writer, {
    id: operation.operationId,
    title: prose.said(operation.summary),
    rank: 3,
    what,
    shown,
  });
}
