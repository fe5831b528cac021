/** Finds faults of an answer, by the OpenAPI document and by rules for every answer. */

import { type ApiErrorCode, errorCodes } from "../../src/partner/error-codes.ts";
import { bodySchemaOf, codesOf, expectDocumented, isDescribed } from "../api/openapi/described.ts";
import { answerErrors, validationErrors } from "../api/openapi/document.ts";
import { isNin } from "./http-values.ts";
import type { SentRequest } from "./http-world.ts";
import { undefinedIfThrown } from "./parser-edits.ts";

/** @param text the answer's body. @returns null for a correct answer */
export async function faultOf(sent: SentRequest, response: Response, text: string): Promise<string | null> {
  const { status, headers } = response;
  const code = headers.get("X-Error-Code");
  if (status >= 500 && code !== "OVERLOADED") return `${status} ${code}`;
  // A page's form with another content type gets 415, which has no code of its own.
  const codeStatus = status === 415 ? 400 : status;
  if (status >= 400 && errorCodes[code as ApiErrorCode]?.status !== codeStatus)
    return `${status} with ${code}`;
  // Scalar's script is constant and contains made-up account numbers.
  const body = status === 200 && /^\/v1\/inter-agency\/docs\/scalar\.js\b/.test(sent.url) ? "" : text;
  const repeated = echoed(sent, `${body}\n${JSON.stringify([...headers])}`);
  if (repeated !== undefined) return `it repeats the NIN ${repeated}`;
  const { pathname } = new URL(`http://service.test${sent.url}`);
  try {
    if (isDescribed(pathname)) await describedFault(sent, response, text, pathname);
    else pageFault(response, text);
    return null;
  } catch (error) {
    return String(error instanceof Error ? error.message : error);
  }
}

/** A NIN of the request that the answer repeats. */
function echoed({ url, headers, body }: SentRequest, answered: string): string | undefined {
  const sent = `${undefinedIfThrown(() => decodeURIComponent(url)) ?? url} ${Object.values(headers).join(" ")} ${body ?? ""}`;
  return (sent.match(/(?<!\d)\d{11}(?!\d)/g) ?? []).filter(isNin).find((nin) => answered.includes(nin));
}

async function describedFault(
  { method, body }: SentRequest,
  response: Response,
  text: string,
  path: string,
): Promise<void> {
  const { status, headers } = response;
  if (method === "OPTIONS" && status === 204) return;
  if (status >= 400) {
    const code = headers.get("X-Error-Code") ?? "";
    const codes = codesOf(path, method, status);
    if (!codes.includes(code)) throw new Error(`${status} may be ${codes.join(", ")}, and is ${code}`);
  }
  const schema = bodySchemaOf(path, method);
  if (response.ok && schema !== undefined && body !== null && body.length > 0) {
    const wrong = validationErrors(schema, JSON.parse(new TextDecoder().decode(body)));
    if (wrong.length > 0) throw new Error(`it takes a body in which ${wrong.join("; ")}`);
  }
  await expectDocumented(new Response(text === "" ? null : text, { status, headers }), path, method);
}

function pageFault({ status, headers }: Response, text: string): void {
  const statuses = [200, 204, 302, 303, 304, 308, 400, 404, 405, 413, 415, 429];
  if (!statuses.includes(status)) throw new Error(`a page answers ${status}`);
  const type = headers.get("Content-Type")?.split(";")[0];
  if (status < 400 || type === "text/html" || text === "") return;
  const schema = type === "application/problem+json" ? "Problem" : "Error";
  const errors = answerErrors(schema, JSON.parse(text));
  if (errors.length > 0) throw new Error(errors.join("; "));
}
