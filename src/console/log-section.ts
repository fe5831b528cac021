/** The console's section on the evidence log: its trees, its checkpoints, and who else has them. */

import { html } from "hono/html";
import { describeSpan } from "../domain/clock.ts";
import { checkpointLateness, type EvidenceFigures, lateAnchors } from "../domain/evidence/figures.ts";
import type { ConsoleState } from "./console-state.ts";
import { badge, commandBox, count, type Markup, moment, none, tableOf } from "./markup.ts";

export function logSection(state: ConsoleState): Markup {
  const { readings, commandLine } = state;
  if (readings === null) return none("The database has not answered yet.");
  if (readings.log === null) return none("The log is opened when the service has started.");
  return html`${treeTable(readings.log, state)}${anchorTable(readings.log, state)}${commandBox(commandLine("log audit"))}`;
}

function treeTable(log: EvidenceFigures, { now, snapshot }: ConsoleState): Markup {
  const { signedAt } = log;
  const late = checkpointLateness(log, now);
  const signed =
    signedAt === null
      ? "none yet"
      : `${moment(signedAt, snapshot.settings.timeZone)}, ${describeSpan(now - signedAt)} ago`;
  return tableOf("The evidence log", {
    head: ["Log", "State", "Newest checkpoint", "Epoch", "Leaves", "Waiting", "Covered"],
    numbersFrom: 3,
    rows: [
      [
        log.origin,
        late === null ? badge("good", "covered") : badge("bad", `late by ${describeSpan(late)}`),
        signed,
        ...[log.epoch, log.size, log.waiting, log.signedSize].map(count),
      ],
    ],
  });
}

function anchorTable(log: EvidenceFigures, { now, snapshot, commandLine }: ConsoleState): Markup {
  if (log.anchors.length === 0) {
    const text =
      "No checkpoint was handed out yet: until one is, only this machine can tell that the log is whole.";
    return html`${none(text)}${commandBox(commandLine("log anchor --help"))}`;
  }
  const late = lateAnchors(log, now);
  return tableOf("Anchors", {
    head: ["Anchored at", "Kind", "State", "Last", "Epoch", "Leaves"],
    numbersFrom: 4,
    rows: log.anchors.map((one) => [
      one.place,
      one.kind,
      late.includes(one) ? badge("warn", "old") : badge("quiet", "made"),
      `${moment(one.anchoredAt, snapshot.settings.timeZone)}, ${describeSpan(now - one.anchoredAt)} ago`,
      count(one.epoch),
      count(one.size),
    ]),
  });
}
