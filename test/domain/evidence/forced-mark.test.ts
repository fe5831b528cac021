import { beforeAll, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { createStores } from "../../../cli/open.ts";
import { createEvidenceBuilder } from "../../../src/domain/evidence/builder.ts";
import { noteBegin, noteEnd } from "../../../src/domain/evidence/retention-mark.ts";
import { openNextEpoch } from "../../../src/domain/evidence/succession.ts";
import { leafHash } from "../../../src/domain/evidence/tree.ts";
import type { Driver, Statement } from "../../../src/store/driver/driver.ts";
import { openFile } from "../../../src/store/driver/file.ts";
import { aClock } from "../../harness/clock.ts";
import { aPinnedCheckpoint, attest } from "../../harness/evidence.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { secrets } from "../../harness/samples.ts";
import {
  type AuditedRegister,
  aSignedAttestation,
  auditFile,
  goOn,
  inShort,
  insertLike2,
  makeRegister,
  prune,
  query,
  tamper,
} from "./audited-register.ts";

/** Who can write to the database lets retention move its mark over what is young, and then takes that out (D13.9). */

const folder = sharedFolder();
let register: AuditedRegister;
let copies = 0;
const later = Date.parse("2026-08-01T00:00:00Z");

beforeAll(async () => {
  register = await makeRegister(folder);
});

async function copy(statements: readonly (string | Statement)[] = [], from = register.file): Promise<string> {
  const file = join(folder, `forced-${++copies}.db`);
  await tamper(from, file, statements);
  return file;
}

/** What anybody can make up: it is not verified before it is deleted, only looked up in the log. */
function anOldJws(n: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const result = { found: true, source: null, status: "VALID", eligible: true };
  return `${part({ alg: "RS256", kid: "A" })}.${part({ iss: "x", aud: "x", sub: `${n}`, iat: 1_000_000_000, result })}.AAAA`;
}

/** Makes rows old, and has the log say the same. */
const plant = (ids: readonly number[]): Statement[] =>
  ids.flatMap((id) => [
    { sql: "UPDATE attestations SET jws = ?, issued_at = 1000000000 WHERE id = ?", args: [anOldJws(id), id] },
    {
      sql: `UPDATE log_tiles SET hashes = CAST(substr(hashes, 1, 32 * ?1) || ?2 || substr(hashes, 32 * ?1 + 33) AS BLOB)
        WHERE epoch = 1 AND level = 0 AND position = 0`,
      args: [id - 1, leafHash(anOldJws(id))],
    },
  ]);
/** Puts a made-up one behind all others, which the service then signs for. */
const append = (id: number) => {
  const verificationId = `00000000-0000-7000-8000-${String(id).padStart(12, "0")}`;
  return insertLike2({ id, verificationId, jws: anOldJws(id), issuedAt: 1_000_000_000 });
};
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

test("what was planted with its hash is not deleted, so it excuses nothing", async () => {
  const file = await copy(plant(range(1, 20)));
  expect(await prune({ file, head: register.head }, 0)).toEqual({ deleted: 0, held: [1] });
  const [tile] = await query(register.file, "SELECT hashes FROM log_tiles WHERE epoch = 1 AND level = 0");
  const restored = {
    sql: "UPDATE log_tiles SET hashes = ? WHERE epoch = 1 AND level = 0 AND position = 0",
    args: [new Uint8Array(tile?.hashes as ArrayBuffer)],
  };
  const gone = await copy(["DELETE FROM attestations WHERE id <= 20", restored], file);
  const audited = await auditFile({ file: gone, head: register.head, now: later });
  expect(inShort(audited)).toMatchObject({ what: "ATTESTATION", id: 1, found: 20 });
});

test("what was appended and signed for is not deleted before what stands in front of it", async () => {
  const [newest] = await query(
    register.earlier,
    "SELECT note FROM log_checkpoints ORDER BY size DESC LIMIT 1",
  );
  const file = await copy([append(161), append(162)], register.earlier);
  const head = await goOn(file, String(newest?.note));
  expect(await prune({ file, head }, 0)).toMatchObject({ deleted: 0 });
  expect(await prune({ file, head }, 10)).toMatchObject({ deleted: 10 });
  const gone = await copy(["DELETE FROM attestations WHERE id BETWEEN 11 AND 20"], file);
  const { findings } = await auditFile({ file: gone, head, now: later });
  expect(findings.map(({ id }) => id)).toEqual(expect.arrayContaining(range(11, 20)));
});

test("nothing is deleted behind a gap, which stays named", async () => {
  const file = await copy(["DELETE FROM attestations WHERE id BETWEEN 11 AND 15"]);
  const { head } = register;
  // As long as what is behind it is young, retention is where it should be.
  expect(await prune({ file, head }, 10)).toEqual({ deleted: 10, held: [] });
  expect(await prune({ file, head }, 20)).toEqual({ deleted: 0, held: [11] });
  expect(inShort(await auditFile({ file, head, now: later }))).toMatchObject({
    what: "ATTESTATION",
    id: 11,
    found: 5,
  });
});

test("old ones that are put back under the next ids are not deleted again in the place of those", async () => {
  const file = await copy();
  const { head } = register;
  expect(await prune({ file, head }, 70)).toMatchObject({ deleted: 70 });
  const was = await query(register.file, "SELECT id, jws FROM attestations WHERE id <= 70");
  const again = was.map(({ id, jws }) => ({
    sql: "UPDATE attestations SET jws = ?, issued_at = 1 WHERE id = ?",
    args: [jws as string, Number(id) + 70],
  }));
  const shift = "UPDATE log_epochs SET first_id = 71 WHERE epoch = 1";
  // Neither as they are, nor as a log of another number, whose beginning nobody has noted.
  for (const others of [[shift], [shift, "UPDATE log_epochs SET epoch = 7 WHERE epoch = 2"]]) {
    const forced = await copy([...again, ...others], file);
    expect(await prune({ file: forced, head }, 70)).toMatchObject({ deleted: 0 });
  }
});

describe("what is proven", () => {
  test("is deleted in several epochs, and all is whole behind it", async () => {
    const file = await copy();
    expect(await prune({ file, head: register.head }, 320)).toEqual({ deleted: 320, held: [] });
    expect(await auditFile({ file, head: register.head, now: later })).toMatchObject({
      found: 0,
      epochs: [{ pruned: 300 }, { pruned: 20, compared: 20 }],
    });
  });

  test("is nothing without a checkpoint beside the master key, or with that of another log", async () => {
    const file = await copy();
    for (const head of [null, register.head.replace("verify.example.org/log/2", "another.example/log/2")])
      expect(await prune({ file, head }, 70)).toEqual({ deleted: 0, held: [1] });
  });

  test("waits for the checkpoint that another node has signed", async () => {
    const file = await copy();
    expect(await prune({ file, head: register.closing }, 320)).toEqual({ deleted: 300, held: [] });
    expect(await prune({ file, head: register.head }, 320)).toEqual({ deleted: 20, held: [] });
  });

  test("is nothing of an epoch that the next one does not name as it was signed for", async () => {
    const file = await copy(["UPDATE log_epochs SET previous = 'x' WHERE epoch = 2"]);
    expect(await prune({ file, head: register.head }, 320)).toEqual({ deleted: 0, held: [1] });
  });

  test("is an epoch of a backup too, whose end was noted when it was closed", async () => {
    const file = await copy([], register.earlier);
    const head = aPinnedCheckpoint(register.head);
    const driver = await openFile({ file });
    await closeOver(driver, head).finally(driver.close);
    expect(await prune({ file, head: head.note }, 170)).toMatchObject({ deleted: 170 });
    expect(await auditFile({ file, head: head.note, now: later })).toMatchObject({
      found: 0,
      epochs: [
        { epoch: 1, pruned: 160 },
        { epoch: 3, pruned: 10 },
      ],
    });
  });
});

/** What `restore` and the next service do over a backup that is behind; then the service goes on. */
async function closeOver(driver: Driver, head: ReturnType<typeof aPinnedCheckpoint>): Promise<void> {
  const { maintenance, evidence } = createStores(driver);
  const clock = aClock("2026-05-01T09:10:00Z");
  const issuer = "https://verify.example.org";
  const note = async (next: Parameters<typeof noteBegin>[1]) => {
    await noteEnd({ maintenance, secrets }, evidence);
    return noteBegin({ maintenance, secrets }, next);
  };
  await openNextEpoch({ store: evidence, head, secrets, issuer, clock, note }, "a test");
  await attest(
    driver,
    range(161, 200).map((n) => aSignedAttestation(n, register.signer)),
  );
  await createEvidenceBuilder({ store: evidence, head, secrets, clock }).checkpoint();
}
