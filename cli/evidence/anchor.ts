/** `tvs log anchor`: checkpoints leave this machine, so that nobody who rules it can rewrite what they say. */

import { isoTime } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import type { StoredCheckpoint } from "../../src/domain/evidence/evidence.ts";
import { createTimeStampRequest, readTimeStamp } from "../../src/domain/evidence/time-stamp.ts";
import { createLogAnchorStore } from "../../src/store/evidence/anchors.ts";
import { type OurCommand, operand, option } from "../command.ts";
import type { Operator } from "../open.ts";
import { operatorCommand } from "../operator-command.ts";
import { print, record } from "../terminal/output.ts";
import { defaultTimeoutMs, fetchBounded, readHttpUrl, timeoutArg } from "../verify/bounded-fetch.ts";
import { placeCheckpoint, requireFolder } from "./anchor-folder.ts";
import { anchorExportCommand, anchorListCommand, judgeLine } from "./anchors.ts";
import { checkpointOfAll } from "./open-evidence.ts";

const makeCommand = operatorCommand({
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
      ...operand("An existing folder, or the address of a time-stamp authority", readPlace),
      valueHint: "DIR|URL",
    },
    "tsa-policy": option(
      "OID",
      "The authority's policy to ask for, such as 1.3.6.1.4.1.601.10.3.1",
      readPolicy,
    ),
    ...timeoutArg,
  },
  check({ place, "tsa-policy": policy, timeout }) {
    if (place instanceof URL || (policy === undefined && timeout === undefined)) return;
    throw new TvsError("USAGE", "--tsa-policy and --timeout are for the address of an authority");
  },
  async act(operator, args) {
    const { place, "tsa-policy": policy, timeout: timeoutMs = defaultTimeoutMs } = args;
    const newest = await newestCheckpoint(operator);
    if (newest === null) {
      print(args, null, () => "nothing to hand out yet: the evidence log has no entry");
      return;
    }
    const { epoch, checkpoint } = newest;
    const { anchor, value, words } =
      place instanceof URL
        ? await toAuthority(place, checkpoint, { operator, policy, timeoutMs })
        : await toFolder(place, checkpoint, operator);
    // What lay there already was handed out before.
    const id = value.state === "kept" ? null : await createLogAnchorStore(operator.driver).add(anchor);
    const { kind, size, token } = anchor;
    const [signed, anchoredAt] = [isoTime(checkpoint.signedAt), isoTime(anchor.anchoredAt)];
    const check = token === null || id === null ? null : judgeLine(epoch, size, id);
    const log = { origin: epoch.origin, epoch: epoch.epoch, size, checkpointAt: signed, anchoredAt };
    print(args, { id, kind, place: anchor.place, ...log, ...value, check }, () =>
      record({ log: epoch.origin, size, signed, ...words, ...(check === null ? {} : { kept: id, check }) }),
    );
  },
});

/** An authority's address, or a folder. @throws TvsError USAGE */
function readPlace(text: string, flag: string): URL | string {
  if (/^https?:/i.test(text)) return readHttpUrl(text, flag);
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return requireFolder(text, flag);
  throw new TvsError("USAGE", `${flag}: ${text} is neither a folder nor an http or https address`);
}

function readPolicy(text: string, flag: string): string {
  if (/^[0-2](\.(0|[1-9]\d{0,9}))+$/.test(text)) return text;
  throw new TvsError("USAGE", `${flag} must be an object identifier such as 1.3.6.1.4.1.601.10.3.1`);
}

/** @returns null while there is nothing to sign for: a timer is set up before the first call. @throws TvsError LOG_BEHIND */
async function newestCheckpoint(operator: Operator) {
  const checkpoint = await checkpointOfAll(operator);
  const epochs = await operator.evidence.epochs();
  const epoch = epochs.find((one) => one.epoch === checkpoint?.epoch);
  return checkpoint === null || epoch === undefined ? null : { epoch, checkpoint };
}

/** @returns what was handed out, and what is told of it besides: to programs, and to people */
async function toFolder(folder: string, checkpoint: StoredCheckpoint, { evidence, clock }: Operator) {
  const log = { epochs: await evidence.epochs(), store: evidence };
  const { file, state, checked } = await placeCheckpoint(folder, checkpoint, log);
  const { epoch, size } = checkpoint;
  const before = `${checked} of this log, all in agreement with the database`;
  return {
    anchor: { kind: "folder" as const, place: folder, epoch, size, anchoredAt: clock.now(), token: null },
    value: { file, state, checked, timeStamp: null },
    words: { file, state: state === "kept" ? "was there already" : state, before },
  };
}

async function toAuthority(
  url: URL,
  { epoch, size, note: signedNote }: StoredCheckpoint,
  asking: { operator: Operator; policy: string | undefined; timeoutMs: number },
) {
  const { operator, policy, timeoutMs } = asking;
  const content = new TextEncoder().encode(signedNote);
  const { bytes, nonce } = createTimeStampRequest(content, policy);
  const post = { type: "application/timestamp-query", body: bytes };
  const [called, place] = ["the time-stamp authority", `${url.origin}${url.pathname}`];
  const { status, body: token } = await fetchBounded({ url, called, timeoutMs, post });
  if (status !== 200) throw new TvsError("INPUT_UNREADABLE", `${called} at ${place} answered HTTP ${status}`);
  const now = operator.clock.now();
  const stamp = readTimeStamp(token, { content, asked: { nonce, policy, now } });
  const time = isoTime(stamp.time);
  return {
    anchor: { kind: "rfc3161" as const, place, epoch, size, anchoredAt: now, token },
    value: { file: null, state: "written" as const, checked: null, timeStamp: { ...stamp, time } },
    words: { authority: place, "time-stamped": time, policy: stamp.policy, serial: stamp.serial },
  };
}

export const logAnchorCommand: OurCommand = {
  ...makeCommand,
  subCommands: {
    list: async () => anchorListCommand,
    export: async () => anchorExportCommand,
  },
};
