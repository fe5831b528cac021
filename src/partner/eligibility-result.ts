/** Checks that a signed `result` claim is an EligibilityResult of the contract. */

import { certificateStatuses, type EligibilityResult, licenseStatuses, sources } from "./contract.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./strict-json.ts";

type Rule = (value: JsonValue | undefined) => boolean;

function isText(value: JsonValue | undefined): boolean {
  return typeof value === "string";
}

function isFlag(value: JsonValue | undefined): boolean {
  return typeof value === "boolean";
}

function isWhole(value: JsonValue | undefined): boolean {
  return Number.isSafeInteger(value);
}

function isTextList(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.every(isText);
}

type Rules = { readonly members: readonly string[]; readonly checks: readonly Rule[] };

/** Two lists side by side: pairs would be taken apart again for every member of every envelope. */
function listRules(rules: Record<string, Rule>): Rules {
  return { members: Object.keys(rules), checks: Object.values(rules) };
}

/** The first member that breaks its rule. */
function findBroken({ members, checks }: Rules, value: JsonObject): string | undefined {
  for (let index = 0; index < members.length; index++) {
    const member = members[index] as string;
    if (checks[index]?.(value[member]) !== true) return member;
  }
  return undefined;
}

function oneOf(words: readonly string[]): Rule {
  return (value) => typeof value === "string" && words.includes(value);
}

/** A member that a later version of the service leaves out reads like null. */
function orNull(rule: Rule): Rule {
  return (value) => value === null || value === undefined || rule(value);
}

function shape(rules: Record<string, Rule>): Rule {
  const listed = listRules(rules);
  return (value) => isJsonObject(value) && findBroken(listed, value) === undefined;
}

const rules: Record<string, Rule> = {
  found: isFlag,
  source: orNull(oneOf(sources)),
  status: oneOf(licenseStatuses),
  eligible: isFlag,
  reasons: isTextList,
  teacher: orNull(
    shape({ name: isText, tId: orNull(isWhole), state: orNull(isText), category: orNull(isText) }),
  ),
  license: orNull(
    shape({
      status: oneOf(licenseStatuses),
      issueDate: orNull(isText),
      expiryDate: orNull(isText),
      daysRemaining: orNull(isWhole),
    }),
  ),
  certificate: orNull(
    shape({ status: oneOf(certificateStatuses), regNo: orNull(isText), issueDate: orNull(isText) }),
  ),
  profile: orNull(isJsonObject),
};

const resultRules = listRules(rules);

/** Contract: "when false, the other fields are null". */
const nullWhenNotFound = ["source", "teacher", "license", "certificate", "profile"];

/** `found` and `eligible` must agree with `status`, or a reader of one member is misled. */
function findContradiction(result: JsonObject): string | null {
  if (result.found === false) {
    const isEmpty = nullWhenNotFound.every((member) => (result[member] ?? null) === null);
    if (!isEmpty) return "Nobody was found, yet the signed result describes somebody.";
    if (result.status !== "NOT_FOUND") return "Nobody was found, yet the signed status is not NOT_FOUND.";
  }
  const isEntitled = result.found === true && result.status === "VALID";
  return result.eligible === true && !isEntitled
    ? "The signed result is eligible without a VALID licence."
    : null;
}

/**
 * What is wrong with a signed result.
 *
 * @param value the `result` claim
 * @returns one sentence, or null when it is a well-formed EligibilityResult (unknown members are ignored)
 */
export function findResultProblem(value: JsonValue | undefined): string | null {
  if (!isJsonObject(value)) return "The signed result is not an object.";
  const broken = findBroken(resultRules, value);
  if (broken !== undefined) return `The signed result's member ${broken} is missing or malformed.`;
  return findContradiction(value);
}

/** The claim under its contract type; only for a value without a problem. */
export function asEligibilityResult(value: JsonValue | undefined): EligibilityResult {
  return value as unknown as EligibilityResult;
}
