import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import type { Policy } from "../../src/domain/policy.ts";
import { purposes } from "../../src/partner/contract.ts";
import { byName, makeGroup, operand } from "../command.ts";
import { defineRegisterCommand, defineTvsCommand } from "../operator-command.ts";
import { formatListTable, printResult } from "../terminal/output.ts";
import { readPolicyFile } from "./settings.ts";

const showCommand = defineRegisterCommand("policy show", {
  async act({ settingsInForce: { policy } }, args) {
    printResult(args, policy, () => policyText(policy));
  },
});

const checkCommand = defineTvsCommand("policy check", {
  args: { file: operand() },
  async run({ args }) {
    const policy = readValidPolicy(args.file);
    const denied = purposes.filter((purpose) => policy.purposes[purpose] === undefined);
    printResult(args, { valid: true, version: policy.version, denied }, () => policyText(policy));
  },
});

function readValidPolicy(file: string): Policy {
  try {
    return readPolicyFile(file);
  } catch (error) {
    // `policy check` exits with 1 for an invalid policy. Other commands exit with 2, because they cannot work with the policy.
    if (isTvsError(error, "CONFIG_INVALID")) throw new TvsError("REFUSED", error.message, { cause: error });
    throw error;
  }
}

function policyText(policy: Policy): string {
  const rules = purposes.map((purpose) => ({ purpose, rule: policy.purposes[purpose] }));
  const rows = formatListTable(rules, {
    PURPOSE: "purpose",
    CERTIFICATE: ({ rule }) => rule?.certificate.join(", ") ?? "nobody: not in the policy",
    SOURCE: ({ rule }) => rule?.sources.join(", "),
    CATEGORY: ({ rule }) => rule && (rule.categories.join(", ") || "any"),
    "MIN DAYS": ({ rule }) => rule?.minDaysRemaining,
  });
  const always = "An active teacher with a VALID licence is always required.";
  return `version ${policy.version}\n\n${rows}\n\n${always}`;
}

export const policyCommand = makeGroup(
  "Show or check the eligibility policy",
  byName(showCommand, checkCommand),
);
