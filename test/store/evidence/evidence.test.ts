import { expect, test } from "bun:test";
import { createEvidenceBuilder, type PinnedCheckpoint } from "../../../src/domain/evidence/builder.ts";
import { treeHeadOf } from "../../../src/domain/evidence/chain.ts";
import { ensureLog, verifierKeyOf } from "../../../src/domain/evidence/epochs.ts";
import { createEvidenceReader, type EvidenceStore } from "../../../src/domain/evidence/evidence.ts";
import { openNextEpoch } from "../../../src/domain/evidence/succession.ts";
import { leafHash, openingLeafHash } from "../../../src/domain/evidence/tree.ts";
import { openCheckpoint } from "../../../src/partner/log-checkpoint.ts";
import { isConsistent, rootOfInclusion } from "../../../src/partner/merkle-proof.ts";
import { readVerifierKey, type VerifierKey } from "../../../src/partner/signed-note.ts";
import type { Driver } from "../../../src/store/driver/driver.ts";
import { createEvidenceStore } from "../../../src/store/evidence/evidence.ts";
import { aClock } from "../../harness/clock.ts";
import { describeDrivers } from "../../harness/drivers.ts";
import { aPinnedCheckpoint, attest, deleteOldest } from "../../harness/evidence.ts";
import { rejection } from "../../harness/rejection.ts";
import { anAttestation, secrets } from "../../harness/samples.ts";

const issuer = "https://verify.example";
const jwsOf = (n: number) => `header.payload-${n}.signature`;

