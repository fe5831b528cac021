import { describe, expect, test } from "bun:test";
import { concernsOf } from "../../src/console/attention.ts";
import { type ConsoleState, createCommandLine } from "../../src/console/console-state.ts";
import type { AccessLogFigures } from "../../src/domain/calls.ts";
import type { Node } from "../../src/domain/nodes.ts";
import type { TeacherCounts } from "../../src/domain/status.ts";
import type { ThreadFigures } from "../../src/metrics/sources.ts";
import { withTempDir } from "../harness/folder.ts";
import { runTvs } from "../harness/program.ts";
import { aNode, aPartner } from "../harness/samples.ts";
import { makeRegister } from "../harness/service.ts";

const now = Date.parse("2026-03-01T09:30:00Z");
const dayMs = 86_400_000;
const use = (used: number, limit: number) => ({ used, limit, resetAt: "" });
const endpoint = { host: "hooks.example", disabledReason: null, failingSince: null, lastError: null };
const backlog = { pending: 0, dead: 0, oldestDueAt: null, heldBy: null };
const anImport = {
  file: "list.csv",
  startedAt: now - 1,
  finishedAt: now,
  abandonedAt: null,
  ...{ inserted: 0, updated: 0, unchanged: 0, rejected: 0, warnings: 0, events: 0 },
};

const anchor = { kind: "folder", place: "/srv/anchors", epoch: 1, size: 4, anchoredAt: now - 26 * 3_600_000 };
const aLog = {
  ...{ epoch: 1, origin: "verify.example/log", size: 5, signedSize: 5, signedAt: now, waiting: 0 },
  uncoveredSince: null,
  anchors: [anchor],
};

type Change = {
  readings?: object | null;
  activatedAt?: number;
  failedRate?: number;
  hasFailed?: boolean;
  isDiskRefusing?: boolean;
  accessLog?: AccessLogFigures | null;
  threads?: ThreadFigures;
  nodes?: readonly Node[];
};

function stateWith(change: Change) {
  const {
    readings = {},
    activatedAt = now,
    failedRate = 0,
    hasFailed = false,
    isDiskRefusing = false,
    accessLog = null,
    threads = { serving: 2, deaths: 1, lastDeathAt: now - 61 * 60_000 },
    nodes = [aNode(), aNode()],
  } = change;
  const key = { createdAt: activatedAt, activatedAt, publishedAt: activatedAt };
  const state = {
    now,
    hasFailed,
    isDiskRefusing: () => isDiskRefusing,
    readings:
      readings === null
        ? null
        : {
            ...{ readAt: now, quotas: [], backlog: [], endpoints: [], imports: [], log: null },
            teachers: { active: 60, licensed: 57, approximate: false },
            ...readings,
          },
    snapshot: { keys: { active: key, pending: key }, settings: { timeZone: "Africa/Lagos" } },
    history: { points: () => [{ failedRate }] },
    accessLog: () => accessLog,
    threads: () => threads,
    node: () => ({ nodes, clockAheadMs: 0, keepsHouse: true }),
    commandLine: createCommandLine(["--data", "/srv/the data"]),
    explainError: () => "It says why.",
  };
  return state as unknown as ConsoleState;
}

const everything: Change = {
  hasFailed: true,
  isDiskRefusing: true,
  failedRate: 1,
  activatedAt: now - 91 * dayMs,
  accessLog: { written: 5, dropped: 1_200, failure: "the disk is full" },
  threads: { serving: 2, deaths: 3, lastDeathAt: now - 120_000 },
  nodes: [
    aNode({ url: "http://one:1", clockAheadMs: 31_000 }),
    aNode({ url: "http://two:2", version: "1.1.0", clockAheadMs: -3_000 }),
    aNode({ url: "http://three:3", state: "gone", seenAt: now - 300_000, version: "0.9.0" }),
  ],
  readings: {
    quotas: [
      { partner: aPartner("nearly"), use: { minute: use(0, 10), day: use(95, 100) } },
      { partner: aPartner("spent"), use: { minute: use(0, 10), day: use(100, 100) } },
      { partner: { ...aPartner("gone"), disabledAt: 1 }, use: { minute: use(0, 10), day: use(100, 100) } },
    ],
    endpoints: [
      { ...endpoint, partnerId: "failing", failingSince: now - 3 * 3_600_000, lastError: "TIMEOUT" },
      { ...endpoint, partnerId: "switched-off", disabledReason: "operator", lastError: "TIMEOUT" },
      { ...endpoint, partnerId: "answered-410", disabledReason: "gone" },
    ],
    backlog: [
      { ...backlog, partnerId: "failing", pending: 4, dead: 2, oldestDueAt: now - 600_000 },
      { ...backlog, partnerId: "held", pending: 1, heldBy: "restore" },
    ],
    imports: [{ ...anImport, finishedAt: null }],
    log: { ...aLog, waiting: 7, uncoveredSince: now - 600_000 },
  },
};

