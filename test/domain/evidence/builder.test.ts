import { expect, test } from "bun:test";
import { readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createEvidenceBuilder, leavesOfCommit } from "../../../src/domain/evidence/builder.ts";
import { linkOf, linkTo, treeHeadOf } from "../../../src/domain/evidence/chain.ts";
import { ensureLog } from "../../../src/domain/evidence/epochs.ts";
import { signCheckpoint } from "../../../src/partner/log-checkpoint.ts";
import type { Value } from "../../../src/store/driver/driver.ts";
import type { EvidenceStore } from "../../../src/store/evidence/evidence.ts";
import type { PinnedCheckpoint } from "../../../src/store/evidence/pinned-checkpoint.ts";
import { openPinnedCheckpoint } from "../../../src/store/evidence/pinned-checkpoint.ts";
import { aCheckpointKey } from "../../harness/checkpoint-key.ts";
import { aPinnedCheckpoint, attest } from "../../harness/evidence.ts";
import { rejection } from "../../harness/rejection.ts";
import { anAttestation, secrets } from "../../harness/samples.ts";
import { type TestStores, withStores } from "../../harness/store.ts";

type KeptLog = TestStores & {
  readonly head: PinnedCheckpoint;
  readonly headFile: string;
  builder(head?: PinnedCheckpoint): ReturnType<typeof createEvidenceBuilder>;
  attestMore(more: number): Promise<void>;
  /** What somebody does who may write to the database, but not to the file beside the master key. */
  tamper(...statements: readonly [string, ...Value[]][]): Promise<void>;
};

/** A log of 512 entries that were signed for. */
function withLog(act: (log: KeptLog) => Promise<void>): Promise<void> {
  return withStores(async (stores) => {
    const { evidence: store, driver, clock, folder } = stores;
    const headFile = join(folder, "log.checkpoint");
    const head = openPinnedCheckpoint(headFile);
    let count = 0;
    const log: KeptLog = {
      ...stores,
      head,
      headFile,
      builder: (its = head) => createEvidenceBuilder({ store, head: its, secrets, clock }),
      async attestMore(more) {
        const made = Array.from({ length: more }, (_, at) => anAttestation(count + at));
        count += more;
        await attest(driver, made);
      },
      async tamper(...statements) {
        await driver.batch(statements.map(([sql, ...args]) => ({ sql, args })));
      },
    };
    await ensureLog({ store, secrets, issuer: "https://verify.example", clock });
    for (const more of [1, 511]) {
      await log.attestMore(more);
      await log.builder().checkpoint();
    }
    await act(log);
  });
}

/** Somebody who is slow to keep what was signed, so that others are faster. */
function heldBack(head: PinnedCheckpoint) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  return {
    ...head,
    reached: reached.promise,
    release: released.resolve,
    async write(note: string) {
      reached.resolve();
      await released.promise;
      await head.write(note);
    },
  };
}

const sizeOf = (head: PinnedCheckpoint) => treeHeadOf(head.read() ?? "").size;

test("keeps the later checkpoint of two builders, whichever writes last", () =>
  withLog(async ({ builder, head, attestMore, evidence }) => {
    await attestMore(3);
    const slow = heldBack(head);
    const overtaken = builder(slow).sign();
    await slow.reached;
    await attestMore(4);
    await builder().checkpoint();
    expect(sizeOf(head)).toBe(519);
    slow.release();
    await overtaken;
    expect([sizeOf(head), (await evidence.newest())?.size]).toEqual([519, 519]);
  }));

test("signs with no time that only the database says, however its clock was set", () =>
  withLog(async ({ builder, clock, tamper, attestMore, evidence }) => {
    const signedAt = clock.now();
    await tamper(["UPDATE log_checkpoints SET signed_at = signed_at * 2"]);
    const dayMs = 86_400_000;
    // Set back by more than a day, it keeps to no time that no verifier would accept for so long.
    for (const [ms, afterMs] of [
      [1_000, 1_000],
      [-dayMs, 1_000],
      [-1_000, -dayMs],
    ] as const) {
      clock.add(ms);
      await attestMore(1);
      await builder().checkpoint();
      expect(await evidence.newest()).toMatchObject({ signedAt: signedAt + afterMs });
    }
  }));

