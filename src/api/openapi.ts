/**
 * The service's OpenAPI 3.1 document. It is `data/openapi.yaml`, which people edit; what depends on who runs the service
 * is put in here.
 */

import { parse } from "yaml";
import text from "../../data/openapi.yaml" with { type: "text" };
import { defaultSite, type Site } from "../domain/site.ts";

/** A part of the document: OpenAPI 3.1 objects are plain JSON. */
type Json = { readonly [member: string]: unknown };

/** An OpenAPI 3.1 document. */
type OpenApiDocument = Json & {
  readonly openapi: "3.1.0";
  readonly info: Json & { readonly title: string };
  readonly servers: readonly [Json];
  /** Operations by path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
};

// The examples refer to each other more often than the parser bears with texts of strangers; this one is ours.
const published: OpenApiDocument = parse(text, { maxAliasCount: -1 });

/**
 * The document of one service.
 *
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
