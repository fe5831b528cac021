/** `tvs changes` and `tvs partners history`: who changed what (decision D1.10). */

import { describeChange } from "../../src/domain/changes.ts";
import { requirePartner } from "../../src/domain/partners.ts";
import type { ArgsOf } from "../command.ts";
import type { Operator } from "../open.ts";
import { operatorCommand } from "../operator-command.ts";
import { partnerIdArg } from "../partners/credentials.ts";
import { limitArg, sinceArg } from "../terminal/lists.ts";
import { type Columns, printList } from "../terminal/output.ts";
import { byFilterArg } from "./operator-name.ts";

const listArgs = {
  ...byFilterArg,
  since: sinceArg("Only"),
  limit: limitArg(100),
} as const;

async function printChanges(
  { changes }: Operator,
  args: ArgsOf<typeof listArgs> & { json?: boolean | undefined },
  subject?: string,
): Promise<void> {
  const { by: actor, since, limit } = args;
  const found = await changes.list({ limit, since, actor, subject });
  printList(args, found.map(describeChange), changeColumns, "no changes");
}

export const changeColumns: Columns<ReturnType<typeof describeChange>> = {
  TIME: "at",
  BY: "actor",
  OF: "subject",
  CHANGE: "action",
  NOW: "detail",
};

export const changesCommand = operatorCommand({
  description:
    "List who changed what, newest first: partners and what they have, signing keys, settings, imports, epochs of the " +
    "log, and what was decided about teachers, of whom `tvs teachers history` has the reasons",
  example: "tvs changes\n  tvs changes --by alice --since 30d\n  tvs changes --by service",
  args: listArgs,
  act: (operator, args) => printChanges(operator, args),
});

export const partnerHistoryCommand = operatorCommand({
  description: "List who changed a partner, its credentials and its webhook endpoint, newest first",
  example: "tvs partners history exam-body-a\n  tvs partners history exam-body-a --by alice",
  args: { ...partnerIdArg, ...listArgs },
  async act(operator, args) {
    await requirePartner(operator.partners, args.id);
    await printChanges(operator, args, `partner:${args.id}`);
  },
});