type Tampered = (log: KeptLog) => Promise<void>;
type Verb = "requireNotBehind" | "sign" | "checkpoint" | "follow";
const gone = (after: number): [string] => [`DELETE FROM attestations WHERE id > ${after}`];

test.each<[string, Tampered, readonly Verb[], string]>([
  [
    "takes no epoch for a later one by what the database alone says of it: the same name and key, for another tree",
    async ({ tamper, head }) =>
      tamper(
        ["UPDATE log_epochs SET epoch = 2, previous = ?, size = 1", head.read() ?? ""],
        ["DELETE FROM log_checkpoints"],
        ["DELETE FROM log_tiles"],
        gone(100),
      ),
    ["requireNotBehind", "sign", "checkpoint"],
    "behind",
  ],
  [
    "takes no epoch for a later one whose key nobody has sealed",
    async ({ tamper, head, evidence }) => {
      const [{ publicKey, sealed } = { publicKey: null, sealed: null }] = await evidence.epochs();
      const sql = `INSERT INTO log_epochs (epoch, origin, public_key, sealed, first_id, size, opened_at, previous)
        VALUES (2, 'verify.example/log/2', ?, ?, 101, 1, 1, ?)`;
      await tamper(gone(100), [sql, publicKey, sealed, head.read() ?? ""]);
    },
    ["requireNotBehind", "follow", "sign"],
    "behind",
  ],
  [
    "follows no database whose newest attestations were taken out, though its checkpoints are there",
    ({ tamper }) => tamper(gone(500)),
    ["follow"],
    "behind",
  ],
  [
    "follows no database in which others have got the ids of attestations that were taken out",
    async ({ tamper, attestMore }) => {
      await tamper(gone(509));
      await attestMore(5);
    },
    ["requireNotBehind", "follow", "sign"],
    "its newest entry is another",
  ],
])("%s", (_what, tampered, refusing, says) =>
  withLog(async (log) => {
    await tampered(log);
    const refusal = { code: "LOG_BEHIND", message: expect.stringContaining(says) };
    for (const verb of refusing) expect(await rejection(log.builder()[verb]())).toMatchObject(refusal);
    expect(sizeOf(log.head)).toBe(512);
  }),
);

test("names the checkpoint before it in each, and covers all that was committed before", () =>
  withLog(async ({ builder, attestMore, evidence }) => {
    await attestMore(leavesOfCommit + 3);
    await builder().sign();
    const [first, second, third] = await Promise.all([1, 512, 1027].map((size) => evidence.ofSize(1, size)));
    const links = [first, second, third].map((one) => linkOf(treeHeadOf(one?.note ?? "")));
    expect(links).toEqual([null, first, second].map((one) => linkTo(one?.note ?? null)));
  }));

test("stores no checkpoint beside another one that names the same before it", () =>
  withLog(async ({ builder, head, attestMore, evidence }) => {
    await attestMore(3);
    const slow = heldBack(head);
    const overtaken = builder(slow).sign();
    await slow.reached;
    // Without a leaf more, so that the tree is as long as the first one takes it to be.
    await builder().sign();
    const stored = (await evidence.newest())?.note;
    slow.release();
    await overtaken;
    await builder().follow();
    expect([(await evidence.newest())?.note, head.read()]).toEqual([stored, stored ?? ""]);
    await attestMore(1);
    await builder().sign();
    expect(linkOf(treeHeadOf(head.read() ?? ""))).toBe(linkTo(stored ?? ""));
  }));

test("stores no checkpoint whose leaves another one has appended, behind one that it does not name", () =>
  withLog(async ({ builder, head, attestMore, evidence }) => {
    await attestMore(2);
    const [smaller, larger] = [heldBack(head), heldBack(head)];
    const signed = builder(smaller).sign();
    await smaller.reached;
    await attestMore(1);
    const overtaken = builder(larger).sign();
    await larger.reached;
    smaller.release();
    await signed;
    const stored = await evidence.newest();
    await builder().append();
    larger.release();
    await overtaken;
    expect(await evidence.newest()).toEqual(stored);
    await builder().sign();
    expect(linkOf(treeHeadOf((await evidence.newest())?.note ?? ""))).toBe(linkTo(stored?.note ?? ""));
  }));

