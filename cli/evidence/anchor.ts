/** `tvs log anchor`: checkpoints leave this machine, so that nobody who rules it can rewrite what they say. */

import { isoTime } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import type { LogAnchor } from "../../src/domain/evidence/anchors.ts";
import type { LogEpoch, StoredCheckpoint } from "../../src/domain/evidence/evidence.ts";
import {
  createTimeStampRequest,
  readTimeStamp,
  type TimeStamp,
} from "../../src/domain/evidence/time-stamp.ts";
import { createLogAnchorStore } from "../../src/store/evidence/anchors.ts";
import { command, configOf, type OurCommand, operand, option } from "../command.ts";
import { type Operator, withOperator } from "../open.ts";
import { print, record } from "../terminal/output.ts";
import { defaultTimeoutMs, fetchBounded, readHttpUrl, timeoutArg } from "../verify/bounded-fetch.ts";
import { type PlacedCheckpoint, placeCheckpoint, requireFolder } from "./anchor-folder.ts";
import { anchorExportCommand, anchorListCommand, judgeLine } from "./anchors.ts";
import { evidenceBuilderOf } from "./open-evidence.ts";

/** What a time-stamp authority is asked for. */
type AuthorityOptions = {
  readonly url: URL;
  readonly policy: string | undefined;
  readonly timeoutMs: number;
};

type Outcome = {
  readonly anchor: Omit<LogAnchor, "id">;
  readonly placed: PlacedCheckpoint | null;
  readonly stamp: TimeStamp | null;
};

const makeCommand = command({
  description:
    "Hand the newest checkpoint of the evidence log out, having made one when entries are not covered yet: to a folder, " +
    "in a file each, or to a time-stamp authority (RFC 3161), whose answer is compared with the question and kept, and " +
    "judged by the line of openssl that is printed. Exit 0: done, or no entry yet; 1: the " +
    "authority refuses, its answer is to something else, or a file in the folder contradicts the database; 2: no answer",
  example:
    "tvs log anchor /mnt/evidence\n" +
    "  tvs log anchor https://tsa.example.org/\n" +
    "  tvs log anchor list\n" +
    "  tvs log anchor export 7 /mnt/case-42",
  args: {
    place: {
      ...operand("An existing folder, or the address of a time-stamp authority"),
      valueHint: "DIR|URL",
    },
    "tsa-policy": option("OID", "The authority's policy to ask for, such as 1.3.6.1.4.1.601.10.3.1"),
    ...timeoutArg,
  },
  async run({ args }) {
    const authority = readAuthority(args);
    const folder = authority === null ? requireFolder(args.place, "PLACE") : null;
    await withOperator(configOf(args), async (operator) => {
      const newest = await newestCheckpoint(operator);
      if (newest === null) {
        print(args, null, () => "nothing to hand out yet: the evidence log has no entry");
        return;
      }
      const { epoch, checkpoint } = newest;
      const outcome =
        authority === null
          ? await toFolder(folder ?? "", checkpoint, operator)
          : await toAuthority(authority, checkpoint, operator);
      // What lay there already was handed out before.
      const isNew = outcome.placed?.state !== "kept";
      const id = isNew ? await createLogAnchorStore(operator.driver).add(outcome.anchor) : null;
      print(args, describeOutcome(outcome, epoch, checkpoint, id), () =>
        outcomeText(outcome, epoch, checkpoint, id),
      );
    });
  },
});

/** @returns null for a folder. @throws TvsError USAGE, INPUT_UNREADABLE */
function readAuthority({
  place,
  "tsa-policy": policy,
  timeout,
}: {
  place: string;
  "tsa-policy"?: string | undefined;
  timeout?: number | undefined;
}): AuthorityOptions | null {
  if (!/^https?:/i.test(place)) {
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(place))
      throw new TvsError("USAGE", `PLACE: ${place} is neither a folder nor an http or https address`);
    if (policy === undefined && timeout === undefined) return null;
    throw new TvsError("USAGE", "--tsa-policy and --timeout are for the address of an authority");
  }
  if (policy !== undefined && !/^[0-2](\.(0|[1-9]\d{0,9}))+$/.test(policy))
    throw new TvsError("USAGE", "--tsa-policy must be an object identifier such as 1.3.6.1.4.1.601.10.3.1");
  return {
    url: readHttpUrl(place, "URL"),
    policy,
    timeoutMs: timeout ?? defaultTimeoutMs,
  };
}

