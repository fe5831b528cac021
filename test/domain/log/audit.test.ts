import { beforeAll, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import type { AuditResult } from "../../../src/domain/log/audit.ts";
import { prefixOf } from "../../../src/domain/log/log.ts";
import { leafHash } from "../../../src/domain/log/tree.ts";
import type { SqlStatement } from "../../../src/store/driver/driver.ts";
import { openEmbedded } from "../../../src/store/driver/embedded.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { anAttestation } from "../../harness/samples.ts";
import {
  type Audited,
  type AuditedRegister,
  aSignedAttestation,
  auditFile,
  goOn,
  makeRegister,
  tamper,
} from "./audited-register.ts";

const folder = sharedFolder();
let register: AuditedRegister;
let copies = 0;

beforeAll(async () => {
  register = await makeRegister(folder);
});

type Tampered = Partial<Audited> & { readonly from?: string };

/** Audits a copy that was changed by hand. @returns the first finding in short, and how many there are */
async function auditTampered(
  statements: readonly (string | SqlStatement)[],
  { from = register.file, head = register.head, ...options }: Tampered = {},
) {
  const file = join(folder, `tampered-${++copies}.db`);
  await tamper(from, file, statements);
  return inShort(await auditFile({ file, head, ...options }));
}

function inShort({ findings: [first], ...others }: AuditResult) {
  const { what, id, index, verificationId, says } = first ?? {};
  return { what, id, index, verificationId, says, ...others };
}

/** Audits a copy in which something was written by hand before the next checkpoint was signed. */
async function auditLogged(statements: readonly (string | SqlStatement)[], options: { all?: boolean } = {}) {
  const file = join(folder, `logged-${++copies}.db`);
  await tamper(register.file, file, statements);
  const head = await goOn(file, register.head);
  return inShort(await auditFile({ ...options, file, head }));
}

const idOf = (n: number) =>
  anAttestation(n, { issuedAt: Math.floor(Date.parse("2026-05-01T09:00:00Z") / 1000) + n }).verificationId;
const swapIds = (one: number, other: number) => [
  `UPDATE attestations SET id = -1 WHERE id = ${one}`,
  `UPDATE attestations SET id = ${one} WHERE id = ${other}`,
  `UPDATE attestations SET id = ${other} WHERE id = -1`,
];
const renumber = (from: number, by: number) => [
  `UPDATE attestations SET id = -id WHERE id >= ${from}`,
  `UPDATE attestations SET id = -id + ${by} WHERE id < 0`,
];
/** A row of which everything is as in another, but the signature and what must differ. */
const insertAs = (id: number, jws: string, verificationId = idOf(9_000)): SqlStatement => ({
  sql: `INSERT INTO attestations SELECT ?1, ?2, partner_id, issued_at, kid, endpoint, purpose, policy_version, teacher_id,
    reference, nin_index, status, eligible, context, credential, request_id, ?3 FROM attestations WHERE id = 2`,
  args: [id, verificationId, jws],
});
const forgedJws = (n = 9_000) => {
  const { jws } = aSignedAttestation(n, register.signer);
  return `${jws.slice(0, jws.lastIndexOf("."))}.${Buffer.alloc(256, 7).toString("base64url")}`;
};

describe("a register that is whole", () => {
  test("is found whole, with every signature", async () => {
    expect(await auditFile({ file: register.file, head: register.head, all: true })).toMatchObject({
      found: 0,
      findings: [],
      headKnown: true,
      waiting: 0,
      epochs: [
        { epoch: 1, size: 300, compared: 300, verified: 300, pruned: 0, checkpoints: 15, lost: 0 },
        { epoch: 2, size: 41, compared: 40, pruned: 0, checkpoints: 2, lost: 0 },
      ],
    });
  });

  test("is not known to be the newest without the checkpoint outside", async () => {
    expect(await auditFile({ file: register.file, head: null })).toMatchObject({
      found: 0,
      headKnown: false,
    });
  });

  test("stays whole when retention deletes what is old", async () => {
    const statements = [
      "DELETE FROM attestations WHERE id <= 70",
      "UPDATE attestation_upkeep SET kept_from = (SELECT issued_at FROM attestations WHERE id = 71), pruned = 70",
    ];
    const now = Date.parse("2027-06-01T00:00:00Z");
    expect(await auditTampered(statements, { now })).toMatchObject({
      found: 0,
      epochs: [{ pruned: 70 }, {}],
    });
    // Within ninety days nothing is ever old enough.
    expect(await auditTampered(statements)).toMatchObject({ what: "REMOVED", id: 1, index: 0, found: 70 });
    const oneMore = ["DELETE FROM attestations WHERE id = 71"];
    expect(await auditTampered([...statements, ...oneMore], { now })).toMatchObject({
      what: "REMOVED",
      id: 71,
      found: 1,
    });
  });

  test("may have attestations that are not logged yet", async () => {
    const own = aSignedAttestation(9_000, register.signer);
    const statements = [
      insertAs(341, own.jws),
      `UPDATE attestations SET issued_at = issued_at + 8998 WHERE id = 341`,
    ];
    expect(await auditTampered(statements)).toMatchObject({ found: 0, waiting: 1 });
  });
});

describe("attestations that were tampered with", () => {
  test("a changed signature is named", async () => {
    const statements = [
      "UPDATE attestations SET jws = substr(jws, 1, length(jws) - 4) || 'AAAA' WHERE id = 123",
    ];
    expect(await auditTampered(statements)).toMatchObject({
      what: "CHANGED",
      id: 123,
      index: 122,
      verificationId: idOf(123),
      found: 1,
    });
  });

  test("a row whose own columns contradict what was signed is named", async () => {
    for (const [column, value] of [
      ["status", "'EXPIRED'"],
      ["eligible", "0"],
      ["partner_id", "'another'"],
      ["issued_at", "issued_at - 60"],
      ["kid", "'B'"],
      ["verification_id", `'${idOf(9_001)}'`],
    ]) {
      const found = await auditTampered([`UPDATE attestations SET ${column} = ${value} WHERE id = 305`]);
      expect(found).toMatchObject({ what: "COLUMNS_CHANGED", id: 305, index: 5, found: 1 });
      expect(found.says).toContain(column ?? "");
    }
  });

  test("the first, one in the middle and the last that are removed are named", async () => {
    for (const [id, index] of [
      [1, 0],
      [150, 149],
      [300, 299],
      [340, 40],
    ] as const)
      expect(await auditTampered([`DELETE FROM attestations WHERE id = ${id}`])).toMatchObject({
        what: "REMOVED",
        id,
        index,
        found: 1,
      });
  });

  test("one that is removed is named though those behind it were moved up", async () => {
    const statements = ["DELETE FROM attestations WHERE id = 150", ...renumber(151, -1)];
    expect(await auditTampered(statements)).toMatchObject({
      what: "REMOVED",
      id: 150,
      index: 149,
      verificationId: null,
    });
  });

  test("one that is inserted in the middle is named", async () => {
    const statements = [...renumber(150, 1), insertAs(150, forgedJws())];
    expect(await auditTampered(statements)).toMatchObject({
      what: "INSERTED",
      id: 150,
      index: 149,
      verificationId: idOf(9_000),
    });
  });

  test("one that is inserted before the log, behind it or far behind it is named", async () => {
    expect(await auditTampered([insertAs(0, forgedJws())])).toMatchObject({ what: "INSERTED", id: 0 });
    expect(await auditTampered([insertAs(341, forgedJws())])).toMatchObject({
      what: "INSERTED",
      id: 341,
      index: 41,
    });
    expect(await auditTampered([insertAs(999, forgedJws())])).toMatchObject({ what: "INSERTED", id: 999 });
  });

  test("two that were swapped are named by the first, near or far", async () => {
    expect(await auditTampered(swapIds(10, 11))).toMatchObject({
      what: "SWAPPED",
      id: 10,
      index: 9,
      verificationId: idOf(11),
      found: 1,
    });
    expect(await auditTampered(swapIds(10, 290))).toMatchObject({
      what: "SWAPPED",
      id: 10,
      index: 9,
      found: 1,
    });
  });

  test("the first of several is named", async () => {
    const change = (id: number) => `UPDATE attestations SET jws = jws || 'A' WHERE id = ${id}`;
    expect(await auditTampered([change(200), change(40), change(320)])).toMatchObject({
      what: "CHANGED",
      id: 40,
    });
  });

  test("what was changed together with its hash and its place is narrowed down to what one checkpoint covers", async () => {
    const driver = await openEmbedded({ file: register.file });
    const [row] = await driver.query("SELECT jws FROM attestations WHERE id = 123").finally(driver.close);
    const jws = `${String(row?.jws).slice(0, -4)}AAAA`;
    const hash = leafHash(jws);
    const statements: SqlStatement[] = [
      { sql: "UPDATE attestations SET jws = ? WHERE id = 123", args: [jws] },
      { sql: "UPDATE log_positions SET prefix = ? WHERE id = 123", args: [prefixOf(hash)] },
      {
        sql: `UPDATE log_tiles SET hashes = CAST(substr(hashes, 1, 32 * 122) || ? || substr(hashes, 32 * 123 + 1) AS BLOB)
          WHERE epoch = 1 AND level = 0 AND position = 0`,
        args: [hash],
      },
    ];
    expect(await auditTampered(statements)).toMatchObject({
      what: "REWRITTEN",
      id: 121,
      index: 120,
      found: 1,
      says: "leaves 120 to 139 are not what was signed for at 140",
    });
  });

  test("one that was appended by hand out of time is named though the log has it, and any other by its signature", async () => {
    const found = { what: "INSERTED", id: 341, found: 1 } as const;
    const early = [
      insertAs(341, forgedJws(0), idOf(0)),
      "UPDATE attestations SET issued_at = issued_at - 2 WHERE id = 341",
    ];
    expect(await auditLogged(early)).toMatchObject(found);
    const nobody = aSignedAttestation(9_000, { ...register.signer, kid: "nobody" }).jws;
    const inTime = "UPDATE attestations SET issued_at = issued_at + 8998 WHERE id = 341";
    const asNobody = "UPDATE attestations SET kid = 'nobody' WHERE id = 341";
    expect(await auditLogged([insertAs(341, nobody), inTime, asNobody], { all: true })).toMatchObject(found);
    // Of one that fits in every respect only its signature tells.
    const fitting = [insertAs(341, forgedJws()), inTime];
    expect(await auditLogged(fitting)).toMatchObject({
      found: 0,
      epochs: [{}, { compared: 41, verified: 0 }],
    });
    expect(await auditLogged(fitting, { all: true })).toMatchObject(found);
    const own = [insertAs(341, aSignedAttestation(9_000, register.signer).jws), inTime];
    expect(await auditLogged(own, { all: true })).toMatchObject({ found: 0 });
  });

  test("what was changed where the log has lost its hash is named", async () => {
    const statements = [
      "UPDATE attestations SET jws = jws || 'A' WHERE id = 123",
      "UPDATE log_tiles SET hashes = (SELECT hashes FROM log_tiles WHERE epoch = 2) WHERE epoch = 1 AND level = 0 AND position = 1",
    ];
    expect(await auditTampered(statements)).toMatchObject({ what: "CHANGED", id: 123 });
  });
});

describe("a database that was put back", () => {
  test("is found by the checkpoint outside of it", async () => {
    const { earlier, closing, head } = register;
    expect(await auditTampered([], { from: earlier, head: closing })).toMatchObject({
      what: "ROLLED_BACK",
      id: 161,
      index: 160,
      found: 1,
    });
    expect(await auditTampered([], { from: earlier, head })).toMatchObject({ what: "ROLLED_BACK", found: 1 });
  });

  test("is found when its end was cut off, by the checkpoints that were left", async () => {
    const statements = [
      "DELETE FROM attestations WHERE id > 330",
      "UPDATE log_epochs SET size = 31 WHERE epoch = 2",
      "UPDATE log_tiles SET hashes = substr(hashes, 1, 31 * 32) WHERE epoch = 2",
      "DELETE FROM log_positions WHERE id > 330",
    ];
    expect(await auditTampered(statements, { head: null })).toMatchObject({
      what: "REMOVED",
      id: 331,
      index: 31,
      found: 1,
    });
    expect(await auditTampered(statements)).toMatchObject({ what: "ROLLED_BACK", id: 331, index: 31 });
  });
});

describe("what is kept beside the attestations", () => {
  const tile = (level: number, hashes: string) =>
    `UPDATE log_tiles SET hashes = CAST(${hashes} AS BLOB) WHERE epoch = 1 AND level = ${level} AND position = 0`;

  test("a changed hash is told from a changed attestation", async () => {
    const changed = "substr(hashes, 1, 32 * 122) || zeroblob(32) || substr(hashes, 32 * 123 + 1)";
    expect(await auditTampered([tile(0, changed)])).toMatchObject({
      what: "TILES_CHANGED",
      index: 122,
      id: null,
    });
    expect(await auditTampered([tile(1, "zeroblob(32)")])).toMatchObject({ what: "TILES_CHANGED" });
    expect(
      await auditTampered(["DELETE FROM log_tiles WHERE epoch = 1 AND level = 0 AND position = 1"]),
    ).toMatchObject({ what: "TILES_CHANGED", index: 256 });
  });

  test("a changed index and a changed size are named", async () => {
    expect(await auditTampered(["DELETE FROM log_positions WHERE id = 55"])).toMatchObject({
      what: "POSITIONS_CHANGED",
      id: 55,
      found: 1,
    });
    expect(await auditTampered(["UPDATE log_positions SET prefix = prefix + 1 WHERE id = 55"])).toMatchObject(
      { what: "POSITIONS_CHANGED", id: 55 },
    );
    for (const size of [40, 42]) {
      const found = await auditTampered([`UPDATE log_epochs SET size = ${size} WHERE epoch = 2`]);
      expect(found).toMatchObject({ what: "SIZE_CHANGED", index: 41, found: 1 });
    }
  });

  test("a checkpoint that was changed, forged, removed or moved is named", async () => {
    const at = (size: number) => `WHERE epoch = 1 AND size = ${size}`;
    const other = `(SELECT note FROM log_checkpoints ${at(80)})`;
    expect(
      await auditTampered([`UPDATE log_checkpoints SET signed_at = signed_at + 1000 ${at(60)}`]),
    ).toMatchObject({ what: "CHECKPOINT_CHANGED", index: 60, found: 1 });
    expect(await auditTampered([`UPDATE log_checkpoints SET note = ${other} ${at(60)}`])).toMatchObject({
      what: "CHECKPOINT_CHANGED",
      index: 60,
      found: 1,
    });
    expect(
      await auditTampered([
        `UPDATE log_checkpoints SET note = replace(note, char(10) || '60' || char(10), char(10) || '61' || char(10)) ${at(60)}`,
      ]),
    ).toMatchObject({ what: "CHECKPOINT_FORGED", index: 60, found: 1 });
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
      expect(await auditTampered(statements)).toMatchObject({
        what: "CHECKPOINT_REMOVED",
        index: size,
        found: 1,
      });
    }
  });

  test("a checkpoint that a process kept outside and died before it was committed is not called removed", async () => {
    const died = ["DELETE FROM log_checkpoints WHERE epoch = 2 AND size = 41"];
    expect(await auditTampered(died)).toMatchObject({ found: 0, headStored: false });
    expect(await auditTampered([])).toMatchObject({ found: 0, headStored: true });
    const changed = ["UPDATE attestations SET jws = jws || 'A' WHERE id = 340"];
    expect(await auditTampered([...died, ...changed])).toMatchObject({ what: "CHANGED", id: 340 });
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
      const found = await auditTampered([`UPDATE log_epochs SET ${change} WHERE epoch = 2`], { head: null });
      expect([change, found.what]).toEqual([change, "EPOCH_CHANGED"]);
    }
  });
});