test("puts no kept checkpoint back behind one that it does not name", () =>
  withLog(async ({ head, attestMore, evidence, clock }) => {
    const builderOn = (its: PinnedCheckpoint, store: EvidenceStore) =>
      createEvidenceBuilder({ store, head: its, secrets, clock });
    const dying = { ...evidence, append: () => Promise.reject(new Error("killed")) };
    const [smaller, larger] = [aPinnedCheckpoint(head.read()), aPinnedCheckpoint(head.read())];
    for (const own of [smaller, larger]) {
      await attestMore(1);
      expect(await rejection(builderOn(own, dying).sign())).toMatchObject({ message: "killed" });
    }
    await builderOn(head, evidence).append();
    const overtaken = {
      ...evidence,
      async newest() {
        const newest = await evidence.newest();
        await builderOn(smaller, evidence).requireNotBehind();
        return newest;
      },
    };
    await builderOn(larger, overtaken).requireNotBehind();
    const stored = await evidence.newest();
    expect([stored?.note, stored?.size]).toEqual([smaller.note ?? "", 513]);
    await builderOn(larger, evidence).sign();
    expect(linkOf(treeHeadOf((await evidence.newest())?.note ?? ""))).toBe(linkTo(stored?.note ?? ""));
  }));

test("keeps nothing that the database calls a checkpoint and that the log has not signed", () =>
  withLog(async ({ builder, head, tamper, evidence }) => {
    const [kept, first] = [head.read() ?? "", (await evidence.ofSize(1, 1))?.note ?? ""];
    const add = "INSERT OR REPLACE INTO log_checkpoints (epoch, size, signed_at, note) VALUES (1, 513, 1, ?)";
    for (const note of [first, kept.replace("\n512\n", "\n513\n"), "no checkpoint"]) {
      await tamper([add, note]);
      expect(await rejection(builder().follow())).toMatchObject({ code: "STORE_CORRUPT" });
      expect(head.read()).toBe(kept);
    }
  }));

test("keeps no checkpoint of another tree, or by another key, whoever has signed it", () =>
  withLog(async ({ builder, head, headFile, tamper, attestMore }) => {
    const kept = head.read() ?? "";
    const own = aCheckpointKey();
    const note = await signCheckpoint({ ...treeHeadOf(kept), size: 513, root: new Uint8Array(32) }, 1, own);
    const add = "INSERT INTO log_checkpoints (epoch, size, signed_at, note) VALUES (1, 513, 1000, ?)";
    await attestMore(1);
    await builder().append();
    await tamper(["UPDATE log_epochs SET public_key = ?", own.publicKey], [add, note]);
    expect(await rejection(builder().follow())).toMatchObject({ code: "LOG_BEHIND" });
    expect(head.read()).toBe(kept);
    rmSync(headFile);
    expect(await rejection(builder().follow())).toMatchObject({ code: "STORE_CORRUPT" });
    expect(head.read()).toBeNull();
  }));

test("signs for no tree that was changed after it was compared with what is kept", () =>
  withLog(async ({ evidence, head, clock, tamper, attestMore }) => {
    const kept = head.read();
    await attestMore(1);
    const store = {
      ...evidence,
      async attested(firstId: number, limit: number) {
        const zeros = "UPDATE log_tiles SET hashes = zeroblob(length(hashes)) WHERE level = 1";
        if (limit > 1) await tamper([zeros]);
        return evidence.attested(firstId, limit);
      },
    };
    expect(await rejection(createEvidenceBuilder({ store, head, secrets, clock }).sign())).toMatchObject({
      code: "LOG_BEHIND",
    });
    expect(head.read()).toBe(kept);
  }));

