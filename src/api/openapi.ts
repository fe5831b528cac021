/**
 * The service's OpenAPI 3.1 document, with the service's own address, name and contact. People edit `data/openapi.yaml`. The
 * build makes JSON of it (.ci/schema-types.ts), because parsing the YAML would stop the event loop for a fifth of a second.
 */

import { defaultSite, type Site } from "../domain/site.ts";
import document from "./openapi.bundle.json" with { type: "json" };

/** A part of the document: OpenAPI 3.1 objects are plain JSON. */
type Json = { readonly [member: string]: unknown };

type OpenApiDocument = Json & {
  readonly openapi: "3.1.0";
  readonly info: Json & { readonly title: string };
  readonly servers: readonly [Json];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
};

const published = document as unknown as OpenApiDocument;

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
