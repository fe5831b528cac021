import { beforeAll, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { sealMark } from "../../../src/domain/evidence/retention-mark.ts";
import { leafHash } from "../../../src/domain/evidence/tree.ts";
import type { SqlStatement } from "../../../src/store/driver/driver.ts";
import { openEmbedded } from "../../../src/store/driver/embedded.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { anAttestation, secrets } from "../../harness/samples.ts";
import {
  type AuditedRegister,
  aSignedAttestation,
  auditFile,
  auditTampered,
  goOn,
  inShort,
  makeRegister,
  prune,
  renumber,
  tamper,
} from "./audited-register.ts";

const folder = sharedFolder();
const oldFolder = sharedFolder();
let register: AuditedRegister;
/** As the release before made it. */
let oldRegister: AuditedRegister;
let copies = 0;

beforeAll(async () => {
  register = await makeRegister(folder);
  oldRegister = await makeRegister(oldFolder, { isOld: true });
});

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
    const file = join(folder, "pruned.db");
    await tamper(register.file, file, []);
    expect(await prune({ file, head: register.head }, 70)).toBe(70);
    const now = Date.parse("2026-08-01T00:00:00Z");
    const pruned = { found: 0, epochs: [{ pruned: 70, compared: 230 }, {}] };
    expect(await auditFile({ file, head: register.head, now })).toMatchObject(pruned);
    expect(
      await auditTampered(register, ["DELETE FROM attestations WHERE id = 71"], { from: file, now }),
    ).toMatchObject({ what: "ATTESTATION", id: 71, index: 70, found: 1 });
  });

  test("may have attestations that are not logged yet", async () => {
    const own = aSignedAttestation(9_000, register.signer);
    const statements = [
      insertAs(341, own.jws),
      `UPDATE attestations SET issued_at = issued_at + 8998 WHERE id = 341`,
    ];
    expect(await auditTampered(register, statements)).toMatchObject({ found: 0, waiting: 1 });
  });
});

describe("what retention has not deleted", () => {
  const removed = ["DELETE FROM attestations WHERE id <= 70"];
  const longAgo = "UPDATE attestation_upkeep SET kept_from = 1767225600, pruned = 70";

  test("is named whatever the database says of it", async () => {
    const found = { what: "ATTESTATION", id: 1, index: 0, says: "attestation 1 was removed" } as const;
    const now = Date.parse("2027-06-01T00:00:00Z");
    expect(await auditTampered(register, [...removed, longAgo])).toMatchObject({ ...found, found: 70 });
    // Also when all of it is old, and where somebody has taken the mark out, or made one up.
    expect(await auditTampered(register, [...removed, longAgo], { now })).toMatchObject({
      ...found,
      found: 70,
    });
    for (const mark of ["NULL", `replace(mark, '"through":0', '"through":70')`]) {
      const statements = [...removed, longAgo, `UPDATE attestation_upkeep SET mark = ${mark}`];
      expect(await auditTampered(register, statements, { now })).toMatchObject({ ...found, found: 71 });
    }
  });

  test("is named though the mark would cover it, where a signed time shows that it was younger", async () => {
    const through = { begun: 1, through: 340, from: Date.parse("2026-04-01T00:00:00Z") / 1000 };
    const args = [sealMark({ ...through, unsealedFrom: null }, secrets)];
    const marked = { sql: "UPDATE attestation_upkeep SET mark = ?", args };
    // Or where an attestation does: before the first checkpoint, or where none was chained.
    for (const [from, first, last] of [
      [register, 30, 219],
      [register, 301, 301],
      [register, 5, 5],
      [oldRegister, 150, 150],
    ] as const) {
      const gone = `DELETE FROM attestations WHERE id BETWEEN ${first} AND ${last}`;
      const found = last - first + 1;
      expect(await auditTampered(from, [marked, gone])).toMatchObject({
        what: "ATTESTATION",
        id: first,
        found,
      });
    }
  });

  test("of a register from before there were marks is believed where a signed time shows that it was old", async () => {
    const { file: from, head } = oldRegister;
    expect(await auditFile({ file: from, head })).toMatchObject({
      found: 0,
      epochs: [{ checkpoints: 15 }, {}],
    });
    const late = Date.parse("2026-08-01T00:00:00Z");
    const old = [...removed, "UPDATE attestation_upkeep SET kept_from = 1767225600, pruned = 70"];
    const whole = { found: 0, epochs: [{ pruned: 70, compared: 230 }, {}] };
    expect(await auditTampered(oldRegister, old, { now: late })).toMatchObject(whole);
    const found = { what: "ATTESTATION", id: 1, found: 70 } as const;
    expect(await auditTampered(oldRegister, old)).toMatchObject(found);
    expect(await auditTampered(oldRegister, removed, { now: late })).toMatchObject(found);
  });
});

