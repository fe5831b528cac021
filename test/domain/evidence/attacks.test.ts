/**
 * Attacks by somebody who can write to the database, but has neither the master key nor the pinned checkpoint. Each
 * attack is a finding of `tvs log audit`. Either the finding remains after the service has signed more checkpoints, or
 * the service refuses the database.
 */

import { beforeAll, expect, test } from "bun:test";
import type { AuditResult } from "../../../src/domain/evidence/audit.ts";
import { createLog } from "../../../src/domain/evidence/log.ts";
import { leafHashOf } from "../../../src/domain/evidence/tree.ts";
import { deriveSecrets, generateMasterKey } from "../../../src/domain/secrets.ts";
import type { SqlStatement } from "../../../src/store/driver/driver.ts";
import { aClock } from "../../harness/clock.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { reportTries } from "../../harness/trial.ts";
import {
  acting,
  aSignedAttestation,
  attestMore,
  attestTo,
  audit,
  beginAnother,
  copyOf,
  makeLog,
  prune,
  type State,
  tampered,
} from "./audited-register.ts";

const folder = sharedFolder();

/**
 * `early` is a log of 160 attestations, and `whole` is the same log with 300. Retention has deleted 70 attestations of
 * `whole` in `pruned70`, and 140 in `pruned`. `restored` is `early` restored over `whole`: a new log, with 200
 * attestations. `renewed` is a new log over `pruned`. `drill` is a new log over `early`, begun where no later
 * checkpoint was known.
 */
type Name = "early" | "whole" | "pruned70" | "pruned" | "restored" | "renewed" | "drill";
const states = {} as Record<Name, State>;
let [note70, note140] = ["", ""];

beforeAll(async () => {
  const made = await makeLog(folder, 160);
  const early = await copyOf(made);
  const whole = await attestMore(made, 160, 140);
  const pruned70 = await copyOf(whole);
  await prune(pruned70, 70);
  const pruned = await copyOf(pruned70);
  await prune(pruned, 140);
  [note70, note140] = [await retentionOf(pruned70), await retentionOf(pruned)];
  const behind = { ...(await copyOf(early)), pinned: whole.pinned };
  const restored = await attestMore(await beginAnother(behind), 400, 40);
  const drill = await attestMore(await beginAnother(await copyOf(early)), 600, 200);
  const renewed = await attestMore(await beginAnother(await copyOf(pruned)), 300, 20);
  Object.assign(states, { early, whole, pruned70, pruned, restored, renewed, drill });
});

const retentionOf = async (state: State) =>
  (await acting(state, ({ store }) => store.retention())).result ?? "";

/** Audits a state, starts a service over it, and audits again after the next checkpoint. */
async function attacked(state: State) {
  const before = await audit(state);
  const refusalOf = (work: Promise<unknown>) => work.then(() => null, String);
  const started = await acting(state, async ({ writer }) => {
    const refusal = await refusalOf(writer.reconcile());
    // A command that signs refuses the same databases as a service.
    if (refusal !== null) expect(await refusalOf(writer.checkpoint())).toBe(refusal);
    return refusal;
  });
  if (started.result !== null) return { before, refused: started.result, after: null };
  const after = await attestMore(started.state, 1000, 20);
  return { before, refused: null, after: await audit(after) };
}

const set = (change: string, id: number) => `UPDATE attestations SET ${change} WHERE id = ${id}`;
const gone = (which: string) => `DELETE FROM attestations WHERE ${which}`;
const uncheckpointed = (which: string) => `DELETE FROM log_checkpoints WHERE ${which}`;
const bound = (sql: string, ...args: SqlStatement["args"]): SqlStatement => ({ sql, args });
const retention = (note: string) =>
  bound("INSERT OR REPLACE INTO log_retention (id, note) VALUES (1, ?)", note);
const cut = (size: number) => [
  "DELETE FROM log_tiles WHERE level > 0 OR position > 0",
  `UPDATE log_tiles SET hashes = substr(hashes, 1, ${size * 32})`,
  uncheckpointed(`size > ${size}`),
  gone(`id > ${size}`),
];
const thief = deriveSecrets(generateMasterKey());
const theirLog = (number: number): SqlStatement => {
  const by = { secrets: thief, issuer: "https://verify.example.org", clock: aClock("2026-05-02T00:00:00Z") };
  const log = createLog(by, { number, reason: null, previous: states.whole.pinned, firstSize: 0 });
  const { origin, publicKey, sealed, begunAt, reason, previous, firstSize, mac } = log;
  const sql = "INSERT OR REPLACE INTO logs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
  return bound(sql, number, origin, publicKey, sealed, begunAt, reason, previous, firstSize, mac);
};
const noLog = ["logs", "log_tiles", "log_positions", "log_checkpoints"].map((name) => `DELETE FROM ${name}`);
const withoutLeaf = (index: number) =>
  `UPDATE log_tiles SET hashes = CAST(substr(hashes, 1, ${index * 32}) || substr(hashes, ${index * 32 + 33}) AS BLOB)
    WHERE level = 0 AND position = 0`;
