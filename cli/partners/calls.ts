import words from "../../data/commands.json" with { type: "json" };
import type { Config } from "../../src/config.ts";
import { type CallFilter, describeCall, meaningOfError, parseStatuses } from "../../src/domain/calls.ts";
import { timeOfUuid } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { requirePartner } from "../../src/domain/partners.ts";
import { type FoundCalls, readCalls } from "../../src/store/access-log/reader.ts";
import { command, configOf, type OurCommand, operand, option } from "../command.ts";
import { withOperator } from "../open.ts";
import { hasDatabase, noRegister } from "../register/register.ts";
import { limitArg, sinceArg } from "../terminal/lists.ts";
import { type Columns, hint, note, print, printList, record } from "../terminal/output.ts";
import { partnerArg } from "./credentials.ts";

/**
 * Reads the access log, and nothing else, so that it can be read while the database cannot.
 * @throws TvsError REGISTER_MISSING, INPUT_UNREADABLE
 */
async function find(config: Config, filter: CallFilter): Promise<FoundCalls> {
  if (!hasDatabase(config)) throw noRegister(config);
  return readCalls(config.callsFolder, filter);
}

/** A drop is dated by when the log was written again: within a minute, unless the disk refused for longer. */
const droppedMs = 60_000;

/** @param requestId a UUID of version 7. @returns a list of the one call, or of none */
function findOne(config: Config, requestId: string): Promise<FoundCalls> {
  return find(config, { requestId, since: (timeOfUuid(requestId) ?? 0) - droppedMs, limit: 1 });
}

const listCommand = command({
  ...words.calls,
  args: {
    partner: partnerArg,
    status: option("4xx|5xx|200|400|401|403|409|413|422|429|500|503", parseStatuses),
    since: sinceArg("Only"),
    limit: limitArg(50),
  },
  async run({ args }) {
    const config = configOf(args);
    const { limit, partner: partnerId, status: statuses, since } = args;
    const { calls, dropped } = await find(config, { limit, partnerId, statuses, since });
    // An empty list must not hide a mistyped id.
    if (calls.length === 0 && partnerId !== undefined)
      await withOperator(config, ({ partners }) => requirePartner(partners, partnerId));
    printList(args, calls.map(describeCall), callColumns, `no calls; ${soonThere}`);
    if (dropped > 0)
      note(
        `${dropped} more calls were answered in this time and are missing: the access log could not be written`,
      );
  },
});

const soonThere = "one that was just answered is there within a second";

const callColumns: Columns<ReturnType<typeof describeCall>> = {
  TIME: "time",
  STATUS: "status",
  ERROR: ({ replayed, error }) => (replayed ? "(replayed)" : error),
  PARTNER: "partnerId",
  KEY: "keyId",
  METHOD: "method",
  ROUTE: "route",
  MS: "ms",
  REQUEST: "requestId",
};

const showCommand = command({
  ...words["calls show"],
  args: { requestid: operand() },
  async run({ args }) {
    const id = args.requestid.trim().toLowerCase();
    if (timeOfUuid(id) === null)
      throw new TvsError(
        "USAGE",
        "REQUESTID must be a whole request id, such as 019aa3b4-7f11-7c22-b5d1-0c9f5b1a2c3d",
      );
    const { calls, dropped } = await findOne(configOf(args), id);
    const [call] = calls;
    if (call === undefined) throw notFound(dropped);
    const shown = describeCall(call);
    print(args, shown, () =>
      record({ ...shown, replayed: call.replayed ? "yes" : "no", means: meaningOfError(call.error) }),
    );
    if (call.replayed)
      note("an earlier answer was sent again (Idempotency-Key): its attestation has that call's request id");
    else if (call.partnerId !== null && call.status === 200)
      hint(args, `what was attested: tvs attestations show ${id}`);
  },
});

function notFound(dropped: number): TvsError {
  const message =
    dropped > 0
      ? `the access log has no call with this id; ${dropped} calls from then on are missing from it`
      : `the access log has no call with this id: ${soonThere}, and kept for 14 days, up to 1 GiB in all`;
  return new TvsError("NOT_KNOWN", message);
}

export const callsCommand: OurCommand = { ...listCommand, subCommands: { show: async () => showCommand } };

/**
 * The reason why a call attested nothing, where an access log says so.
 * @returns a sentence; null where there is no log, or nothing in it
 */
export async function whyNotAttested(config: Config, requestId: string): Promise<string | null> {
  // The access log is a help here, not what was asked for: one that cannot be read says nothing.
  const found = await findOne(config, requestId).catch(() => null);
  const call = found?.calls[0];
  if (call === undefined) return null;
  if (call.replayed)
    return "this call got an earlier answer again (Idempotency-Key) and has no attestation of its own";
  const why = call.error === null ? "" : ` (${call.error})`;
  return `this call was answered with ${call.status}${why} and attested nothing; see \`tvs calls show ${requestId}\``;
}
