/** `tvs changes` and `tvs partners history`: who changed what (decision D1.10). */

import {
  actorNamed,
  type ChangeFilter,
  describeChange,
  type RecordedChange,
} from "../../src/domain/changes.ts";
import { requirePartner } from "../../src/domain/partners.ts";
import { command, configOf } from "../command.ts";
import { withOperator } from "../open.ts";
import { partnerIdArg } from "../partners/credentials.ts";
import { limitArg, parseLimit, parseSince, sinceArg } from "../terminal/lists.ts";
import { print, table } from "../terminal/output.ts";
import { byFilterArg } from "./operator-name.ts";

const defaultLimit = 100;

const listArgs = {
  ...byFilterArg,
  since: sinceArg("Only"),
  limit: limitArg(defaultLimit),
} as const;

type ListFlags = { readonly [name in keyof typeof listArgs]?: string | undefined };

function filterOf({ by, since, limit }: ListFlags): ChangeFilter {
  return {
    limit: parseLimit(limit, defaultLimit),
    actor: by === undefined ? undefined : actorNamed(by),
    since: parseSince("--since", since),
  };
}

export function changeTable(changes: readonly RecordedChange[]): string {
  const rows = changes
    .map(describeChange)
    .map((one) => [one.at, one.actor, one.subject, one.action, one.detail]);
  return table(["TIME", "BY", "OF", "CHANGE", "NOW"], rows);
}

export const changesCommand = command({
  description:
    "List who changed what, newest first: partners and what they have, signing keys, settings, imports, epochs of the " +
    "log, and what was decided about teachers, of whom `tvs teachers history` has the reasons",
  example: "tvs changes\n  tvs changes --by alice --since 30d\n  tvs changes --by service",
  args: listArgs,
  async run({ args }) {
    const filter = filterOf(args);
    await withOperator(configOf(args), async ({ stores: { changes } }) => {
      const found = await changes.list(filter);
      print(args, found.map(describeChange), () => (found.length === 0 ? "no changes" : changeTable(found)));
    });
  },
});

export const partnerHistoryCommand = command({
  description: "List who changed a partner, its credentials and its webhook endpoint, newest first",
  example: "tvs partners history exam-body-a\n  tvs partners history exam-body-a --by alice",
  args: { ...partnerIdArg, ...listArgs },
  async run({ args }) {
    const filter = { ...filterOf(args), subject: `partner:${args.id}` };
    await withOperator(configOf(args), async ({ stores: { partners, changes } }) => {
      await requirePartner(partners, args.id);
      const found = await changes.list(filter);
      print(args, found.map(describeChange), () => (found.length === 0 ? "no changes" : changeTable(found)));
    });
  },
});
