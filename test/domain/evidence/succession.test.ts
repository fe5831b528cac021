import { expect, test } from "bun:test";
import { createEvidenceBuilder } from "../../../src/domain/evidence/builder.ts";
import { treeHeadOf } from "../../../src/domain/evidence/chain.ts";
import { ensureLog, epochDueName } from "../../../src/domain/evidence/epochs.ts";
import {
  beginRetention,
  noteBegin,
  ownMark,
  readMark,
  sealMark,
} from "../../../src/domain/evidence/retention-mark.ts";
import { openDueEpoch, openNextEpoch } from "../../../src/domain/evidence/succession.ts";
import type { EvidenceStore } from "../../../src/store/evidence/evidence.ts";
import { aPinnedCheckpoint, attest } from "../../harness/evidence.ts";
import { rejection } from "../../harness/rejection.ts";
import { anAttestation, secrets } from "../../harness/samples.ts";
import { type TestStores, withStores } from "../../harness/store.ts";

/** A log with two entries that were signed for, unless its first epoch is to be without any. */
function withLog(act: (log: TestStores & ReturnType<typeof partsOf>) => Promise<void>, isEmpty = false) {
  return withStores(async (stores) => {
    const parts = partsOf(stores);
    await ensureLog(parts.opening);
    if (!isEmpty) {
      await attest(stores.driver, [anAttestation(1), anAttestation(2)]);
      await parts.builder().checkpoint();
    }
    await act({ ...stores, ...parts });
  });
}

function partsOf({ evidence, clock }: TestStores) {
  const head = aPinnedCheckpoint();
  const opening = { store: evidence, head, secrets, issuer: "https://verify.example", clock };
  const builder = (store: EvidenceStore = evidence) => createEvidenceBuilder({ store, head, secrets, clock });
  return { head, opening, builder };
}

test("notes with which id an epoch begins, and opens none of which another one has noted something else", () =>
  withLog(async ({ opening, evidence, driver, builder, maintenance, clock, settings }) => {
    await beginRetention({ maintenance, settings, secrets, evidence }, { now: clock.now() });
    const noted: number[] = [];
    const note = async (next: Parameters<typeof noteBegin>[1]) => {
      const mark = await noteBegin({ maintenance, secrets }, next);
      noted.push(next.firstId);
      if (noted.length > 1) return mark;
      // Another one signs and closes the epoch before this one does, which then notes what it had read.
      await attest(driver, [anAttestation(3)]);
      await builder().checkpoint();
      await openNextEpoch({ ...opening, note }, "another test");
      expect(await noteBegin({ maintenance, secrets }, next)).toBeUndefined();
      return mark;
    };
    expect(await openNextEpoch({ ...opening, note }, "a test")).toMatchObject({ epoch: 3, firstId: 4 });
    const mark = await readMark({ maintenance, secrets }, { isOld: false, now: clock.now() });
    expect([noted, mark?.begins]).toEqual([[3, 4, 4], { 1: 1, 2: 4, 3: 4 }]);
  }));

test("does not take back what retention has deleted since it was looked where the epoch begins", () =>
  withLog(async ({ opening, evidence, driver, builder, maintenance, clock, settings }) => {
    await beginRetention({ maintenance, settings, secrets, evidence }, { now: clock.now() });
    const known = () => ownMark({ maintenance, secrets });
    let isFirst = true;
    const note = async (next: Parameters<typeof noteBegin>[1]) => {
      if (isFirst) {
        await attest(driver, [anAttestation(3), anAttestation(4)]);
        await builder().checkpoint();
        const { sealed: was, mark } = await known();
        const is = sealMark({ ...mark, from: 1, through: 3 }, secrets);
        expect(await maintenance.prune([1, 2, 3], { was, is, from: 1 })).toBe(true);
      }
      isFirst = false;
      return noteBegin({ maintenance, secrets }, next);
    };
    expect(await openNextEpoch({ ...opening, note }, "a test")).toMatchObject({ epoch: 2, firstId: 5 });
    expect((await known()).mark).toMatchObject({ through: 3, begins: { 1: 1, 2: 5 } });
  }));

test("leaves to retention nothing that is in the tree, and that the next epoch would begin with", () =>
  withLog(async ({ evidence, driver, builder, maintenance }) => {
    await attest(driver, [anAttestation(3), anAttestation(4)]);
    await builder().append();
    expect([(await evidence.progress())?.size, await evidence.nextFirstId()]).toEqual([4, 3]);
    const ids = async () => (await maintenance.deletable(0, 9)).map(({ id }) => id);
    expect(await ids()).toEqual([1, 2]);
    await builder().sign();
    expect(await ids()).toEqual([1, 2, 3]);
  }));

test("takes nothing for lost because a checkpoint was kept and could not be stored", () =>
  withLog(async ({ opening, evidence, driver, builder, head }) => {
    await attest(driver, [anAttestation(3)]);
    const failing = { ...evidence, append: () => Promise.reject(new Error("the disk is full")) };
    expect(await rejection(builder(failing).sign())).toMatchObject({ message: "the disk is full" });
    expect([treeHeadOf(head.note ?? "").size, (await evidence.newest())?.size]).toEqual([3, 2]);
    const opened = await openNextEpoch(opening, "a test");
    const [closed] = await evidence.epochs();
    expect([closed?.size, opened.firstId, opened.previous]).toEqual([
      3,
      4,
      (await evidence.newest())?.note ?? "",
    ]);
  }));

test("opens one epoch for a restore, though two come to open it", () =>
  withLog(async ({ opening, evidence, settings }) => {
    await settings.write({ [epochDueName]: "token" });
    const due = {
      read: () => ({ token: "token", epoch: 2, reason: "a restore" }),
      write: async () => {},
      remove() {},
    };
    const openDue = (onDue = async () => {}) => openDueEpoch({ ...opening, due, onDue }, settings);
    const opened = await openDue(async () => {
      await openDue();
    });
    expect([opened?.epoch, (await evidence.epochs()).length]).toEqual([2, 2]);
  }));

test("is not said to be behind, nor broken, by who looks at an epoch that is closed meanwhile", () =>
  withLog(async ({ opening, evidence, driver, builder }) => {
    await builder().follow();
    await attest(driver, [anAttestation(3)]);
    await builder().append();
    let isOpen = true;
    const store: EvidenceStore = {
      ...evidence,
      tiles: (epoch) => async (places) => {
        // The closed tree is cut to the two leaves that were signed for.
        if (isOpen) await openNextEpoch(opening, "a test");
        isOpen = false;
        return evidence.tiles(epoch)(places);
      },
    };
    await builder(store).sign();
    expect(await evidence.newest()).toMatchObject({ epoch: 2, size: 2 });
  }));
