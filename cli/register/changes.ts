/** Commands `tvs changes` and `tvs partners history`, which list who changed what (decision D1.10). */

import { describeChange } from "../../src/domain/changes.ts";
import { requirePartner } from "../../src/domain/partners.ts";
import type { ArgValues } from "../command.ts";
import type { OpenedRegister } from "../open.ts";
import { defineRegisterCommand } from "../operator-command.ts";
import { partnerOperand } from "../partners/credentials.ts";
import { limitOption, sinceOption } from "../terminal/lists.ts";
import { printList, type TableColumns } from "../terminal/output.ts";
import { actorFilterArg } from "./operator-name.ts";

const listArgs = {
  ...actorFilterArg,
  since: sinceOption("Only"),
  limit: limitOption(100),
} as const;

async function printChanges(
  { changes }: OpenedRegister,
  args: ArgValues<typeof listArgs> & { json?: boolean | undefined },
  subject?: string,
): Promise<void> {
  const { by: actor, since, limit } = args;
  const found = await changes.list({ limit, since, actor, subject });
  printList(args, found.map(describeChange), changeColumns, "no changes");
}

export const changeColumns: TableColumns<ReturnType<typeof describeChange>> = {
  TIME: "at",
  BY: "actor",
  OF: "subject",
  CHANGE: "action",
  NOW: "detail",
};

export const changesCommand = defineRegisterCommand("changes", {
  args: listArgs,
  act: (operator, args) => printChanges(operator, args),
});

export const partnerHistoryCommand = defineRegisterCommand("partners history", {
  args: { ...partnerOperand, ...listArgs },
  async act(operator, args) {
    await requirePartner(operator.partners, args.id);
    await printChanges(operator, args, `partner:${args.id}`);
  },
});
