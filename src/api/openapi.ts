/**
 * The service's OpenAPI 3.1 document, with this service's URL, name and contact. People edit `data/openapi.yaml`. The build
 * converts the file to JSON (.ci/schema-types.ts), because parsing YAML would block the event loop for 200 ms.
 */

import { defaultSite, type SiteDetails } from "../domain/site.ts";
import document from "./openapi.bundle.json" with { type: "json" };

type Json = { readonly [member: string]: unknown };

type OpenApiDocument = Json & {
  readonly openapi: "3.1.0";
  readonly info: Json & { readonly title: string };
  readonly servers: readonly [Json];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
};

const published = document as unknown as OpenApiDocument;

/**
 * Makes the OpenAPI document of one service.
 * @param issuer the service's URL, without a slash at its end; it becomes the document's only server
 * @param site the operator's name and contact, for the document's title and contact
 */
export function buildOpenApiDocument(issuer: string, site: SiteDetails = defaultSite): OpenApiDocument {
  const { info, servers } = published;
  const { title, ...rest } = info;
  const { name, contact } = site;
  const given = Object.entries({ name, url: contact.url, email: contact.email }).filter(([, value]) => value);
  return {
    ...published,
    info: {
      title: name === null ? title : `${title} – ${name}`,
      ...(given.length === 0 ? {} : { contact: Object.fromEntries(given) }),
      ...rest,
    },
    servers: [{ ...servers[0], url: issuer }],
  };
}
