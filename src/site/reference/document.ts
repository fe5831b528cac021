/** The OpenAPI document as the reference reads it: its parts by name, with references followed. */

import { openApiDocument } from "../../api/openapi.ts";

export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly examples?: readonly unknown[];
  readonly "x-enumDescriptions"?: Readonly<Record<string, string>>;
};

export type Parameter = {
  readonly $ref?: string;
  readonly name: string;
  readonly in: "query" | "path" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: string | number;
};

type Example = { readonly $ref?: string; readonly summary: string; readonly value: unknown };

type Content = Readonly<
  Record<string, { schema: Schema; example?: unknown; examples?: Readonly<Record<string, Example>> }>
>;

export type Response = {
  readonly $ref?: string;
  readonly "x-error-codes"?: readonly string[];
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Content;
};

export type Operation = {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly description?: string; readonly content: Content };
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly responses: Readonly<Record<string, Response>>;
};

type Header = { readonly description: string; readonly schema: Schema };

type OpenApi = {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, Header>>;
  };
};

/** An operation with where it is. */
export type Call = { readonly method: string; readonly path: string; readonly operation: Operation };

export type DocumentReader = {
  readonly document: OpenApi;
  /** The operations of a tag, in the document's order. */
  callsOf(tag: string): readonly Call[];
  /** Every operation that callers have. */
  readonly calls: readonly Call[];
  /** What a part refers to, or the part itself. */
  follow<Part extends { readonly $ref?: string }>(part: Part): Part;
};

/** @param source what {@link openApiDocument} takes */
export function readDocument(...source: Parameters<typeof openApiDocument>): DocumentReader {
  const document = openApiDocument(...source) as unknown as OpenApi;
  const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  return {
    document,
    calls,
    callsOf: (tag) => calls.filter(({ operation }) => operation.tags?.includes(tag)),
    follow: (part) => (part.$ref === undefined ? part : (at(document, part.$ref) as typeof part)),
  };
}

function at(document: OpenApi, pointer: string): unknown {
  return pointer
    .split("/")
    .slice(1)
    .reduce<unknown>((value, step) => (value as Record<string, unknown>)[step], document);
}

/** The name of a component, which is the last part of a reference to it. */
export function nameOf(pointer: string): string {
  return pointer.slice(pointer.lastIndexOf("/") + 1);
}

/** The first example of a schema, or of what it refers to. */
export function exampleOf(schema: Schema, { follow }: Pick<DocumentReader, "follow">): unknown {
  return (schema.examples ?? follow(schema).examples)?.[0];
}
