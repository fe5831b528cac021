/** Draws requests: valid by the OpenAPI document, nearly valid, and absurd. */

import { Buffer } from "node:buffer";
import fc from "fast-check";
import { routes } from "../../src/routes.ts";
import { document, resolve } from "../api/openapi/document.ts";
import { drawValidValue, oddText, oddValue, type Schema } from "./http-values.ts";
import { anEdit, type Edit, editBytes } from "./parser-edits.ts";

/** The caller's credential: a key of the sequence's partner, of another partner, or an invalid one. */
const callers = [
  ...(["own", "inHeader", "both", "none", "cut"] as const),
  ...(["basic", "unscoped", "spent", "noDay", "plain"] as const),
] as const;
export type CredentialKind = (typeof callers)[number];

/** A request with placeholders for ids that only the register knows (`PlaceholderKind`). */
export type DrawnRequest = {
  readonly method: string;
  readonly url: string;
  readonly caller: CredentialKind;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
};

type Parameter = { readonly name: string; readonly in: "path" | "query" | "header"; readonly schema: Schema };
type Operation = {
  readonly parameters?: readonly { readonly $ref: string }[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: { readonly "application/json": { readonly schema: Schema } };
  };
  readonly security: readonly object[];
};

/** A fault in one part of a request. */
type Twist =
  | { readonly part: "path" | "query" | "url"; readonly text: string; readonly at: number }
  | { readonly part: "method"; readonly text: string }
  | { readonly part: "body"; readonly edit: Edit; readonly beside: unknown }
  | { readonly part: "whole"; readonly change: (text: string) => string | Buffer };

/** Changes of whole bodies, which are drawn rarely. */
const changes = [
  (text: string) => Buffer.from(text, "utf16le"),
  (text: string) => text.padEnd(256 * 1024),
  (text: string) => text.padEnd(256 * 1024 + 1),
  (text: string) => text.replace(/"(?=\})/, `${"a".repeat(100_000)}"`),
  (text: string) =>
    text.replace(/\[(.+)\]/s, (_all, inner: string) => `[${new Array(101).fill(inner).join()}]`),
];

const pieces = "%00 %ff %2F %2e%2e/ ../ // / ; ? & # % \\ %c0%af = \u00e9".split(" ");
const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];

const at = fc.nat(400);
const part = <const Name extends Twist["part"]>(...names: Name[]) => fc.constantFrom(...names);
const twists: readonly [weight: number, fc.Arbitrary<Twist | null>][] = [
  [100, fc.constant(null)],
  [60, fc.record({ part: part("path", "query"), text: oddText, at })],
  [20, fc.record({ part: part("url"), text: fc.constantFrom(...pieces), at })],
  [20, fc.record({ part: part("method"), text: fc.constantFrom(...methods) })],
  [120, fc.record({ part: part("body"), edit: anEdit, beside: oddValue })],
  [2, fc.record({ part: part("whole"), change: fc.constantFrom(...changes) })],
];
const twist = fc.oneof(...twists.map(([weight, arbitrary]) => ({ weight, arbitrary })));

/** A header's value of one line; other values cannot be sent by `fetch`. */
const inOneLine = (text: string) => text.replace(/[^\x20-\x7e\xa0-\xff]/g, "").trim();
const extra: Readonly<Record<string, string>> = {
  Accept: "application/problem+json|application/problem+json;q=0|text/html|*/*;q=0.1, text/html;q=2|;;,",
  "Content-Type":
    "text/plain|application/x-www-form-urlencoded|multipart/form-data; boundary=x|charset=utf-16",
  "Accept-Encoding": "gzip|gzip;q=0|br, *",
  "Accept-Language": "en-XA|de|;q=,",
  Range: "bytes=0-1|bytes=-1|bytes=9-1",
  "If-None-Match": '(etag.0)|*|"|,',
  "Idempotency-Key": `k|"k"|other|"|""|${"k".repeat(255)}|${"k".repeat(256)}|\u00fc`,
  "X-Forwarded-For": "1.2.3.4|::1, x|unknown",
  "Client-Cert": ":AAAA:|:|x",
  Origin: "https://other.example|null",
  Cookie: "lang=en|a=b; c",
};
const header = fc.oneof(
  ...Object.entries(extra).map(([name, values]) =>
    fc.tuple(
      fc.constant(name),
      fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...values.split("|")) }, oddText.map(inOneLine)),
    ),
  ),
);
const headers = fc.array(header, { maxLength: 3, size: "-1" }).map((lines) => Object.fromEntries(lines));
const caller = fc.oneof(
  { weight: 30, arbitrary: fc.constant<CredentialKind>("own") },
  fc.constantFrom(...callers),
);

/** The drawn parts of a request to one path. */
type Drawn = {
  readonly parts: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly documented: Readonly<Record<string, unknown>>;
  readonly extra: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly twist: Twist | null;
  readonly caller: CredentialKind;
};