describe("what needs attention", () => {
  test("is nothing when nothing does", () => {
    const calm = { quotas: [{ partner: aPartner("a"), use: { minute: use(9, 10), day: use(80, 100) } }] };
    expect(
      concernsOf(
        stateWith({
          readings: { ...calm, imports: [anImport] },
          accessLog: { written: 5, dropped: 3, failure: null },
        }),
      ),
    ).toEqual([]);
  });

  test.each([
    ["a checkpoint that is old while nobody asks", { signedAt: now - dayMs, anchors: [] }],
    ["attestations of the last minutes", { waiting: 3, uncoveredSince: now - 240_000, anchors: [] }],
    ["a log that was handed out nowhere", { anchors: [] }],
    ["an old anchor of a log that has not grown since", { anchors: [{ ...anchor, size: 5 }] }],
    ["an anchor of yesterday", { anchors: [{ ...anchor, anchoredAt: now - 24 * 3_600_000 }] }],
    [
      "a place that was given up for another",
      {
        anchors: [
          { ...anchor, size: 5 },
          { ...anchor, place: "/srv/old", anchoredAt: now - 31 * dayMs },
        ],
      },
    ],
  ])("is not %s", (_, change) => {
    expect(concernsOf(stateWith({ readings: { log: { ...aLog, ...change } } }))).toEqual([]);
  });

  test("is a register in which no active teacher has a licence, and not an empty one", () => {
    const none = { total: 61, active: 60, licensed: 0, approximate: false } as TeacherCounts;
    expect(concernsOf(stateWith({ readings: { teachers: none } }))).toMatchObject([
      { level: "bad", text: expect.stringMatching(/^0 of 60 active teachers have a licence: everybody is/) },
    ]);
    expect(concernsOf(stateWith({ readings: { teachers: { ...none, active: 0 } } }))).toEqual([]);
  });

  test("is an anchor of the epoch before, and the only place there is, however old", () => {
    for (const change of [
      { epoch: 2, signedSize: 1 },
      { anchors: [{ ...anchor, anchoredAt: now - 90 * dayMs }] },
    ]) {
      const concerns = concernsOf(stateWith({ readings: { log: { ...aLog, ...change } } }));
      expect(concerns).toMatchObject([
        { level: "warn", text: expect.stringContaining("The last anchor at") },
      ]);
    }
  });

  test("names a place so that any shell takes it for one word", () => {
    const log = { ...aLog, anchors: [{ ...anchor, place: "/srv/the anchors; rm" }] };
    const [concern] = concernsOf(stateWith({ readings: { log } }));
    expect(concern?.command).toBe("tvs log anchor '/srv/the anchors; rm' --data '/srv/the data'");
  });

  test("stands with the worst first, each with a command that means this service's data", () => {
    const concerns = concernsOf(stateWith(everything));
    expect(concerns.map(({ level, text }) => `${level}: ${text}`)).toEqual([
      "bad: The database does not answer; the figures below are 0 s old.",
      "bad: The disk refused the evidence of an answer. Partners are answered 503 until it takes some again.",
      "bad: Requests were answered with 5xx in the last minute; the log says why.",
      "bad: The clock of the node at http://one:1 is 31 s ahead of the database's. Partners are refused there.",
      "bad: Nothing is sent to answered-410: its endpoint was disabled, because it answered 410 Gone.",
      "bad: spent has used 100 % of today's quota (UTC).",
      "bad: An attestation has waited for a checkpoint for 10 min; they are made every 30 seconds. The service's log says why.",
      "warn: The signing key has been due for rotation since 2026-02-28 10:30.",
      "warn: A serving thread ended by itself 2 min ago (3 times since the start) and was replaced; its callers lost their connections. The service's log says why.",
      "warn: The clock of the node at http://two:2 is 3 s behind the database's.",
      "warn: The node at http://three:3 has not been seen for 5 min; its machine's log says why.",
      "warn: The nodes run different versions, 1.0.0 and 1.1.0: a rolling upgrade is not finished.",
      "warn: The access log cannot be written; 1,200 calls are missing from it. The service's log says why.",
      "warn: failing's endpoint has failed for 3 h. Last error: TIMEOUT. It says why.",
      "warn: All webhooks are held, because the database was restored with --hold-webhooks.",
      "warn: 2 deliveries to failing were given up.",
      "warn: A delivery to failing has been due for 10 min and was not sent.",
      "warn: nearly has used 95 % of today's quota (UTC).",
      "warn: The last import began 0 s ago and is not finished. If it was stopped, the same command goes on with it.",
      "warn: The last anchor at /srv/anchors is 26 h old, and the log has grown since.",
    ]);
    for (const { command } of concerns) expect(command).toEndWith(" --data '/srv/the data'");
  });

  test("is mended by commands that there are", async () => {
    const commands = concernsOf(stateWith(everything)).map(({ command }) => command ?? "");
    await withTempDir(async (folder) => {
      await makeRegister(folder);
      for (const command of new Set(commands)) {
        const words = command.replace(/^tvs | --data .*$/g, "").split(" ");
        const { code, stderr } = await runTvs([...words, "--data", folder]);
        // A file or a folder that is not there is the only thing that may be undecided.
        expect([command, code === 2 && !/FILE|anchor/.test(command), stderr.includes("internal")]).toEqual([
          command,
          false,
          false,
        ]);
      }
    });
  });
});