const swap7and8 = [set("id = -1", 7), set("id = 7", 8), set("id = 8", -1)];
const leafOf = (jws: string, index: number) =>
  bound(
    `UPDATE log_tiles SET hashes = CAST(substr(hashes, 1, ${index * 32}) || ?1 || substr(hashes, ${index * 32 + 33}) AS BLOB)
      WHERE level = 0 AND position = 0`,
    leafHashOf(jws),
  );
const inserted = (id: number, jws: string) =>
  bound(
    `INSERT INTO attestations SELECT ?1, '01a00000-0000-7000-8000-000000000001', partner_id, issued_at, kid, operation, purpose, policy_version, teacher_id,
      reference, nin_index, status, eligible, context, credential, request_id, ?2 FROM attestations WHERE id = 290`,
    id,
    jws,
  );
const unsigned = () => `${aSignedAttestation(9_000).jws.split(".").slice(0, 2).join(".")}.AAAA`;

const removed = (id: number) => new RegExp(`ATTESTATION.*attestation ${id} was removed`);
const unlikeLeaf = (id: number) => new RegExp(`ATTESTATION.*attestation ${id} does not fit its leaf`);
const unlike = (id: number, column: string) => new RegExp(`attestation ${id} contradicts.*${column}`);
const otherLeaves = /CHECKPOINT.*signed for other leaves/;
const badNote = /ATTESTATION.*not signed by the log/;
const strangersLog = /CHECKPOINT.*without the master key/;

/** A name, the changes, the finding, and whether the service refuses the database with LOG_BEHIND. */
type Attack = readonly [
  name: string,
  changes: () => readonly (string | SqlStatement)[],
  finding: RegExp,
  isRefused?: "refused",
];

const attacks: Readonly<Partial<Record<Name, readonly Attack[]>>> = {
  whole: [
    ["the newest rows are deleted", () => [gone("id > 290")], removed(291), "refused"],
    [
      "the newest rows are deleted and a new row gets one of their ids",
      () => [gone("id > 290"), inserted(300, unsigned())],
      removed(291),
      "refused",
    ],
    ["old rows are deleted without a retention note", () => [gone("id <= 50")], removed(1)],
    ["one row is deleted", () => [gone("id = 123")], removed(123)],
    ["a column is changed", () => [set("status = 'REVOKED'", 9)], unlike(9, "status")],
    ["a verification id is changed", () => [set("verification_id = 'x'", 9)], unlike(9, "verification_id")],
    ["a time is changed", () => [set("issued_at = issued_at - 1", 9)], unlike(9, "issued_at")],
    ["a signed result is changed", () => [set("jws = jws || 'A'", 9)], unlikeLeaf(9)],
    ["two rows are swapped", () => swap7and8, unlikeLeaf(7)],
    [
      "a row and its leaf are changed",
      () => [bound("UPDATE attestations SET jws = ? WHERE id = 9", unsigned()), leafOf(unsigned(), 8)],
      otherLeaves,
    ],
    ["a leaf is changed", () => [leafOf("x", 8)], unlikeLeaf(9)],
    ["a leaf is deleted", () => [withoutLeaf(100)], unlikeLeaf(101)],
    [
      "the tiles above the leaves are changed",
      () => ["UPDATE log_tiles SET hashes = zeroblob(32) WHERE level = 1"],
      /CHECKPOINT.*does not fit the leaves below/,
      "refused",
    ],
    ["a row is inserted before the first", () => [inserted(-5, unsigned())], /ATTESTATION.* -5 was inserted/],
    [
      "a row is inserted after the last",
      () => [inserted(301, unsigned())],
      /attestation 301 .*(contradicts|inserted)/,
    ],
    [
      "a row is inserted far after the last",
      () => [inserted(700, unsigned())],
      /attestation 301 was removed before/,
    ],
    [
      "a checkpoint is deleted",
      () => [uncheckpointed("size = 100")],
      /CHECKPOINT.*before the checkpoint at 120/,
    ],
    [
      "several checkpoints are deleted",
      () => [uncheckpointed("size BETWEEN 40 AND 200")],
      /CHECKPOINT.*at 220/,
    ],
    ["the first checkpoints are deleted", () => [uncheckpointed("size < 100")], /CHECKPOINT.*at 100/],
    [
      "the newest checkpoints are deleted",
      () => [uncheckpointed("size > 200")],
      /CHECKPOINT.*at 300 is pinned/,
    ],
    ["all checkpoints are deleted", () => [uncheckpointed("true")], /CHECKPOINT.*at 300 is pinned/],
    [
      "a checkpoint is changed",
      () => ["UPDATE log_checkpoints SET note = note || note WHERE size = 100"],
      /CHECKPOINT.*at 100 is not signed/,
    ],
    [
      "the time of a checkpoint is changed",
      () => ["UPDATE log_checkpoints SET signed_at = 0 WHERE size = 100"],
      /at 100 is kept under another time/,
    ],
    ["the newest part is cut off everywhere", () => cut(200), /BEHIND.*300 entries.*has 200/, "refused"],
    ["the log is begun again without leaves", () => noLog, /BEHIND.*it has no log/, "refused"],
    ["the log is begun again under another key", () => [theirLog(1)], strangersLog, "refused"],
    ["somebody without the master key adds a later log", () => [theirLog(2)], strangersLog, "refused"],
  ],
  pruned70: [["more rows are deleted than the retention note says", () => [gone("id = 71")], removed(71)]],
  pruned: [
    ["a leaf of a deleted row is changed", () => [leafOf("x", 8)], otherLeaves],
    ["an older retention note is put back", () => [retention(note70)], removed(71)],
    ["the retention note is deleted", () => ["DELETE FROM log_retention"], removed(1)],
    [
      "rows are deleted and the position in the retention note is raised",
      () => [retention(note140.replace("\n140\n", "\n200\n")), gone("id <= 200")],
      badNote,
    ],
  ],
  renewed: [["the retention note of the previous log is put back", () => [retention(note140)], badNote]],
  restored: [
    [
      "the last checkpoint before a new log is deleted",
      () => [uncheckpointed("size = 160 AND log = 1")],
      /CHECKPOINT.*the last checkpoint before .*log\/2 was removed/,
    ],
    [
      "the first checkpoint of a new log is deleted",
      () => [uncheckpointed("size = 160 AND log = 2")],
      /CHECKPOINT.*at 180/,
    ],
    [
      "rows are deleted under the retention note of a lost log",
      () => [retention(note140), gone("id <= 140")],
      badNote,
    ],
  ],
};