function requestsTo(path: string, method: string, { parameters = [], requestBody, security }: Operation) {
  const all = parameters.map(({ $ref }) => resolve($ref) as Parameter);
  const of = (where: Parameter["in"]) =>
    Object.fromEntries(
      all.filter((one) => one.in === where).map(({ name, schema }) => [name, drawValidValue(schema, name)]),
    );
  const body =
    requestBody === undefined ? undefined : drawValidValue(requestBody.content["application/json"].schema);
  const record = (values: Record<string, fc.Arbitrary<unknown>>, isWhole = false) =>
    fc.record(values, isWhole ? {} : { requiredKeys: [] });
  const drawn: fc.Arbitrary<Drawn> = fc.record({
    parts: record(of("path"), true),
    query: record(of("query")),
    documented: record(of("header")),
    extra: headers,
    body: body === undefined ? fc.constant(undefined) : fc.option(body, { nil: undefined, freq: 20 }),
    twist,
    caller: security.length > 0 ? caller : fc.constant<CredentialKind>("none"),
  });
  return drawn.map((one) => put(path, method.toUpperCase(), one));
}

function put(
  template: string,
  method: string,
  { parts, query, documented, extra, body, twist, caller }: Drawn,
): DrawnRequest {
  const isIn = (part: Twist["part"]) => twist?.part === part;
  const text = twist !== null && "text" in twist ? twist.text : "";
  const path = template.replace(/\{(\w+)\}/g, (_part, name: string) =>
    encoded(isIn("path") ? text : String(parts[name]), twist),
  );
  const asked = Object.entries(query).map(([name, value]) => `${name}=${encoded(String(value), twist)}`);
  if (isIn("query") && asked.length > 0)
    asked[0] = `${asked[0]?.replace(/=.*/s, "=")}${encoded(text, twist)}`;
  let url = asked.length === 0 ? path : `${path}?${asked.join("&")}`;
  if (twist?.part === "url") {
    const at = 1 + (twist.at % url.length);
    url = url.slice(0, at) + text + url.slice(at);
  }
  const sent = bodyOf(body, twist);
  const lines = Object.entries({ ...extra, ...documented }).map(([name, value]) => [
    name,
    inOneLine(String(value)),
  ]);
  const asOther = twist?.part === "method" ? twist.text : method;
  const takesBody = asOther !== "GET" && asOther !== "HEAD";
  return { method: asOther, url, caller, headers: Object.fromEntries(lines), body: takesBody ? sent : null };
}

function encoded(text: string, twist: Twist | null): string {
  if (twist !== null && "at" in twist && twist.at % 3 === 0)
    return text.toWellFormed().replace(/[\s?#]/g, "");
  return encodeURIComponent(text.toWellFormed());
}

function bodyOf(value: unknown, twist: Twist | null): Buffer | null {
  if (value === undefined) return null;
  const text = JSON.stringify(value);
  if (twist?.part === "whole") return Buffer.from(twist.change(text) as string);
  const whole = Buffer.from(text);
  return twist?.part === "body"
    ? editBytes(whole, Buffer.from(JSON.stringify(twist.beside)), twist.edit)
    : whole;
}

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as unknown as Record<string, Operation>).map(([method, one]) =>
    requestsTo(path, method, one),
  ),
);

/** Routes that are not in the document: pages and their files. */
const pages = routes.filter(({ path }) => !(path in document.paths));
const page = fc
  .record({
    route: fc.constantFrom(...pages),
    parts: fc.record({ topic: oddText, language: fc.constantFrom("python", ".."), file: oddText }),
    term: fc.option(fc.oneof(drawValidValue({ $ref: "#/components/schemas/SearchTerm" }), oddText)),
    extra: headers,
    twist,
  })
  .map(({ route, parts, term, extra, twist }) => {
    const isForm = route.method === "POST";
    const names = { searchTerm: term, regNo: term, tId: term, lang: parts.topic };
    const query = term === null || isForm ? {} : names;
    const drawn = { parts, query, documented: {}, extra, body: undefined, twist, caller: "none" } as const;
    const asked = put(route.path, route.method, drawn);
    if (!isForm || asked.method === "GET" || asked.method === "HEAD") return asked;
    const body = Buffer.from(`searchTerm=${encoded(String(term), twist)}&lang=en`);
    const type = { "Content-Type": "application/x-www-form-urlencoded" };
    return { ...asked, headers: { ...type, ...asked.headers }, body };
  });

/** Any request; most are to a path of the document. */
export const requestArbitrary: fc.Arbitrary<DrawnRequest> = fc.oneof(
  { weight: 12, arbitrary: fc.oneof(...operations) },
  { weight: 1, arbitrary: page },
);
