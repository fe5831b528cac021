/** Reads the bodies of requests, and validates them by schemas. */

import { Buffer } from "node:buffer";
import type { Context } from "hono";
import * as v from "valibot";
import { isTvsError, TvsError } from "../domain/errors.ts";
import type { ApiErrorCode } from "../partner/error-codes.ts";
import { Refusal } from "../partner/reasons.ts";
import { maxJsonDepth, readStrictJson } from "../partner/strict-json.ts";
import type { HonoEnv } from "./context.ts";

const maxBodyBytes = 256 * 1024;

/** A body above `maxBodyBytes` is read up to this size before it is refused; Bun itself refuses a larger one. */
export const maxReadBodyBytes = 1024 * 1024;

/** The largest body of an HTML form, in bytes: our forms have one or two fields. */
const maxFormBytes = 16 * 1024;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a request's JSON body, whatever its Content-Type says, and validates it. Several handlers may read one body.
 * @returns the validated value, and in `raw` the body with its unknown members, which the call's fingerprint covers
 * @throws TvsError BODY_NOT_JSON, BODY_TOO_LARGE, REQUEST_INVALID for a truncated body, and what {@link validateBySchema} throws
 */
export async function readJsonBody<Schema extends v.GenericSchema>(
  c: Context<HonoEnv>,
  schema: Schema,
): Promise<{ value: v.InferOutput<Schema>; raw: unknown }> {
  const body = c.get("body") ?? readBytes(c.req.raw, maxBodyBytes);
  c.set("body", body);
  const raw = parseBody(await body);
  return { value: validateBySchema(schema, raw), raw };
}

/** Reads the body of an HTML form. @throws TvsError BODY_TOO_LARGE, REQUEST_INVALID for a truncated body */
export async function readFormBody({ req }: Pick<Context, "req">): Promise<URLSearchParams> {
  return new URLSearchParams(new TextDecoder().decode(await readBytes(req.raw, maxFormBytes)));
}

/** Reads a body's bytes. @throws TvsError as {@link readFormBody} does */
async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  try {
    const length = request.headers.get("Content-Length");
    if (length !== null && Number(length) <= maxBytes) return new Uint8Array(await request.arrayBuffer());
    return await readCounted(request, maxBytes);
  } catch (error) {
    // The caller closed the connection or sent invalid HTTP. The operator can repair neither, so nothing is logged.
    throw isTvsError(error) ? error : new TvsError("REQUEST_INVALID", "the body broke off");
  }
}

/** Reads a body of unknown or excessive length to its end, because a caller that is still sending can miss the answer. */
async function readCounted({ headers, body }: Request, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () => new TvsError("BODY_TOO_LARGE", `the body must be at most ${maxBytes} bytes`);
  if (Number(headers.get("Content-Length")) > maxReadBodyBytes) throw tooLarge();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes <= maxBytes) parts.push(part);
    else if (bytes > maxReadBodyBytes) break;
  }
  if (bytes > maxBytes) throw tooLarge();
  return Buffer.concat(parts);
}

/**
 * Parses JSON. Two members of one name are refused, because a gateway may have checked the first, and `JSON.parse` uses
 * the last. Lone surrogates and numbers out of range, which `readStrictJson` refuses, are accepted.
 */
function parseBody(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  const value = readStrictJson(text);
  if (!(value instanceof Refusal)) return value;
  if (value.reason === "JSON_DUPLICATE_MEMBER") throw invalid("the body has a member twice");
  if (value.reason === "JSON_TOO_DEEP")
    throw invalid(`the body is nested too deeply: ${maxJsonDepth} levels at most`);
  if (value.reason === "JSON_MALFORMED") throw notJson();
  return JSON.parse(text);
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw notJson();
  }
}

const invalid = (message: string) => new TvsError("BODY_NOT_JSON", message);
const notJson = () => invalid("the body must be JSON in UTF-8");

const codesByMessage = new Map<string, ApiErrorCode>();

/** Registers the error code of a schema's message. An unregistered message has REQUEST_INVALID. @returns the message */
export function registerErrorCode(code: ApiErrorCode, message: string): string {
  codesByMessage.set(message, code);
  return message;
}

/**
 * Validates a value by a schema. The error names the first invalid member, and never contains the member's value.
 * @param name the name of the whole value in the message
 * @throws TvsError REQUEST_INVALID if a member is missing; else the code that {@link registerErrorCode} registered for
 *   the schema's message, or REQUEST_INVALID. An example of a message: `items[3].identifier.nin must be 11 digits`
 */
export function validateBySchema<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  name = "the body",
): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, value, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const missing = issue.input === undefined;
  throw new TvsError(
    (missing ? undefined : codesByMessage.get(issue.message)) ?? "REQUEST_INVALID",
    `${memberName(issue, name)} ${missing ? "is required" : issue.message}`,
  );
}

function memberName(issue: v.BaseIssue<unknown>, whole: string): string {
  const name = (issue.path ?? [])
    .map((item) => (typeof item.key === "number" ? `[${item.key}]` : `.${String(item.key)}`))
    .join("");
  return name === "" ? whole : name.replace(/^\./, "");
}
