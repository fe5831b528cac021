/** `tvs log anchor list` and `export`: what was handed out, and an authority's answer as files that a court can check. */

import { join } from "node:path";
import { isoTime } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { anchorFileName, type LogAnchor } from "../../src/domain/evidence/anchors.ts";
import { verifierKeyOf } from "../../src/domain/evidence/epochs.ts";
import type { LogEpoch } from "../../src/domain/evidence/evidence.ts";
import { countLeaves } from "../../src/domain/evidence/figures.ts";
import { readTimeStamp } from "../../src/domain/evidence/time-stamp.ts";
import { shellWord } from "../../src/shell-word.ts";
import { createLogAnchorStore } from "../../src/store/evidence/anchors.ts";
import { type FindIds, operand } from "../command.ts";
import type { Operator } from "../open.ts";
import { operatorCommand } from "../operator-command.ts";
import { limitArg } from "../terminal/lists.ts";
import { type Columns, parseCount, print, printList, record } from "../terminal/output.ts";
import { requireFolder, writeNew, writeUnlessThere } from "./anchor-folder.ts";

export const anchorListCommand = operatorCommand({
  description: "List the checkpoints that were handed out, newest first",
  example: "tvs log anchor list\n  tvs log anchor list --limit 5 --json",
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
export function judgeLine(epoch: LogEpoch, size: number, id: number): string {
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

export const anchorExportCommand = operatorCommand({
  description:
    "Write an authority's kept answer, the checkpoint that it is over and the log's key to new files, for whoever has to " +
    "check them without this program: openssl ts -verify takes the first two",
  example: "tvs log anchor export 7 /mnt/case-42",
  args: {
    id: {
      ...operand("The anchor's number, of tvs log anchor list", parseCount),
      values: { ids: stampedAnchorIds },
    },
    dir: operand("An existing folder", requireFolder),
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
