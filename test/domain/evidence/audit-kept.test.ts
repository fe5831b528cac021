import { beforeAll, describe, expect, test } from "bun:test";
import { sharedFolder } from "../../harness/folder.ts";
import { type AuditedRegister, auditTampered, makeRegister, renumber } from "./audited-register.ts";

const folder = sharedFolder();
let register: AuditedRegister;

beforeAll(async () => {
  register = await makeRegister(folder);
});

describe("a database that was put back", () => {
  test("is found by the checkpoint outside of it", async () => {
    const { earlier, closing, head } = register;
    expect(await auditTampered(register, [], { from: earlier, head: closing })).toMatchObject({
      what: "BEHIND",
      id: 161,
      index: 160,
      found: 1,
    });
    expect(await auditTampered(register, [], { from: earlier, head })).toMatchObject({
      what: "BEHIND",
      found: 1,
    });
  });

  test("is found when its end was cut off, by the checkpoints that were left", async () => {
    const statements = [
      "DELETE FROM attestations WHERE id > 330",
      "UPDATE log_epochs SET size = 31 WHERE epoch = 2",
      "UPDATE log_tiles SET hashes = substr(hashes, 1, 31 * 32) WHERE epoch = 2",
      "DELETE FROM log_positions WHERE id > 330",
    ];
    expect(await auditTampered(register, statements, { head: null })).toMatchObject({
      what: "ATTESTATION",
      id: 331,
      index: 31,
      found: 1,
    });
    expect(await auditTampered(register, statements)).toMatchObject({ what: "BEHIND", id: 331, index: 31 });
  });
});

