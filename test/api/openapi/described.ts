import { expect } from "bun:test";
import { answerErrors, document, resolve } from "./document.ts";

type Described = {
  headers: Record<string, unknown>;
  content?: Record<string, { schema: { $ref?: string } }>;
};

/** The paths of the document, each with its pattern. A registration number may contain slashes (decision D2.7). */
const templates = Object.entries(document.paths).map(([path, item]) => {
  const pattern = path
    .replaceAll(".", "\\.")
    .replace("{regNo}", ".+")
    .replaceAll(/\{\w+\}/g, "[^/]+");
  return { path, item, pattern: new RegExp(`^${pattern}$`, "s") };
});

function templateOf(path: string) {
  const { pathname } = new URL(`http://service.test${path}`);
  return templates.find(({ pattern }) => pattern.test(pathname));
}

export function isDescribed(path: string): boolean {
  return templateOf(path) !== undefined;
}

function operationOf(
  path: string,
  method: string,
): { path: string; responses: Record<string, { $ref: string }> } {
  const found = templateOf(path);
  if (found === undefined) throw new Error(`no path describes ${path}`);
  const operations = found.item as unknown as Record<string, { responses: Record<string, { $ref: string }> }>;
  // A wrong method has no operation. All operations of the path describe its answer, so the first one is used.
  const operation = operations[method.toLowerCase()] ?? Object.values(operations)[0];
  if (operation === undefined) throw new Error(`${path} has no operation`);
  return { path: found.path, responses: operation.responses };
}

/** Headers that every HTTP service may send, and that the document does not describe. */
const ordinary = /^(content-|access-control-|vary$|x-content-type-options$)/;
/** Lists documented headers that an answer may lack. If the database has failed, the remaining quota is unknown. */
function occasional(status: number): readonly string[] {
  const quota = ["limit", "remaining", "reset"].map((name) => `x-ratelimit-${name}`);
  quota.push("ratelimit", "ratelimit-policy");
  return status >= 500 ? quota : ["idempotent-replayed"];
}

/** Expects that an answer has the status, headers, media type and members that the document describes. */
export async function expectDocumented(response: Response, path: string, method: string): Promise<unknown> {
  const { responses } = operationOf(path, method);
  const described = resolve(responses[response.status]?.$ref ?? "#/missing") as Described | undefined;
  if (described === undefined) throw new Error(`${method} ${path} does not describe ${response.status}`);

  const documented = Object.keys(described.headers).map((name) => name.toLowerCase());
  const sent = [...response.headers.keys()].filter((name) => !ordinary.test(name));
  expect(sent.filter((name) => !documented.includes(name))).toEqual([]);
  const missing = documented.filter((name) => !sent.includes(name));
  expect(missing.filter((name) => !occasional(response.status).includes(name))).toEqual([]);

  const text = await response.text();
  const contents = described.content ?? {};
  const type = response.headers.get("Content-Type")?.split(";")[0] ?? "";
  if (Object.keys(contents).length > 0) expect(Object.keys(contents)).toContain(type);
  const content = contents[type];
  if (content === undefined || method === "HEAD") {
    expect(text).toBe("");
    return undefined;
  }
  const body = type.endsWith("json") ? JSON.parse(text) : text;
  const name = /[^/]+$/.exec(content.schema.$ref ?? "")?.[0];
  if (name === undefined) return body;
  expect(answerErrors(name, body)).toEqual([]);
  return body;
}

/** Returns the error codes that the document lists for a route, a method and a status. */
export function codesOf(route: string, method: string, status: number): readonly string[] {
  const { responses } = operationOf(route, method);
  const described = resolve(responses[status]?.$ref ?? "#/missing") as Record<string, string[]> | undefined;
  return described?.["x-error-codes"] ?? [];
}

/** Returns the name of the schema of an operation's request body; undefined if the operation has no body. */
export function bodySchemaOf(path: string, method: string): string | undefined {
  const operation = templateOf(path)?.item as unknown as Record<string, { requestBody?: object } | undefined>;
  const body = JSON.stringify(operation[method.toLowerCase()]?.requestBody ?? null);
  return /schemas\/(\w+)/.exec(body)?.[1];
}
