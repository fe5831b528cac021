/** The members of an object, parameters and headers: the name, what it may be, and what it means. */

import { html } from "hono/html";
import type { Markup } from "../markup.ts";
import { nameOf, type Parameter, type Schema } from "./document.ts";
import type { Writer } from "./writer.ts";

type Row = {
  readonly id?: string;
  readonly name: string;
  readonly schema: Schema;
  readonly description: string | undefined;
  /** Whether it must be there, in words. */
  readonly presence: string;
  readonly inner?: Markup;
};

/** In which direction an object goes: in an answer, it is said only of a member that it may be absent. */
type Direction = "sent" | "answered";

/**
 * The members of a schema.
 * @param idBefore what stands before a member's name in its id; null where the members stand once more elsewhere
 */
export function membersOf(
  writer: Writer,
  schema: Schema,
  { direction, idBefore }: { direction: Direction; idBefore: string | null },
): Markup {
  const { texts } = writer;
  const rows = Object.entries(schema.properties ?? {}).map(([name, member]): Row => {
    const required = schema.required?.includes(name) ?? false;
    const sent = required ? texts.required : texts.optional;
    const answered = required ? "" : texts.maybeAbsent;
    const id = idBefore === null ? {} : { id: `${idBefore}.${name}` };
    return {
      ...id,
      name,
      schema: member,
      description: member.description ?? writer.follow(member).description,
      presence: direction === "sent" ? sent : answered,
      ...innerOf(writer, member, direction, idBefore === null ? null : `${idBefore}.${name}`),
    };
  });
  return list(writer, rows);
}

/** The members of a member: of an object that has no name of its own, and of what callers send. */
function innerOf(writer: Writer, member: Schema, direction: Direction, idBefore: string | null) {
  const schema = writer.follow(member);
  if (schema.properties === undefined) return {};
  const shown = member.$ref === undefined || (direction === "sent" && idBefore === null);
  return shown ? { inner: membersOf(writer, schema, { direction, idBefore }) } : {};
}

export function parametersOf(writer: Writer, parameters: readonly Parameter[]): Markup {
  const { texts } = writer;
  return list(
    writer,
    parameters.map(({ name, in: place, required, description, schema }) => ({
      name,
      schema,
      description,
      presence: `${texts[place]}, ${required === true ? texts.required : texts.optional}`,
    })),
  );
}

function list(writer: Writer, rows: readonly Row[]): Markup {
  return html`<dl class="members">
${rows.map(({ id, name, schema, description, presence, inner }) => {
  const identity = id === undefined ? "" : html` id="${id}"`;
  const soft = presence === "" ? "" : html`, <span class="presence">${presence}</span>`;
  return html`<div${identity}><dt><code>${name}</code> <span class="type">${typeOf(writer, schema)}</span>${soft}</dt>
<dd>${writer.prose.inline(description)}${inner ?? ""}</dd></div>
`;
})}</dl>`;
}

/** What a value may be, in words, with links to what has a name. */
export function typeOf(writer: Writer, schema: Schema): Markup | string {
  const { texts } = writer;
  if (schema.$ref !== undefined) return link(nameOf(schema.$ref));
  if (schema.const !== undefined) return html`${texts.always} <code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum !== undefined)
    return joined(
      writer,
      schema.enum.map((word) => html`<code>${word}</code>`),
    );
  const choices = schema.anyOf ?? schema.oneOf;
  if (schema.type === undefined && choices !== undefined) {
    return joined(
      writer,
      choices.map((choice) => typeOf(writer, choice)),
    );
  }
  if (schema.items !== undefined) {
    const { minItems = 0, maxItems } = schema;
    const count = maxItems === undefined ? "" : `, ${texts.items(minItems, maxItems)}`;
    return html`${texts.arrayOf} ${typeOf(writer, schema.items)}${count}`;
  }
  return [[schema.type ?? ""].flat().join(` ${texts.or} `), schema.format ?? "", boundsOf(writer, schema)]
    .filter((text) => text !== "")
    .join(", ");
}

function link(name: string): Markup {
  return html`<a href="#${name}">${name}</a>`;
}

function joined({ texts }: Writer, choices: readonly (Markup | string)[]): Markup {
  return html`${choices.map((choice, index) => (index === 0 ? choice : html` ${texts.or} ${choice}`))}`;
}

function boundsOf({ texts }: Writer, schema: Schema): string {
  const { minLength, maxLength, minimum, maximum } = schema;
  if (minLength !== undefined && maxLength !== undefined) return texts.length(minLength, maxLength);
  if (minimum !== undefined && maximum !== undefined && maximum < 1000) return `${minimum}–${maximum}`;
  return minimum === undefined ? "" : texts.from(minimum);
}