describe("what is kept beside the attestations", () => {
  const tile = (level: number, hashes: string) =>
    `UPDATE log_tiles SET hashes = CAST(${hashes} AS BLOB) WHERE epoch = 1 AND level = ${level} AND position = 0`;

  test("a changed hash is told from a changed attestation by the checkpoint that does not fit it", async () => {
    const changed = "substr(hashes, 1, 32 * 122) || zeroblob(32) || substr(hashes, 32 * 123 + 1)";
    const found = await auditTampered(register, [tile(0, changed)]);
    expect(found).toMatchObject({ what: "ATTESTATION", id: 123, index: 122 });
    expect(found.kinds).toEqual(["ATTESTATION", "CHECKPOINT", "LOG"]);
    expect(await auditTampered(register, [tile(1, "zeroblob(32)")])).toMatchObject({ what: "LOG" });
    expect(
      await auditTampered(register, ["DELETE FROM log_tiles WHERE epoch = 1 AND level = 0 AND position = 1"]),
    ).toMatchObject({ what: "LOG", index: 256 });
  });

  test("what is no checkpoint or no key at all is named, also without the checkpoint outside", async () => {
    const wrong = "UPDATE log_checkpoints SET note = 'x' WHERE epoch = 2 AND size = 41";
    expect(await auditTampered(register, [wrong], { head: null })).toMatchObject({
      what: "CHECKPOINT",
      found: 1,
    });
    const large = "UPDATE log_epochs SET public_key = zeroblob(200000) WHERE epoch = 1";
    expect(await auditTampered(register, [large])).toMatchObject({ what: "CHECKPOINT" });
  });

  test("a changed size is named", async () => {
    for (const size of [40, 42]) {
      const found = await auditTampered(register, [`UPDATE log_epochs SET size = ${size} WHERE epoch = 2`]);
      const says = `epoch 2 is said to have ${size} leaves, and 41 are kept`;
      expect(found).toMatchObject({ what: "LOG", says, found: 1 });
    }
  });

  test("a checkpoint that was changed, forged, removed or moved is named", async () => {
    const at = (size: number) => `WHERE epoch = 1 AND size = ${size}`;
    const other = `(SELECT note FROM log_checkpoints ${at(80)})`;
    expect(
      await auditTampered(register, [`UPDATE log_checkpoints SET signed_at = signed_at + 1000 ${at(60)}`]),
    ).toMatchObject({ what: "CHECKPOINT", index: 60, found: 1 });
    expect(
      await auditTampered(register, [`UPDATE log_checkpoints SET note = ${other} ${at(60)}`]),
    ).toMatchObject({
      what: "CHECKPOINT",
      index: 60,
    });
    expect(
      await auditTampered(register, [
        `UPDATE log_checkpoints SET note = replace(note, char(10) || '60' || char(10), char(10) || '61' || char(10)) ${at(60)}`,
      ]),
    ).toMatchObject({ what: "CHECKPOINT", index: 60 });
    const anchor = (epoch: number, size: number) =>
      `INSERT INTO log_anchors (epoch, size, kind, place, anchored_at) VALUES (${epoch}, ${size}, 'folder', 'x', 1)`;
    for (const [epoch, size] of [
      [1, 60],
      [2, 41],
    ] as const) {
      const statements = [
        anchor(epoch, size),
        `DELETE FROM log_checkpoints WHERE epoch = ${epoch} AND size = ${size}`,
      ];
      expect(await auditTampered(register, statements)).toMatchObject({
        what: "CHECKPOINT",
        index: size,
      });
    }
  });

  test("a checkpoint that a process kept outside and died before it was committed is not called removed", async () => {
    const died = ["DELETE FROM log_checkpoints WHERE epoch = 2 AND size = 41"];
    expect(await auditTampered(register, died)).toMatchObject({ found: 0, headStored: false });
    expect(await auditTampered(register, [])).toMatchObject({ found: 0, headStored: true });
    const changed = ["UPDATE attestations SET jws = jws || 'A' WHERE id = 340"];
    expect(await auditTampered(register, [...died, ...changed])).toMatchObject({
      what: "ATTESTATION",
      id: 340,
    });
  });

  test("an epoch whose link, place, name or key was changed is named", async () => {
    const earlier = "(SELECT note FROM log_checkpoints WHERE epoch = 1 AND size = 280)";
    for (const change of [
      `previous = ${earlier}`,
      "first_id = 300",
      "origin = 'another.example/log/2'",
      "public_key = randomblob(32)",
      "sealed = NULL",
    ]) {
      const found = await auditTampered(register, [`UPDATE log_epochs SET ${change} WHERE epoch = 2`], {
        head: null,
      });
      expect([change, found.kinds.includes("LOG")]).toEqual([change, true]);
    }
  });

  test("checkpoints that were taken out are missed by the one behind them, in whatever epoch", async () => {
    const others = "WHERE NOT (epoch = 2 AND size = 41)";
    const found = { what: "CHECKPOINT", says: expect.stringContaining("was removed or changed") } as const;
    expect(await auditTampered(register, [`DELETE FROM log_checkpoints ${others}`])).toMatchObject({
      ...found,
      found: 1,
    });
    for (const [epoch, size, missedAt] of [
      [1, 20, 40],
      [1, 140, 160],
      [1, 300, 21],
      [2, 21, 41],
    ] as const) {
      const one = `DELETE FROM log_checkpoints WHERE epoch = ${epoch} AND size = ${size}`;
      expect(await auditTampered(register, [one])).toMatchObject({ ...found, index: missedAt, found: 1 });
    }
    // Of all that were chained, the one beside the master key is left.
    expect(await auditTampered(register, ["DELETE FROM log_checkpoints"])).toMatchObject({
      ...found,
      found: 1,
    });
  });

  test("the end of a closed epoch cannot be taken off as if it had been lost", async () => {
    const uncovered = "DELETE FROM log_checkpoints WHERE epoch = 1 AND size = 300";
    const statements = [
      "DELETE FROM attestations WHERE id BETWEEN 281 AND 300",
      ...renumber(301, -20),
      "UPDATE log_tiles SET hashes = substr(hashes, 1, 24 * 32) WHERE epoch = 1 AND level = 0 AND position = 1",
      "UPDATE log_epochs SET size = 280 WHERE epoch = 1",
      "UPDATE log_epochs SET first_id = 281 WHERE epoch = 2",
    ];
    expect(await auditTampered(register, [...statements, uncovered])).toMatchObject({
      what: "CHECKPOINT",
      index: 21,
      found: 1,
      epochs: [{ lost: 20 }, {}],
    });
    // The database never had that checkpoint without its leaves.
    expect(await auditTampered(register, statements)).toMatchObject({
      what: "ATTESTATION",
      id: 281,
      index: 280,
      found: 1,
    });
  });

  test("a log without its checkpoints, inside and outside, is not called whole", async () => {
    const statements = ["DELETE FROM log_checkpoints", "DELETE FROM log_epochs WHERE epoch = 2"];
    expect(await auditTampered(register, statements, { head: null })).toMatchObject({ headKnown: false });
  });
});
