import { expect, test } from "bun:test";
import { type ConsoleState, createCommandFormatter } from "../../src/console/console-state.ts";
import { findConcerns } from "../../src/console/state-sections.ts";
import { type Change, checkInput, everythingWrong, now } from "../harness/readings.ts";

/** The state of a healthy service, without the database's readings. */
const well = {
  ...{ now, hasFailed: false, isDiskRefusing: () => false, history: { points: () => [{ failedRate: 0 }] } },
  clockAheadMs: () => 0,
  signers: () => ({ running: 2, deaths: 1, lastDeathAt: now - 61 * 60_000 }),
  commandLine: createCommandFormatter(["--data", "/srv/the data"]),
};

function concerns(change: Change = {}, own: Partial<typeof well> = {}) {
  const { readings, keys, credentials } = checkInput(change);
  const state = {
    ...well,
    readings,
    snapshot: { keys, credentials, settings: { timeZone: "Africa/Lagos" } },
    ...own,
  };
  return findConcerns(state as unknown as ConsoleState);
}

const everything = () =>
  concerns(everythingWrong, {
    ...{ hasFailed: true, isDiskRefusing: () => true, history: { points: () => [{ failedRate: 1 }] } },
    signers: () => ({ running: 2, deaths: 3, lastDeathAt: now - 120_000 }),
    clockAheadMs: () => 31_000,
  });

test("the console lists no concern if the service is healthy", () => {
  expect(concerns()).toEqual([]);
});

test("the console lists the worst concern first, and shows for each concern a command with this service's data folder", () => {
  expect(everything().map(({ level, text }) => `${level}: ${text}`)).toEqual([
    "bad: This machine's clock is 31 s ahead of the database's. Set the clock that is wrong (timedatectl, chronyc tracking); until then nothing is signed here, and commands are refused.",
    "bad: The database does not answer; the figures below are 0 s old.",
    "bad: The disk refused the evidence of an answer. Partners are answered 503 until it takes some again.",
    "bad: Requests were answered with 5xx in the last minute; the log says why.",
    "bad: The newest checkpoint of the evidence log is late: 8 leaves, signed at 2026-03-01 09:30 WAT; 3 more wait for one, for 10 min. Start tvs serve, which makes one every 30 s, or look in its log why it cannot; tvs log checkpoint makes one now.",
    "bad: Imports have taken away 5 of 400 valid licences within 24 hours. Look at the extracts: beyond 2 % the next import stops, unless --allow-change is given.",
    "bad: Nothing is sent to answered-410: its endpoint was disabled, because it answered 410 Gone.",
    "bad: Partner spent has used 100 % of today's quota (UTC).",
    "warn: A signer thread died 2 min ago (3 times since the start). It was replaced, and other threads made its signatures. The service's log says why.",
    "warn: The signing key has been due for rotation for 24 h.",
    "warn: The last import began 0 s ago and is not finished. If it was stopped, run the same command again.",
    "warn: No webhook has been sent since the restore with --hold-webhooks. Look at tvs webhooks list --state pending, then release them.",
    "warn: The endpoint of failing has failed for 3 h. Last error: TIMEOUT. The exchange was not over at its deadline.",
    "warn: 2 deliveries to failing were given up.",
    "warn: A delivery to failing has been due for 10 min and was not sent.",
    "warn: Partner nearly has used 95 % of today's quota (UTC).",
  ]);
  for (const { command } of everything()) expect(command).toEndWith(" --data '/srv/the data'");
});
