/** The requests that the examples show, made of the OpenAPI document's own examples. */

import { keyToPutIn } from "../../http/local-caller.ts";
import { type Call, exampleOf, type Operation, type Parameter } from "./document.ts";
import type { Request } from "./samples.ts";
import type { Writer } from "./writer.ts";

export function parametersFor(writer: Writer, operation: Operation): readonly Parameter[] {
  return (operation.parameters ?? []).map((parameter) => writer.follow(parameter));
}

/** The request that the example shows. Its teacher is one that every sandbox has. */
export function requestOf(writer: Writer, { method, path, operation }: Call): Request {
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

export function parameterExample(writer: Writer, { example, schema }: Parameter): string {
  return String(example ?? exampleOf(schema, writer));
}

function shownKey({ apiKey, sandbox }: Writer): string {
  return apiKey ?? keyToPutIn(sandbox);
}
