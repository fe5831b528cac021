/** How the requests of callers are read, and what is wrong with one. */

import * as v from "valibot";
import { TvsError } from "../domain/errors.ts";
import type { ApiErrorCode } from "../partner/error-codes.ts";
import { Refusal } from "../partner/reasons.ts";
import { maxJsonDepth, readStrictJson } from "../partner/strict-json.ts";
import type { HttpCall } from "./http-call.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a request's JSON body, whatever its Content-Type says, and checks it.
 * @returns the checked value, and the body as it was sent (unknown members and all) for its fingerprint
 * @throws TvsError BODY_NOT_JSON, BODY_TOO_LARGE, and what {@link check} throws
 */
export async function readBody<Schema extends v.GenericSchema>(
  call: Pick<HttpCall, "body">,
  schema: Schema,
): Promise<{ value: v.InferOutput<Schema>; raw: unknown }> {
  const raw = parse(await call.body());
  return { value: check(schema, raw), raw };
}

/**
 * Two members of one name are refused: a gateway may have read the first one, and this would be another question. What
 * else the strict reader refuses is let through, as it always was: half a character, a number beyond all bounds.
 */
function parse(bytes: Uint8Array): unknown {
  const text = textOf(bytes);
  const value = readStrictJson(text);
  if (!(value instanceof Refusal)) return value;
  if (value.reason === "JSON_DUPLICATE_MEMBER") throw invalid("the body has a member twice");
  if (value.reason === "JSON_TOO_DEEP")
    throw invalid(`the body is nested too deeply: ${maxJsonDepth} levels at most`);
  if (value.reason === "JSON_MALFORMED") throw notJson();
  return JSON.parse(text);
}

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw notJson();
  }
}

function invalid(message: string): TvsError {
  return new TvsError("BODY_NOT_JSON", message);
}

const notJson = () => invalid("the body must be JSON in UTF-8");

const codes = new Map<string, ApiErrorCode>();

/** Has what a schema says of a wrong value stand for a code of its own, instead of REQUEST_INVALID. */
export function coded(code: ApiErrorCode, message: string): string {
  codes.set(message, code);
  return message;
}

/**
 * Checks a value; the failure names the first member that is wrong, and never repeats it.
 * @param name how the message calls the whole value
 * @throws TvsError REQUEST_INVALID or the one that is {@link coded}, for example `items[3].identifier.nin must be 11 digits`
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
    (missing ? undefined : codes.get(issue.message)) ?? "REQUEST_INVALID",
    `${memberName(issue, name)} ${missing ? "is required" : issue.message}`,
  );
}

function memberName(issue: v.BaseIssue<unknown>, whole: string): string {
  const name = (issue.path ?? [])
    .map((item) => (typeof item.key === "number" ? `[${item.key}]` : `.${String(item.key)}`))
    .join("");
  return name === "" ? whole : name.replace(/^\./, "");
}
