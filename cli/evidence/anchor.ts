/** `tvs log anchor`: checkpoints leave this machine, so that nobody who rules it can rewrite what they say. */

import { join } from "node:path";
import words from "../../data/commands.json" with { type: "json" };
import { isoTime } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { anchorFileName, type LogAnchor } from "../../src/domain/evidence/anchors.ts";
import { verifierKeyOf } from "../../src/domain/evidence/epochs.ts";
import type { LogEpoch, StoredCheckpoint } from "../../src/domain/evidence/evidence.ts";
import { countLeaves } from "../../src/domain/evidence/figures.ts";
import { createTimeStampRequest, readTimeStamp } from "../../src/domain/evidence/time-stamp.ts";
import { shellWord } from "../../src/domain/plain-text.ts";
import { createLogAnchorStore } from "../../src/store/evidence/anchors.ts";
import { type FindIds, type OurCommand, operand, option } from "../command.ts";
import type { Operator } from "../open.ts";
import { operatorCommand } from "../operator-command.ts";
import { limitArg } from "../terminal/lists.ts";
import { type Columns, parseCount, print, printList, record } from "../terminal/output.ts";
import { defaultTimeoutMs, fetchBounded, readHttpUrl, timeoutArg } from "../verify/bounded-fetch.ts";
import { placeCheckpoint, requireFolder, writeNew, writeUnlessThere } from "./anchor-folder.ts";
import { checkpointOfAll } from "./open-evidence.ts";

const anchorListCommand = operatorCommand({
  ...words["log anchor list"],
  args: { limit: limitArg(50) },
  async act({ driver }, args) {
    const shown = (await createLogAnchorStore(driver).list(args.limit)).map(describeAnchor);
    printList(args, shown, anchorColumns, "no checkpoint was handed out yet");
  },
});

function describeAnchor({ id, kind, place, epoch, size, anchoredAt }: LogAnchor) {
  return { id, anchoredAt: isoTime(anchoredAt), kind, epoch, size, place };
}

const anchorColumns: Columns<ReturnType<typeof describeAnchor>> = {
  ID: "id",
  AT: "anchoredAt",
  KIND: "kind",
  EPOCH: "epoch",
  SIZE: "size",
  PLACE: "place",
};

/** How the files begin that an anchor is written out to. */
function fileName(epoch: LogEpoch, size: number): string {
  return anchorFileName(epoch, size).replace(/\.checkpoint$/, "");
}

/** The line that judges an authority's answer. @param files where checkpoint and answer lie */
function opensslLine(files: { checkpoint: string; timeStamp: string }): string {
  const words = ["-data", files.checkpoint, "-in", files.timeStamp].map((word) => shellWord(word));
  return `openssl ts -verify ${words.join(" ")} -CAfile ROOT.pem`;
}

/** The same for one that is not written out yet. @param id the anchor's number */
function judgeLine(epoch: LogEpoch, size: number, id: number): string {
  const name = fileName(epoch, size);
  const files = { checkpoint: `${name}.checkpoint`, timeStamp: `${name}-${id}.tsr` };
  return `tvs log anchor export ${id} . && ${opensslLine(files)}`;
}

/** The anchors that can be exported, newest first, for completion. */
const stampedAnchorIds: FindIds = async ({ driver }, limit) => {
  const found = await createLogAnchorStore(driver).list(limit);
  return found
    .filter(({ kind }) => kind === "rfc3161")
    .map(({ id, place, size }) => [String(id), `${countLeaves(size)}, ${place}`]);
};

const anchorExportCommand = operatorCommand({
  ...words["log anchor export"],
  args: {
    id: {
      ...operand(parseCount),
      values: { ids: stampedAnchorIds },
    },
    dir: operand(requireFolder),
  },
  async act(operator, args) {
    const { token, content, name, key } = await keptAnchor(args.id, operator);
    const { time } = readTimeStamp(token, { content });
    const files = {
      checkpoint: join(args.dir, `${name}.checkpoint`),
      timeStamp: join(args.dir, `${name}-${args.id}.tsr`),
      key: join(args.dir, `${name}.vkey`),
    };
    await writeNew(files.timeStamp, token);
    await writeUnlessThere(files.checkpoint, content);
    await writeUnlessThere(files.key, `${key}\n`);
    const check = opensslLine(files);
    print(args, { ...files, time: isoTime(time), check }, () =>
      record({ ...files, "time-stamped": isoTime(time), check }),
    );
  },
});

/** @throws TvsError NOT_KNOWN, REFUSED for what went to a folder, STORE_CORRUPT */
async function keptAnchor(id: number, { driver, evidence }: Operator) {
  const anchor = await createLogAnchorStore(driver).find(id);
  if (anchor === null)
    throw new TvsError("NOT_KNOWN", `no anchor has the number ${id}; tvs log anchor list shows them`);
  const { token, epoch: number, size, place } = anchor;
  if (token === null)
    throw new TvsError("REFUSED", `anchor ${id} is a file in ${place}; no authority has signed for it`);
  const epoch = (await evidence.epochs()).find((one) => one.epoch === number);
  const checkpoint = await evidence.ofSize(number, size);
  if (epoch === undefined || checkpoint === null)
    throw new TvsError("STORE_CORRUPT", `the checkpoint of anchor ${id} is missing; look at tvs log audit`);
  const name = fileName(epoch, size);
  const content = new TextEncoder().encode(checkpoint.note);
  return { token, content, name, key: await verifierKeyOf(epoch) };
}

const makeCommand = operatorCommand({
  ...words["log anchor"],
  args: {
    place: {
      ...operand(readPlace),
      valueHint: "DIR|URL",
    },
    "tsa-policy": option("OID", readPolicy),
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
