/** What on the console needs an operator's attention: what of the checks is not well. */

import { type Check, fail, warn } from "../domain/check.ts";
import { judge } from "../domain/checks.ts";
import { describeSpan } from "../domain/clock.ts";
import { shellWord } from "../shell-word.ts";
import type { ConsoleState } from "./console-state.ts";
import { count } from "./markup.ts";

/** Something that an operator should see to, and the command that does it or shows more. */
type Concern = { readonly level: "bad" | "warn"; readonly text: string; readonly command: string };

/** For an hour: whoever looks at the console in the morning has not seen the night's log. */
const deathConcernMs = 60 * 60_000;

/** What needs attention, the worst first. */
export function concernsOf(state: ConsoleState): Concern[] {
  const { readings, snapshot, node, commandLine } = state;
  const checks = [...judgeProcess(state)];
  if (readings !== null) {
    const { nodes } = node();
    const areWebhooksHeld = readings.backlog.some(({ heldBy }) => heldBy === "restore");
    const { keys, credentials } = snapshot;
    checks.push(...judge({ ...state, readings, nodes, keys, credentials, areWebhooksHeld }));
  }
  const concerns = checks
    .filter(({ result }) => result !== "ok")
    .map(({ result, found, advice, command, isUrgent }) => ({
      level: result === "fail" || isUrgent ? ("bad" as const) : ("warn" as const),
      text: [found, advice].flatMap((part) => (part === null ? [] : [sentence(part)])).join(" "),
      command: commandLine((command ?? ["doctor"]).map((word) => shellWord(word)).join(" ")),
    }));
  const of = (wanted: Concern["level"]) => concerns.filter(({ level }) => level === wanted);
  return [...of("bad"), ...of("warn")];
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${words.endsWith(".") ? "" : "."}`;
}

/** What only this process knows of itself. */
function judgeProcess(state: ConsoleState): Check[] {
  const { hasFailed, readings, isDiskRefusing, history, threads, accessLog, now } = state;
  const checks: Check[] = [];
  if (hasFailed) {
    const since =
      readings === null ? "" : `; the figures below are ${describeSpan(now - readings.readAt)} old`;
    checks.push(fail("database", `the database does not answer${since}`));
  }
  if (isDiskRefusing()) {
    const advice = "partners are answered 503 until it takes some again";
    checks.push(fail("disk", "the disk refused the evidence of an answer", advice));
  }
  if (history.points(now - 60_000).some(({ failedRate }) => failedRate > 0))
    checks.push(fail("answers", "requests were answered with 5xx in the last minute; the log says why"));
  const { lastDeathAt, deaths } = threads();
  if (lastDeathAt !== null && now - lastDeathAt <= deathConcernMs) {
    const times = deaths === 1 ? "once" : `${count(deaths)} times`;
    const found = `a serving thread ended by itself ${describeSpan(now - lastDeathAt)} ago (${times} since the start)`;
    const advice = "it was replaced, and its callers lost their connections. The service's log says why";
    checks.push(warn("threads", found, advice));
  }
  const { failure = null, dropped = 0 } = accessLog() ?? {};
  if (failure !== null) {
    const found = `the access log cannot be written; ${count(dropped)} calls are missing from it`;
    checks.push(warn("access-log", found, "the service's log says why"));
  }
  return checks;
}