test("signs for no tree whose leaves it has read long before: what was attested since would stand behind it", () =>
  withLog(async ({ evidence, head, clock, attestMore, builder }) => {
    const kept = head.read();
    await attestMore(1);
    const store = {
      ...evidence,
      async attested(firstId: number, limit: number) {
        const found = await evidence.attested(firstId, limit);
        if (limit > 1) clock.add(61_000);
        return found;
      },
    };
    await createEvidenceBuilder({ store, head, secrets, clock }).sign();
    expect(head.read()).toBe(kept);
    await builder().sign();
    expect(sizeOf(head)).toBe(513);
  }));

test("signs for no smaller tree than the kept one, to which it was cut after it was compared", () =>
  withLog(async ({ evidence, head, clock, tamper, attestMore, builder }) => {
    const kept = head.read();
    await attestMore(1);
    let isCut = false;
    const store = {
      ...evidence,
      async newest() {
        if (!isCut)
          await tamper(
            ["UPDATE log_epochs SET size = 300"],
            ["DELETE FROM log_checkpoints"],
            ["DELETE FROM attestations WHERE id > 300"],
            ["UPDATE log_tiles SET hashes = zeroblob(300 * 32) WHERE level = 0 AND position = 0"],
          );
        isCut = true;
        return evidence.newest();
      },
    };
    await createEvidenceBuilder({ store, head, secrets, clock }).sign();
    expect([isCut, await evidence.newest(), head.read()]).toEqual([true, null, kept]);
    expect(await rejection(builder().sign())).toMatchObject({ code: "LOG_BEHIND" });
  }));

test("says so when it takes the checkpoint that it had kept from the database", () =>
  withLog(async ({ head, headFile, evidence: store, attestMore, clock }) => {
    let count = 0;
    const builder = createEvidenceBuilder({ store, head, secrets, clock, onTaken: () => count++ });
    await attestMore(1);
    await builder.checkpoint();
    expect(count).toBe(0);
    rmSync(headFile);
    await builder.follow();
    expect([count, sizeOf(head)]).toEqual([1, 513]);
    await attestMore(1);
    rmSync(headFile);
    await builder.checkpoint();
    expect([count, sizeOf(head)]).toEqual([2, 514]);
  }));

test("says nothing of a log's first checkpoint, which another node has signed, when it saw the log without", () =>
  withStores(async ({ evidence: store, driver, clock, folder }) => {
    let count = 0;
    const [one, other] = ["one", "other"].map((node) => {
      const head = openPinnedCheckpoint(join(folder, node));
      return createEvidenceBuilder({ store, head, secrets, clock, onTaken: () => count++ });
    });
    await ensureLog({ store, secrets, issuer: "https://verify.example", clock });
    await other?.follow();
    await attest(driver, [anAttestation(0)]);
    await one?.checkpoint();
    await other?.follow();
    expect([count, sizeOf(openPinnedCheckpoint(join(folder, "other")))]).toEqual([0, 1]);
    rmSync(join(folder, "other"));
    await other?.follow();
    expect(count).toBe(1);
  }));

test("leaves nothing behind where the checkpoint cannot be kept", () =>
  withLog(async ({ head, headFile, folder }) => {
    const note = head.read() ?? "";
    const elsewhere = join(folder, "elsewhere");
    writeFileSync(elsewhere, note);
    rmSync(headFile);
    symlinkSync(elsewhere, headFile);
    const before = readdirSync(folder);
    expect(await rejection(openPinnedCheckpoint(headFile).write(note))).toMatchObject({
      code: "INPUT_UNREADABLE",
    });
    expect(() => head.read()).toThrow("cannot be read");
    expect(readdirSync(folder)).toEqual(before);
  }));

test("seals no key anew under the name of a later epoch", () =>
  withLog(async ({ evidence, clock, tamper }) => {
    await tamper(["UPDATE log_epochs SET epoch = 2, size = 0, previous = ''"]);
    const opening = { store: evidence, secrets, issuer: "https://verify.example", clock };
    expect(await ensureLog(opening)).toMatchObject({ epoch: 2, origin: "verify.example/log" });
  }));
