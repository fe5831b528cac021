import { describe, expect, test } from "bun:test";
import { findResultProblem } from "../../../src/partner/claims.ts";
import type { JsonObject, JsonValue } from "../../../src/partner/strict-json.ts";
import { isValid, resolve } from "./document.ts";
import * as examples from "./examples.ts";

/**
 * What a result is stands twice: in the published schemas, and in the rules by which partners' own reader checks a
 * signed one. Here every member that the document has is given every kind of value, and both are asked.
 */

type Schema = { readonly properties?: Record<string, Schema>; readonly enum?: string[] };
type Member = { readonly path: readonly string[]; readonly words: readonly string[] };

function schemaNamed(name: string): Schema {
  return resolve(`#/components/schemas/${name}`) as Schema;
}

/** Every member of a published schema, down to those whose schema is none of its own. */
function membersOf(name: string, path: readonly string[] = []): Member[] {
  return Object.entries(schemaNamed(name).properties ?? {}).flatMap(([member, schema]) => {
    const place = [...path, member];
    const part = /"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(schema))?.[1];
    const words = part === undefined ? [] : (schemaNamed(part).enum ?? []);
    return [{ path: place, words }, ...(part === undefined ? [] : membersOf(part, place))];
  });
}

/** The result with one member replaced; `undefined` leaves it out. */
function changed(result: JsonValue, [member = "", ...rest]: readonly string[], value: unknown): JsonValue {
  const before = (result ?? {}) as JsonObject;
  const inner = rest.length === 0 ? value : changed(before[member] ?? null, rest, value);
  return JSON.parse(JSON.stringify({ ...before, [member]: inner }));
}

const kinds = [undefined, null, true, 7, -7, 1.5, "text", "2026-03-01", [], ["text"], [7], {}];

/** A later version may leave out or add more than this one sends, and no reader of a verdict reckons with dates. */
function isForbearance({ path }: Member, value: unknown): boolean {
  const [member] = path.slice(-1);
  const required = ["found", "status", "eligible", "reasons", "name"];
  if (path[0] === "profile" && (path.length > 1 || typeof value === "object")) return true;
  if (value === undefined) return !required.includes(member ?? "");
  if (member === "reasons") return Array.isArray(value) && value.every((one) => typeof one === "string");
  if (member === "issueDate" || member === "expiryDate") return typeof value === "string";
  return (member === "tId" || member === "daysRemaining") && Number.isInteger(value);
}

const isMalformed = (result: JsonValue) => /missing or malformed/.test(findResultProblem(result) ?? "");

describe("a result, by the document and by the partners' reader", () => {
  const whole = JSON.parse(JSON.stringify(examples.eligibleResult)) as JsonObject;
  const members = membersOf("EligibilityResult");

  test("has the members that both know", () => {
    expect(members.map(({ path }) => path.join("."))).toEqual(
      expect.arrayContaining([
        "found",
        "reasons",
        "teacher.tId",
        "license.daysRemaining",
        "certificate.regNo",
      ]),
    );
    for (const shown of [examples.eligibleResult, examples.expiredResult, examples.notFoundEnvelope.result]) {
      expect(findResultProblem(JSON.parse(JSON.stringify(shown)))).toBeNull();
    }
  });

  test.each(members.map((member) => [member.path.join("."), member] as const))(
    "is judged alike for %s, but for what the reader bears on purpose",
    (_name, member) => {
      for (const value of [...kinds, ...member.words]) {
        const result = changed(whole, member.path, value);
        const allowed = isValid("EligibilityResult", result);
        // What the document allows must be read.
        if (allowed) expect([value, isMalformed(result)]).toEqual([value, false]);
        else if (!isForbearance(member, value)) expect([value, isMalformed(result)]).toEqual([value, true]);
      }
    },
  );
});
