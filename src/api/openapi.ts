/**
 * The service's OpenAPI 3.1 document, with the service's own address, name and contact. People edit `data/openapi.yaml`. The
 * build makes JSON of it, because parsing the YAML would stop the event loop for a fifth of a second.
 */

import { defaultSite, type Site } from "../domain/site.ts";
import { type ApiErrorCode, errorCodes } from "../partner/error-codes.ts";
import document from "./openapi.bundle.json" with { type: "json" };

/** A part of the document: OpenAPI 3.1 objects are plain JSON. */
type Json = { readonly [member: string]: unknown };

type OpenApiDocument = Json & {
  readonly openapi: "3.1.0";
  readonly info: Json & { readonly title: string };
  readonly servers: readonly [Json];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
};

const published = withErrorCodes(document as unknown as Written);

type Answer = {
  readonly "x-error-codes"?: readonly ApiErrorCode[];
  readonly description: string;
  readonly headers?: Json;
  readonly content?: Readonly<Record<string, Json>>;
};
type Written = OpenApiDocument & {
  readonly components: { readonly schemas: Json; readonly responses: Readonly<Record<string, Answer>> };
};

/**
 * Adds what the file need not repeat: the codes with their meanings, the headers and the problem details of every error,
 * and the standard rate-limit headers.
 */
function withErrorCodes(document: Written): OpenApiDocument {
  const { components } = document;
  const names = Object.keys(errorCodes);
  const meanings = Object.entries(errorCodes).map(([code, { meaning, remedy }]) => [
    code,
    `${meaning} ${remedy}`,
  ]);
  const list = {
    enum: names,
    examples: names.slice(0, 1),
    "x-enumDescriptions": Object.fromEntries(meanings),
  };
  const answers = Object.entries(components.responses).map(([name, answer]) => [name, completed(answer)]);
  const schemas = {
    ...components.schemas,
    ErrorCode: { ...(components.schemas.ErrorCode as Json), ...list },
  };
  return { ...document, components: { ...components, schemas, responses: Object.fromEntries(answers) } };
}

function completed(answer: Answer): Answer {
  const { "x-error-codes": codes = [], headers = {}, content, description } = answer;
  const added = [
    ...("X-RateLimit-Limit" in headers ? ["RateLimit", "RateLimit-Policy"] : []),
    ...(codes.length > 0 ? ["X-Error-Code", "Link"] : []),
  ].map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  const all = { ...answer, headers: { ...headers, ...Object.fromEntries(added) } };
  if (codes.length === 0 || content === undefined) return all;
  const problem = { schema: { $ref: "#/components/schemas/Problem" } };
  return {
    ...all,
    description: `${description} ${codes.map((code) => `\`${code}\``).join(", ")}.`,
    content: { ...content, "application/problem+json": problem },
  };
}

/**
 * The document of one service.
 * @param issuer the service's address without a slash at its end: the one server that the document names
 * @param site whose service it is: its name in the title, and whom to ask
 */
export function openApiDocument(issuer: string, site: Site = defaultSite): OpenApiDocument {
  const { info, servers } = published;
  return { ...published, info: infoOf(info, site), servers: [{ ...servers[0], url: issuer }] };
}

function infoOf(
  { title, ...rest }: OpenApiDocument["info"],
  { name, contact }: Site,
): OpenApiDocument["info"] {
  const { email, url } = contact;
  const asked = {
    ...(name === null ? {} : { name }),
    ...(url === undefined ? {} : { url }),
    ...(email === undefined ? {} : { email }),
  };
  return {
    title: name === null ? title : `${title} – ${name}`,
    ...(Object.keys(asked).length === 0 ? {} : { contact: asked }),
    ...rest,
  };
}