/** @returns null while there is nothing to sign for: a timer is set up before the first call. @throws TvsError LOG_BEHIND */
async function newestCheckpoint(
  operator: Operator,
): Promise<{ epoch: LogEpoch; checkpoint: StoredCheckpoint } | null> {
  const checkpoint = await evidenceBuilderOf(operator).checkpoint();
  const epochs = await operator.stores.evidence.epochs();
  const epoch = epochs.find((one) => one.epoch === checkpoint?.epoch);
  return checkpoint === null || epoch === undefined ? null : { epoch, checkpoint };
}

async function toFolder(
  folder: string,
  checkpoint: StoredCheckpoint,
  { stores, clock }: Operator,
): Promise<Outcome> {
  const epochs = await stores.evidence.epochs();
  const placed = await placeCheckpoint(folder, checkpoint, { epochs, store: stores.evidence });
  const { epoch, size } = checkpoint;
  const anchor = {
    epoch,
    size,
    kind: "folder",
    place: folder,
    anchoredAt: clock.now(),
    token: null,
  } as const;
  return { placed, anchor, stamp: null };
}

async function toAuthority(
  { url, policy, timeoutMs }: AuthorityOptions,
  { epoch, size, note: signedNote }: StoredCheckpoint,
  { clock }: Operator,
): Promise<Outcome> {
  const content = new TextEncoder().encode(signedNote);
  const { bytes, nonce } = createTimeStampRequest(content, policy);
  const post = { type: "application/timestamp-query", body: bytes };
  const called = "the time-stamp authority";
  const { status, body: token } = await fetchBounded({ url, called, timeoutMs, post });
  if (status !== 200)
    throw new TvsError(
      "INPUT_UNREADABLE",
      `${called} at ${url.origin}${url.pathname} answered HTTP ${status}`,
    );
  const now = clock.now();
  const stamp = readTimeStamp(token, { content, asked: { nonce, policy, now } });
  const place = `${url.origin}${url.pathname}`;
  return { stamp, placed: null, anchor: { epoch, size, kind: "rfc3161", place, anchoredAt: now, token } };
}

function describeOutcome(
  { anchor, placed, stamp }: Outcome,
  epochOf: LogEpoch,
  { signedAt }: StoredCheckpoint,
  id: number | null,
) {
  const { kind, place, epoch, size, anchoredAt } = anchor;
  const { origin } = epochOf;
  return {
    id,
    kind,
    place,
    origin,
    epoch,
    size,
    checkpointAt: isoTime(signedAt),
    anchoredAt: isoTime(anchoredAt),
    file: placed?.file ?? null,
    state: placed?.state ?? "written",
    checked: placed?.checked ?? null,
    timeStamp: stamp === null ? null : describeStamp(stamp),
    check: stamp === null || id === null ? null : judgeLine(epochOf, size, id),
  };
}

const describeStamp = (stamp: TimeStamp) => ({ ...stamp, time: isoTime(stamp.time) });

function outcomeText(
  { anchor, placed, stamp }: Outcome,
  epoch: LogEpoch,
  { signedAt }: StoredCheckpoint,
  id: number | null,
): string {
  const common = { log: epoch.origin, size: anchor.size, signed: isoTime(signedAt) };
  if (placed !== null) {
    const { file, state, checked } = placed;
    const before = `${checked} of this log, all in agreement with the database`;
    return record({ ...common, file, state: state === "kept" ? "was there already" : state, before });
  }
  if (stamp === null || id === null) return "";
  const { time, policy, serial } = stamp;
  const said = { "time-stamped": isoTime(time), policy, serial };
  const check = judgeLine(epoch, anchor.size, id);
  return record({ ...common, authority: anchor.place, ...said, kept: id, check });
}

export const logAnchorCommand: OurCommand = {
  ...makeCommand,
  subCommands: {
    list: async () => anchorListCommand,
    export: async () => anchorExportCommand,
  },
};
