import { beforeAll, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { sealMark } from "../../../src/domain/evidence/retention-mark.ts";
import { leafHash } from "../../../src/domain/evidence/tree.ts";
import type { Statement } from "../../../src/store/driver/driver.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { anAttestation, secrets } from "../../harness/samples.ts";
import {
  type Audited,
  type AuditedRegister,
  aSignedAttestation,
  auditFile,
  auditTampered,
  goOn,
  inShort,
  insertLike2,
  makeRegister,
  prune,
  query,
  renumber,
  tamper,
} from "./audited-register.ts";

const folder = sharedFolder();
let register: AuditedRegister;
let copies = 0;

beforeAll(async () => {
  register = await makeRegister(folder);
});

type Written = readonly (string | Statement)[];
type Among = Partial<Audited> & { readonly from?: string };
/** What was written by hand, and what the audit says of it. */
type Case = readonly [
  what: string,
  written: Written | (() => Written | Promise<Written>),
  found: object,
  audited?: () => Among,
];

function finds(cases: readonly Case[]): void {
  for (const [what, written, found, audited = (): Among => ({})] of cases)
    test(what, async () => {
      const statements = typeof written === "function" ? await written() : written;
      expect(await auditTampered(register, statements, audited())).toMatchObject(found);
    });
}

const whole = { found: 0 };
const attestation = (id: number, index: number, more: object = {}) => ({
  ...{ what: "ATTESTATION", id, index, found: 1 },
  ...more,
});
const checkpoint = (index: number, more: object = {}) => ({ what: "CHECKPOINT", index, ...more });
const set = (change: string, id: number) => `UPDATE attestations SET ${change} WHERE id = ${id}`;
const gone = (which: string) => `DELETE FROM attestations WHERE ${which}`;
const late = Date.parse("2026-08-01T00:00:00Z");
const withoutHead = () => ({ head: null });

const idOf = (n: number) =>
  anAttestation(n, { issuedAt: Math.floor(Date.parse("2026-05-01T09:00:00Z") / 1000) + n }).verificationId;
const swapIds = (one: number, other: number) => [
  set("id = -1", one),
  set(`id = ${one}`, other),
  set(`id = ${other}`, -1),
];
const insertAs = (id: number, jws: string, verificationId = idOf(9_000)) =>
  insertLike2({ id, jws, verificationId });
const inTime = set("issued_at = issued_at + 8998", 341);
const forgedJws = (n = 9_000) => {
  const { jws } = aSignedAttestation(n, register.signer);
  return `${jws.slice(0, jws.lastIndexOf("."))}.${Buffer.alloc(256, 7).toString("base64url")}`;
};

describe("a register that is whole", () => {
  test("is found whole, with every signature", async () => {
    expect(await auditFile({ file: register.file, head: register.head, all: true })).toMatchObject({
      ...{ found: 0, findings: [], headKnown: true, headStored: true, waiting: 0 },
      epochs: [
        { epoch: 1, size: 300, compared: 300, verified: 300, pruned: 0, checkpoints: 15, lost: 0 },
        { epoch: 2, size: 41, compared: 40, pruned: 0, checkpoints: 2, lost: 0 },
      ],
    });
  });

  test("stays whole when retention deletes what is old, and nothing behind that", async () => {
    const file = join(folder, "pruned.db");
    await tamper(register.file, file, []);
    expect(await prune({ file, head: register.head }, 70)).toEqual({ deleted: 70, held: [] });
    const pruned = { found: 0, epochs: [{ pruned: 70, compared: 230 }, {}] };
    expect(await auditFile({ file, head: register.head, now: late })).toMatchObject(pruned);
    const more = await auditTampered(register, [gone("id = 71")], { from: file, now: late });
    expect(more).toMatchObject(attestation(71, 70));
  });

  finds([
    ["is not known to be the newest without the checkpoint outside", [], { headKnown: false }, withoutHead],
    [
      "may have attestations that are not logged yet",
      () => [insertAs(341, aSignedAttestation(9_000, register.signer).jws), inTime],
      { ...whole, waiting: 1 },
    ],
  ]);
});

describe("what retention has not deleted", () => {
  const removed = [gone("id <= 70")];
  const longAgo = "UPDATE attestation_upkeep SET kept_from = 1767225600, pruned = 70";
  const first = { what: "ATTESTATION", id: 1, index: 0, says: "attestation 1 was removed" };
  const muchLater = () => ({ now: Date.parse("2027-06-01T00:00:00Z") });
  const markAs = (mark: string) => [...removed, longAgo, `UPDATE attestation_upkeep SET mark = ${mark}`];
  /** A mark of ours that covers all of them. */
  const marked = {
    sql: "UPDATE attestation_upkeep SET mark = ?",
    args: [
      sealMark(
        { begun: 1, through: 340, from: Date.parse("2026-04-01T00:00:00Z") / 1000, unsealedFrom: null },
        secrets,
      ),
    ],
  };
  const young = (which: string, id: number, found: number): Case => [
    `is named though the mark would cover it, where a signed time shows that it was younger: ${which}`,
    [marked, gone(which)],
    { what: "ATTESTATION", id, found },
  ];

  finds([
    ["is named whatever the database says of it", [...removed, longAgo], { ...first, found: 70 }],
    ["also when all of it is old", [...removed, longAgo], { ...first, found: 70 }, muchLater],
    ["and where somebody has taken the mark out", markAs("NULL"), { ...first, found: 71 }, muchLater],
    [
      "or has made one up",
      markAs(`replace(mark, '"through":0', '"through":70')`),
      { ...first, found: 71 },
      muchLater,
    ],
    young("id BETWEEN 30 AND 219", 30, 190),
    // An attestation shows it before the first checkpoint, or where none was chained.
    ...[301, 5].map((id) => young(`id = ${id}`, id, 1)),
  ]);
});

describe("attestations that were tampered with", () => {
  const broken = "UPDATE log_tiles SET hashes = (SELECT hashes FROM log_tiles WHERE epoch = 2)";
  const columns = { status: "'EXPIRED'", eligible: "0", partner_id: "'another'", kid: "'B'" };
  const others = { issued_at: "issued_at - 60", verification_id: `'${idOf(9_001)}'` };
  const places = { 1: 0, 150: 149, 300: 299, 340: 40 };
  const appended = "attestation 341 was removed before it was logged, or those behind it were inserted";

  // biome-ignore format: a table reads better in rows
  finds([
    ["a changed signature is named", [set("jws = substr(jws, 1, length(jws) - 4) || 'AAAA'", 123)],
      attestation(123, 122, { verificationId: idOf(123) })],
    ...Object.entries({ ...columns, ...others }).map(([column, value]): Case => {
      const found = attestation(305, 5, { says: expect.stringContaining(column) });
      return [
        `a ${column} that contradicts what was signed is named`,
        [set(`${column} = ${value}`, 305)],
        found,
      ];
    }),
    ...["verification_id", "jws"].map((column): Case => {
      const spoilt = set(`${column} = CAST(x'ff41' AS TEXT)`, 305);
      return [`a ${column} that is no text at all is named`, [spoilt], attestation(305, 5)];
    }),
    ...Object.entries(places).map(([id, index]): Case => {
      return [`${id} that is removed is named`, [gone(`id = ${id}`)], attestation(Number(id), index)];
    }),
    ["one that is removed is named though those behind it were moved up",
      [gone("id = 150"), ...renumber(151, -1)],
      { what: "ATTESTATION", id: 150, index: 149, verificationId: idOf(151) }],
    ["one that is inserted in the middle is named", () => [...renumber(150, 1), insertAs(150, forgedJws())],
      { what: "ATTESTATION", id: 150, index: 149, verificationId: idOf(9_000) }],
    ["one that is inserted before the log", () => [insertAs(0, forgedJws())], { what: "ATTESTATION", id: 0 }],
    ["one that is inserted behind it", () => [insertAs(341, forgedJws())], attestation(341, 41)],
    ["one that is inserted far behind it", () => [insertAs(999, forgedJws())], { id: 341, says: appended }],
    ...[11, 290].map((other): Case => {
      const found = attestation(10, 9, { verificationId: idOf(other), found: 2 });
      return [`10 and ${other} that were swapped are named`, swapIds(10, other), found];
    }),
    ["the first of several is named", [200, 40, 320].map((id) => set("jws = jws || 'A'", id)),
      { what: "ATTESTATION", id: 40 }],
    [
      "what was changed together with its hash is narrowed down to what one checkpoint covers",
      async () => {
        const [row] = await query(register.file, "SELECT jws FROM attestations WHERE id = 123");
        const jws = `${String(row?.jws).slice(0, -4)}AAAA`;
        const sql = `UPDATE log_tiles SET hashes = CAST(substr(hashes, 1, 32 * 122) || ? || substr(hashes, 32 * 123 + 1) AS BLOB)
          WHERE epoch = 1 AND level = 0 AND position = 0`;
        const changed = { sql: "UPDATE attestations SET jws = ? WHERE id = 123", args: [jws] };
        return [changed, { sql, args: [leafHash(jws)] }];
      },
      checkpoint(140, {
        says: "the checkpoint at 140 of epoch 1 was signed for other leaves than 120 to 139",
      }),
    ],
    ["what was changed where the log has lost its hash is named",
      [set("jws = jws || 'A'", 123), `${broken} WHERE epoch = 1 AND level = 0 AND position = 1`],
      { what: "ATTESTATION", id: 123 }],
  ]);

  test("one that was appended by hand out of time is named though the log has it, and any other by its signature", async () => {
    /** Audits a copy in which something was written by hand before the next checkpoint was signed. */
    async function auditLogged(statements: Written, all = false) {
      const file = join(folder, `logged-${++copies}.db`);
      await tamper(register.file, file, statements);
      const head = await goOn(file, register.head);
      return inShort(await auditFile({ all, file, head }));
    }
    const found = { what: "ATTESTATION", id: 341, found: 1 } as const;
    const early = [insertAs(341, forgedJws(0), idOf(0)), set("issued_at = issued_at - 2", 341)];
    expect(await auditLogged(early)).toMatchObject(found);
    const nobody = aSignedAttestation(9_000, { ...register.signer, kid: "nobody" }).jws;
    const asNobody = [insertAs(341, nobody), inTime, set("kid = 'nobody'", 341)];
    expect(await auditLogged(asNobody, true)).toMatchObject(found);
    // Of one that fits in every respect only its signature tells.
    const fitting = [insertAs(341, forgedJws()), inTime];
    const unseen = { found: 0, epochs: [{}, { compared: 41, verified: 0 }] };
    expect(await auditLogged(fitting)).toMatchObject(unseen);
    expect(await auditLogged(fitting, true)).toMatchObject(found);
    const own = [insertAs(341, aSignedAttestation(9_000, register.signer).jws), inTime];
    expect(await auditLogged(own, true)).toMatchObject({ found: 0 });
  });
});

describe("a database that was put back", () => {
  const cutOff = [
    gone("id > 330"),
    "UPDATE log_epochs SET size = 31 WHERE epoch = 2",
    "UPDATE log_tiles SET hashes = substr(hashes, 1, 31 * 32) WHERE epoch = 2",
    "DELETE FROM log_positions WHERE id > 330",
  ];
  const earlier = () => ({ from: register.earlier });

  // biome-ignore format: a table reads better in rows
  finds([
    ["is found by the checkpoint outside of it", [], { what: "BEHIND", id: 161, index: 160, found: 1 },
      () => ({ ...earlier(), head: register.closing })],
    ["also by one of a later epoch", [], { what: "BEHIND", found: 1 }, earlier],
    ["is found when its end was cut off, by the checkpoints that were left", cutOff, attestation(331, 31),
      withoutHead],
    ["and by the one outside", cutOff, { what: "BEHIND", id: 331, index: 31 }],
  ]);
});

describe("what is kept beside the attestations", () => {
  const tile = (level: number, hashes: string) =>
    `UPDATE log_tiles SET hashes = CAST(${hashes} AS BLOB) WHERE epoch = 1 AND level = ${level} AND position = 0`;
  const oneZero = "substr(hashes, 1, 32 * 122) || zeroblob(32) || substr(hashes, 32 * 123 + 1)";
  const at = (epoch: number, size: number) => `WHERE epoch = ${epoch} AND size = ${size}`;
  const change60 = (change: string) => [`UPDATE log_checkpoints SET ${change} ${at(1, 60)}`];
  const without = (epoch: number, size: number) => `DELETE FROM log_checkpoints ${at(epoch, size)}`;
  const epoch = (number: number, change: string) => [
    `UPDATE log_epochs SET ${change} WHERE epoch = ${number}`,
  ];
  const earlierNote = `(SELECT note FROM log_checkpoints ${at(1, 280)})`;
  const missed = { what: "CHECKPOINT", says: expect.stringContaining("was removed or changed"), found: 1 };
  const died = [without(2, 41)];
  const takenOff = [
    gone("id BETWEEN 281 AND 300"),
    ...renumber(301, -20),
    "UPDATE log_tiles SET hashes = substr(hashes, 1, 24 * 32) WHERE epoch = 1 AND level = 0 AND position = 1",
    ...epoch(1, "size = 280"),
    ...epoch(2, "first_id = 281"),
  ];

  finds([
    [
      "a changed hash is told from a changed attestation by the checkpoint that does not fit it",
      [tile(0, oneZero)],
      { what: "ATTESTATION", id: 123, index: 122, kinds: ["ATTESTATION", "CHECKPOINT", "LOG"] },
    ],
    ["a changed tile above the leaves is named", [tile(1, "zeroblob(32)")], { what: "LOG" }],
    [
      "a tile that is gone is named",
      ["DELETE FROM log_tiles WHERE epoch = 1 AND level = 0 AND position = 1"],
      { what: "LOG", index: 256 },
    ],
    [
      "what is no checkpoint is named, also without the one outside",
      [`UPDATE log_checkpoints SET note = 'x' ${at(2, 41)}`],
      { what: "CHECKPOINT", found: 1 },
      withoutHead,
    ],
    ["what is no key at all is named", epoch(1, "public_key = zeroblob(200000)"), { what: "CHECKPOINT" }],
    ...[40, 42].map((size): Case => {
      const says = `epoch 2 is said to have ${size} leaves, and 41 are kept`;
      return [
        `a changed size is named: ${size}`,
        epoch(2, `size = ${size}`),
        { what: "LOG", says, found: 1 },
      ];
    }),
    ["a moved checkpoint is named", change60("signed_at = signed_at + 1000"), checkpoint(60, { found: 1 })],
    [
      "a checkpoint in the place of another is named",
      change60(`note = (SELECT note FROM log_checkpoints ${at(1, 80)})`),
      checkpoint(60),
    ],
    [
      "a forged checkpoint is named",
      change60("note = replace(note, char(10) || '60' || char(10), char(10) || '61' || char(10))"),
      checkpoint(60),
    ],
    ...Object.entries({ 1: 60, 2: 41 }).map(([number, size]): Case => {
      const anchor = `INSERT INTO log_anchors (epoch, size, kind, place, anchored_at) VALUES (${number}, ${size}, 'folder', 'x', 1)`;
      const what = `a checkpoint that was anchored and then removed is named: of epoch ${number}`;
      return [what, [anchor, without(Number(number), size)], checkpoint(size)];
    }),
    [
      "a checkpoint that a process kept outside and died before it was committed is not called removed",
      died,
      { ...whole, headStored: false },
    ],
    ...[
      `previous = ${earlierNote}`,
      "first_id = 300",
      "origin = 'another.example/log/2'",
      "public_key = randomblob(32)",
      "sealed = NULL",
    ].map((change): Case => {
      const found = { kinds: expect.arrayContaining(["LOG"]) };
      return [`an epoch with ${change} is named`, epoch(2, change), found, withoutHead];
    }),
    ...["1 20 40", "1 140 160", "1 300 21", "2 21 41"].map((places): Case => {
      const [number = 0, size = 0, index] = places.split(" ").map(Number);
      const what = `a checkpoint that was taken out is missed by the one behind it: ${size} of epoch ${number}`;
      return [what, [without(number, size)], { ...missed, index }];
    }),
    [
      "all but the newest that were taken out are missed by that",
      ["DELETE FROM log_checkpoints WHERE NOT (epoch = 2 AND size = 41)"],
      missed,
    ],
    ["all of them are missed by the one beside the master key", ["DELETE FROM log_checkpoints"], missed],
    [
      "the end of a closed epoch cannot be taken off as if it had been lost",
      [...takenOff, without(1, 300)],
      checkpoint(21, { found: 1, epochs: [{ lost: 20 }, {}] }),
    ],
    // The database never had that checkpoint without its leaves.
    ["nor where its last checkpoint is left", takenOff, attestation(281, 280)],
    [
      "a log without its checkpoints, inside and outside, is not called whole",
      ["DELETE FROM log_checkpoints", "DELETE FROM log_epochs WHERE epoch = 2"],
      { headKnown: false },
      withoutHead,
    ],
  ]);
});