describe("attestations that were tampered with", () => {
  test("a changed signature is named", async () => {
    const statements = [
      "UPDATE attestations SET jws = substr(jws, 1, length(jws) - 4) || 'AAAA' WHERE id = 123",
    ];
    expect(await auditTampered(register, statements)).toMatchObject({
      what: "ATTESTATION",
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
      const found = await auditTampered(register, [
        `UPDATE attestations SET ${column} = ${value} WHERE id = 305`,
      ]);
      expect(found).toMatchObject({ what: "ATTESTATION", id: 305, index: 5, found: 1 });
      expect(found.says).toContain(column ?? "");
    }
  });

  test("a row that is no text at all is named", async () => {
    for (const column of ["verification_id", "jws"]) {
      const spoilt = `UPDATE attestations SET ${column} = CAST(x'ff41' AS TEXT) WHERE id = 305`;
      expect(await auditTampered(register, [spoilt])).toMatchObject({
        what: "ATTESTATION",
        id: 305,
        found: 1,
      });
    }
  });

  test("the first, one in the middle and the last that are removed are named", async () => {
    for (const [id, index] of [
      [1, 0],
      [150, 149],
      [300, 299],
      [340, 40],
    ] as const)
      expect(await auditTampered(register, [`DELETE FROM attestations WHERE id = ${id}`])).toMatchObject({
        what: "ATTESTATION",
        id,
        index,
        found: 1,
      });
  });

  test("one that is removed is named though those behind it were moved up", async () => {
    const statements = ["DELETE FROM attestations WHERE id = 150", ...renumber(151, -1)];
    expect(await auditTampered(register, statements)).toMatchObject({
      what: "ATTESTATION",
      id: 150,
      index: 149,
      verificationId: idOf(151),
    });
  });

  test("one that is inserted in the middle is named", async () => {
    const statements = [...renumber(150, 1), insertAs(150, forgedJws())];
    expect(await auditTampered(register, statements)).toMatchObject({
      what: "ATTESTATION",
      id: 150,
      index: 149,
      verificationId: idOf(9_000),
    });
  });

  test("one that is inserted before the log, behind it or far behind it is named", async () => {
    expect(await auditTampered(register, [insertAs(0, forgedJws())])).toMatchObject({
      what: "ATTESTATION",
      id: 0,
    });
    expect(await auditTampered(register, [insertAs(341, forgedJws())])).toMatchObject({
      what: "ATTESTATION",
      id: 341,
      index: 41,
    });
    expect(await auditTampered(register, [insertAs(999, forgedJws())])).toMatchObject({
      what: "ATTESTATION",
      id: 341,
      says: "attestation 341 was removed before it was logged, or those behind it were inserted",
    });
  });

  test("two that were swapped are named, near or far", async () => {
    for (const other of [11, 290])
      expect(await auditTampered(register, swapIds(10, other))).toMatchObject({
        what: "ATTESTATION",
        id: 10,
        index: 9,
        verificationId: idOf(other),
        found: 2,
      });
  });

  test("the first of several is named", async () => {
    const change = (id: number) => `UPDATE attestations SET jws = jws || 'A' WHERE id = ${id}`;
    expect(await auditTampered(register, [change(200), change(40), change(320)])).toMatchObject({
      what: "ATTESTATION",
      id: 40,
    });
  });

  test("what was changed together with its hash is narrowed down to what one checkpoint covers", async () => {
    const driver = await openEmbedded({ file: register.file });
    const [row] = await driver.query("SELECT jws FROM attestations WHERE id = 123").finally(driver.close);
    const jws = `${String(row?.jws).slice(0, -4)}AAAA`;
    const hash = leafHash(jws);
    const statements: SqlStatement[] = [
      { sql: "UPDATE attestations SET jws = ? WHERE id = 123", args: [jws] },
      {
        sql: `UPDATE log_tiles SET hashes = CAST(substr(hashes, 1, 32 * 122) || ? || substr(hashes, 32 * 123 + 1) AS BLOB)
          WHERE epoch = 1 AND level = 0 AND position = 0`,
        args: [hash],
      },
    ];
    expect(await auditTampered(register, statements)).toMatchObject({
      what: "CHECKPOINT",
      index: 140,
      says: "the checkpoint at 140 of epoch 1 was signed for other leaves than 120 to 139",
    });
  });

  test("one that was appended by hand out of time is named though the log has it, and any other by its signature", async () => {
    const found = { what: "ATTESTATION", id: 341, found: 1 } as const;
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
    expect(await auditTampered(register, statements)).toMatchObject({ what: "ATTESTATION", id: 123 });
  });
});
