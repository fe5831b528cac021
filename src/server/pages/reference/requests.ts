/** The requests that the examples show, made of the OpenAPI document's own examples. */

import { sandboxTeachers } from "../../../domain/sandbox-teachers.ts";
import { keyToPutIn } from "../../local-caller.ts";
import * as examples from "../../openapi/examples.ts";
import { type Call, exampleOf, type Operation, type Parameter, type Response } from "./document.ts";
import type { Request } from "./samples.ts";
import type { Writer } from "./writer.ts";

export function parametersFor(writer: Writer, operation: Operation): readonly Parameter[] {
  return (operation.parameters ?? []).map((parameter) => writer.follow(parameter));
}

/** The request that the example shows; in a sandbox it asks for a teacher that the sandbox has. */
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
    ...(body !== undefined && { body: knownHere(writer, exampleOf(body, writer)) }),
    answersJson: Object.keys(writer.follow(operation.responses[200] as Response).content ?? {}).includes(
      "application/json",
    ),
  };
}

export function parameterExample(writer: Writer, { example, schema }: Parameter): string {
  return String(knownHere(writer, example ?? exampleOf(schema, writer)));
}

function shownKey({ apiKey, sandbox }: Writer): string {
  return apiKey ?? keyToPutIn(sandbox);
}

/** The document's example teacher, and the one of the sandbox that takes that place in what is sent. */
const [ofSandbox] = sandboxTeachers;
const inSandbox: readonly (readonly [published: string, known: string])[] = [
  [examples.regNo, ofSandbox?.regNo ?? ""],
  [examples.nin, ofSandbox?.nin ?? ""],
  [String(examples.tId), String(ofSandbox?.tId)],
];

function knownHere<T>({ sandbox }: Writer, value: T): T {
  if (!sandbox) return value;
  let text = JSON.stringify(value);
  for (const [published, known] of inSandbox) text = text.replaceAll(published, known);
  return JSON.parse(text);
}