async function expectReport(state: State, finding: RegExp, isRefused: boolean): Promise<void> {
  const { before, refused, after } = await attacked(state);
  reportTries({ attacks: 1 });
  expect(before.findings.map(({ what, says }) => `${what}: ${says}`).join("\n")).toMatch(finding);
  if (isRefused) expect(refused).toContain("the database is behind");
  else expect(refused).toBeNull();
  if (after !== null) expect(after.found).toBeGreaterThan(0);
}

for (const [state, tried] of Object.entries(attacks))
  for (const [name, changes, finding, isRefused] of tried)
    test(`the audit of the evidence log reports a finding if ${name}`, async () => {
      const made = await tampered(states[state as Name], changes());
      await expectReport(made, finding, isRefused === "refused");
    });

test.each([
  ["early", "whole", /BEHIND.*300 entries.*has 160/],
  ["whole", "restored", /BEHIND.*it has no log .*log\/2/],
  // `drill` was restored on another machine with the same master key.
  ["drill", "whole", /BEHIND.*it has no log/],
] as const)(
  "the audit reports that the database of state %s is behind the pinned checkpoint of state %s",
  (database, pinned, finding) =>
    expectReport({ ...states[database], pinned: states[pinned].pinned }, finding, true),
);

test("the audit reports a removed last checkpoint until the next start stores it again", async () => {
  const state = await tampered(states.whole, [uncheckpointed("size = 300")]);
  const { before, refused, after } = await attacked(state);
  expect(before.findings[0]).toMatchObject({ what: "CHECKPOINT", position: 300 });
  expect([refused, after?.found]).toEqual([null, 0]);
});

test("the audit finds nothing wrong in an unaltered log with one attestation that has no leaf yet", async () => {
  const waiting = await copyOf(states.whole);
  await acting(waiting, ({ driver }) => attestTo(driver, 301, 1));
  expect(await audit(waiting)).toMatchObject({ found: 0, waiting: 1, verified: 1 });
  const counts = { leaves: 300, compared: 301, verified: 301, deleted: 0, waiting: 1 };
  const logs = [{ origin: "verify.example.org/log", checkpoints: 15 }];
  expect(await audit(waiting, true)).toEqual({ logs, ...counts, found: 0, findings: [], isPinned: true });
});

const ofLog = (origin: string, checkpoints: number) => ({
  origin: `verify.example.org/log${origin}`,
  checkpoints,
});
test.each<[work: string, Name, Partial<AuditResult>]>([
  ["deletion by retention", "pruned", { compared: 160, deleted: 140 }],
  ["restore", "restored", { compared: 200, leaves: 200, logs: [ofLog("", 8), ofLog("/2", 3)] }],
  // The new log has signed the retention note again.
  ["new log over a complete database", "renewed", { compared: 180, deleted: 140, leaves: 320 }],
])("the audit finds nothing wrong after the program's own %s", async (_work, name, result) => {
  expect(await audit(states[name])).toMatchObject({ found: 0, ...result });
});

test("the audit finds nothing wrong after a new log has accepted the loss of the newest rows", async () => {
  const lost = await tampered(states.whole, [gone("id > 290")]);
  const state = await attestMore(await beginAnother(lost), 500, 20);
  expect(await audit(state)).toMatchObject({ found: 0, leaves: 310 });
});

test("the audit without a pinned checkpoint says that it cannot decide whether the database is the newest", async () => {
  expect(await audit({ ...states.early, pinned: null })).toMatchObject({ found: 0, isPinned: false });
});