/** What the evidence log must do over every driver: one life of a log, whose chapters go on from each other. */
describeDrivers("evidence log", (_kind, opened) => {
  const clock = aClock("2026-03-10T12:00:00Z");
  const head = aPinnedCheckpoint();
  let driver: Driver;
  let store: EvidenceStore;
  let count = 0;

  const builder = (its: PinnedCheckpoint = head) =>
    createEvidenceBuilder({ store, head: its, secrets, clock });
  const opening = () => ({ store, secrets, issuer, clock });

  async function attestMore(more: number): Promise<void> {
    const next = Array.from({ length: more }, (_, at) => count + at);
    for (let at = 0; at < more; at += 100)
      await attest(
        driver,
        next.slice(at, at + 100).map((n) => anAttestation(n, { jws: jwsOf(n) })),
      );
    count += more;
  }

  const chapters: [name: string, happens: () => Promise<void>][] = [];
  const chapter = (...one: (typeof chapters)[number]) => chapters.push(one);

  async function keys(): Promise<VerifierKey[]> {
    const texts = await Promise.all((await store.epochs()).map(verifierKeyOf));
    return (await Promise.all(texts.map(readVerifierKey))).filter((key) => key !== null);
  }

  async function proves(n: number): Promise<boolean> {
    const proof = await createEvidenceReader(store).inclusion(leafHash(jwsOf(n)));
    if (proof === null || proof === "no-checkpoint") return false;
    const checkpoint = await openCheckpoint(proof.checkpoint, await keys());
    if (!("root" in checkpoint)) throw new Error(checkpoint.detail);
    const hash = new Uint8Array(leafHash(jwsOf(n)));
    const hashes = proof.hashes.map((one) => new Uint8Array(one));
    const root = await rootOfInclusion({ leafHash: hash, index: proof.index, size: proof.size, hashes });
    return root !== null && Buffer.compare(root as Uint8Array, checkpoint.root) === 0;
  }

  chapter("begins with the issuer's name, and takes another one as long as it has no leaf", async () => {
    expect(await store.progress()).toBeNull();
    expect((await ensureLog({ ...opening(), issuer: "http://127.0.0.1:8080/x/" })).origin).toBe(
      "127.0.0.1:8080/x/log",
    );
    expect((await ensureLog(opening())).origin).toBe("verify.example/log");
    expect(await builder().checkpoint()).toBeNull();
    expect(head.note).toBeNull();
  });

  chapter("covers every attestation by a checkpoint, and proves each", async () => {
    await attestMore(700);
    const first = await builder().checkpoint();
    expect([first?.size, await store.progress()]).toEqual([
      700,
      {
        epoch: 1,
        origin: "verify.example/log",
        size: 700,
        signedSize: 700,
        signedAt: clock.now(),
        waiting: 0,
        missing: 0,
      },
    ]);
    expect(head.note).toBe(first?.note as string);
    await attestMore(3);
    expect(await proves(700)).toBe(false);
    expect((await builder().checkpoint())?.size).toBe(703);
    for (const n of [0, 1, 255, 256, 699, 700, 702]) expect([n, await proves(n)]).toEqual([n, true]);
    expect(await createEvidenceReader(store).inclusion(leafHash("another"))).toBeNull();
    expect(await createEvidenceReader(store).inclusion(leafHash(jwsOf(1)), 701)).toBe("no-checkpoint");
    expect(await createEvidenceReader(store).inclusion(leafHash(jwsOf(701)), 700)).toBe("no-checkpoint");
  });

  chapter(
    "keeps one order however many append at once, and no two checkpoints contradict each other",
    async () => {
      await attestMore(1500);
      const heads = Array.from({ length: 4 }, () => aPinnedCheckpoint());
      await Promise.all(
        heads.map(async (own) => {
          await builder(own).checkpoint();
          // Who came when the others had signed already has signed nothing.
          await builder(own).follow();
        }),
      );
      const sizes = heads.map(({ note }) => treeHeadOf(note ?? "").size);
      expect(Math.max(...sizes)).toBe(count);
      const reader = createEvidenceReader(store);
      for (const { note } of heads) {
        const [older, newer] = [treeHeadOf(note ?? ""), treeHeadOf((await reader.newest())?.note ?? "")];
        const proof = await reader.consistency(older.size, newer.size);
        const hashes = (proof?.hashes ?? []).map((one) => new Uint8Array(one));
        const claim = { from: older.size, to: newer.size, fromRoot: older.root, toRoot: newer.root, hashes };
        expect(await isConsistent(claim)).toBe(true);
      }
      for (const n of [0, 703, 1000, 2202]) expect([n, await proves(n)]).toEqual([n, true]);
    },
  );

  chapter("ends a checkpoint although more is attested all the time", async () => {
    await attestMore(3);
    const wanted = count;
    const busy: EvidenceStore = {
      ...store,
      async append(appended) {
        const isStored = await store.append(appended);
        await attestMore(1);
        return isStored;
      },
    };
    const checkpoint = await createEvidenceBuilder({ store: busy, head, secrets, clock }).checkpoint();
    expect(checkpoint?.size).toBe(wanted);
    await builder().checkpoint();
  });

  chapter(
    "goes on past an attestation that was taken out before it had a leaf, and tells of it",
    async () => {
      await attestMore(10);
      const missing = count - 4;
      await driver.batch([{ sql: "DELETE FROM attestations WHERE id = ?", args: [missing + 1] }]);
      const told: number[] = [];
      const onMissing = (id: number) => told.push(id);
      const checkpoint = await createEvidenceBuilder({ store, head, secrets, clock, onMissing }).checkpoint();
      expect([checkpoint?.size, told]).toEqual([count, [missing + 1]]);
      for (const [n, isThere] of [
        [missing - 1, true],
        [missing, false],
        [missing + 1, true],
      ] as const)
        expect([n, await proves(n)]).toEqual([n, isThere]);
    },
  );

  chapter("refuses to fill the places of ids that nobody can have given", async () => {
    const far = count + 20_000;
    await driver.batch([
      {
        sql: "INSERT INTO attestations SELECT ?, ?, partner_id, issued_at, kid, endpoint, purpose, policy_version, teacher_id, reference, nin_index, status, eligible, context, credential, request_id, jws FROM attestations LIMIT 1",
        args: [far, "far"],
      },
    ]);
    expect(await rejection(builder().checkpoint())).toMatchObject({ code: "STORE_CORRUPT" });
    await driver.batch([{ sql: "DELETE FROM attestations WHERE id = ?", args: [far] }]);
  });

  chapter("signs nothing over a database that has lost what was signed for", async () => {
    await builder().follow();
    const kept = treeHeadOf(head.note ?? "");
    expect(kept.size).toBe(count);
    await attestMore(2);
    await builder().checkpoint();
    const lost = [
      "DELETE FROM log_checkpoints WHERE size > 2203",
      "UPDATE log_epochs SET size = 2203",
      "DELETE FROM attestations WHERE id > 2204",
    ];
    await driver.batch(lost.map((sql) => ({ sql, args: [] })));
    for (const verb of ["requireNotBehind", "follow", "sign"] as const)
      expect(await rejection(builder()[verb]())).toMatchObject({ code: "LOG_BEHIND" });
    count = 2204;
    await attestMore(1);
    driver.renew();
    // As many entries as were signed for, but others.
    await driver.batch([{ sql: "UPDATE attestations SET jws = 'another' WHERE id = 2205", args: [] }]);
    expect(await rejection(builder().requireNotBehind())).toMatchObject({ code: "LOG_BEHIND" });
  });

  chapter("goes on in another epoch, which names what the one before had signed for", async () => {
    const previous = head.note ?? "";
    const epoch = await openNextEpoch({ ...opening(), head }, "restored");
    expect([epoch.origin, epoch.size, (await store.epochs())[0]?.sealed]).toEqual([
      "verify.example/log/2",
      1,
      null,
    ]);
    await attestMore(5);
    // With the two that no checkpoint of the first epoch covers.
    expect((await builder().checkpoint())?.size).toBe(8);
    expect(treeHeadOf(head.note ?? "").origin).toBe("verify.example/log/2");
    for (const n of [0, 2202, count - 1]) expect([n, await proves(n)]).toEqual([n, true]);
    const opened2 = await createEvidenceReader(store).inclusion(openingLeafHash(previous));
    expect(opened2).toMatchObject({ index: 0, size: 8 });
  });

  chapter(
    "keeps the leaves of attestations that are deleted, and deletes none that has no leaf",
    async () => {
      await attestMore(10);
      const far = Date.parse("2999-01-01T00:00:00Z");
      for (let deleted = 1; deleted > 0; ) deleted = await deleteOldest(driver, far, 1000);
      const [left] = await driver.query("SELECT count(*) AS n FROM attestations");
      expect(Number(left?.n)).toBe(10);
      await builder().checkpoint();
      for (const n of [0, 1500, count - 1]) expect([n, await proves(n)]).toEqual([n, true]);
    },
  );

  chapter("looks wanted tiles up one by one, however many the tree has", async () => {
    // Last, because this connection sees nothing new after an EXPLAIN.
    const asked: string[] = [];
    const watched: Driver = {
      ...driver,
      query(sql, args) {
        asked.push(sql);
        return driver.query(sql, args);
      },
    };
    await createEvidenceStore(watched).tiles(1)([{ level: 0, position: 0 }]);
    const plan = await driver.query(`EXPLAIN QUERY PLAN ${asked[0]}`, [1, "[]"]);
    expect(plan.map(({ detail }) => detail).join("\n")).toContain("(epoch=? AND level=? AND position=?)");
  });

  test("keeps its promises through its whole life", async () => {
    driver = opened.driver();
    store = createEvidenceStore(driver);
    for (const [name, happens] of chapters) {
      await happens().catch((cause) => {
        throw new Error(`it no longer ${name}`, { cause });
      });
    }
  });
});
