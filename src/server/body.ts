import * as v from "valibot";
import { TvsError } from "../domain/errors.ts";
import type { HttpCall } from "./http/http-call.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a request's JSON body, whatever its Content-Type says, and checks it.
 * @returns the checked value, and the body as it was sent (unknown members and all) for its fingerprint
 * @throws TvsError REQUEST_INVALID naming the first member that is wrong, never its value; BODY_TOO_LARGE
 */
export async function readBody<Schema extends v.GenericSchema>(
  call: HttpCall,
  schema: Schema,
): Promise<{ value: v.InferOutput<Schema>; raw: unknown }> {
  const raw = parse(await call.body());
  return { value: check(schema, raw), raw };
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    throw new TvsError("REQUEST_INVALID", "the body must be JSON in UTF-8");
  }
}

/**
 * @param name how the message calls the whole value
 * @throws TvsError REQUEST_INVALID, for example `items[3].identifier.nin must be 11 digits`
 */
export function check<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  name = "the body",
): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, value, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const missing = issue.input === undefined;
  throw new TvsError(
    "REQUEST_INVALID",
    `${memberName(issue, name)} ${missing ? "is required" : issue.message}`,
  );
}

function memberName(issue: v.BaseIssue<unknown>, whole: string): string {
  const name = (issue.path ?? [])
    .map((item) => (typeof item.key === "number" ? `[${item.key}]` : `.${String(item.key)}`))
    .join("");
  return name === "" ? whole : name.replace(/^\./, "");
}
