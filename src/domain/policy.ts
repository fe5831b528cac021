import * as v from "valibot";
import builtIn from "../../data/default-policy.json" with { type: "json" };
import { certificateStatuses, purposes, teacherSources } from "../partner/contract.ts";
import { TvsError } from "./errors.ts";

const ruleSchema = v.strictObject({
  certificate: v.array(v.picklist(certificateStatuses)),
  sources: v.array(v.picklist(teacherSources)),
  /** The categories of teachers that the rule accepts. An empty list accepts every category. */
  categories: v.array(v.pipe(v.string(), v.nonEmpty())),
  minDaysRemaining: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(36_500)),
});

const policySchema = v.strictObject({
  version: v.pipe(v.string(), v.regex(/^[\w.:-]{1,64}$/, "must be 1 to 64 letters, digits or . : - _")),
  purposes: v.record(v.picklist(purposes), ruleSchema),
});

/** The requirements for one purpose, in addition to an active teacher with a VALID licence. */
export type PolicyRule = Readonly<v.InferOutput<typeof ruleSchema>>;
/** The rule for each purpose. For a purpose without a rule, nobody is eligible. */
export type Policy = {
  readonly version: string;
  readonly purposes: Readonly<Partial<Record<string, PolicyRule>>>;
};

/** Reads a policy document (decision D3.5). @throws TvsError CONFIG_INVALID naming the wrong member */
export function parsePolicy(text: string): Policy {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    throw new TvsError("CONFIG_INVALID", "the policy is not valid JSON");
  }
  const parsed = v.safeParse(policySchema, value);
  if (parsed.success) return parsed.output;
  const issue = parsed.issues[0];
  const path = v.getDotPath(issue) ?? "the document";
  const wrong = issue.received === "undefined" ? "missing" : issue.message;
  throw new TvsError("CONFIG_INVALID", `the policy is not valid: ${path}: ${wrong}`);
}

export const defaultPolicy: Policy = parsePolicy(JSON.stringify(builtIn));
