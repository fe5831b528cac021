import { Buffer } from "node:buffer";
import type { AuditedRow, EpochState } from "../../domain/evidence/audit-rows.ts";
import type { Driver } from "../driver/driver.ts";
import { bytes, integer, integerOrNull } from "../driver/rows.ts";
import { storedCheckpoint } from "./evidence.ts";

// A text that is no UTF-8 ends the process in the driver, so none that somebody may have written comes as one.
const utf8 = new TextDecoder();

/**
 * The evidence log as an audit reads it (decision D13.7): a block at a time, each with a statement of its own, so that
 * nobody who writes waits for it. A block comes out as two values: a row costs more than what is in it. What was signed
 * comes as bytes, of which each row has as many as it says, whatever somebody has written there.
 */
const rows = `SELECT CAST(json_group_array(json_array(id, octet_length(jws), verification_id, partner_id, issued_at, kid,
    status, eligible)) AS BLOB) AS rows, CAST(coalesce(group_concat(jws, ''), '') AS BLOB) AS jws
  FROM (SELECT id, verification_id, partner_id, issued_at, kid, status, eligible, jws
    FROM attestations WHERE id >= ?1 AND id <= ?2 ORDER BY id)`;

/** In one statement, because a service may append meanwhile: the size, and how many leaf hashes the tiles hold. */
const states = `SELECT epoch, size, (SELECT position * 256 + length(hashes) / 32 FROM log_tiles
    WHERE epoch = log_epochs.epoch AND level = 0 ORDER BY position DESC LIMIT 1) AS leaves,
  (SELECT max(size) FROM log_checkpoints WHERE epoch = log_epochs.epoch) AS signed
  FROM log_epochs ORDER BY epoch`;
const tile = "SELECT hashes FROM log_tiles WHERE epoch = ? AND level = ? AND position = ?";
const checkpoints = `SELECT epoch, size, signed_at, note FROM log_checkpoints
  WHERE epoch = ? AND size > ? AND size <= ? ORDER BY size LIMIT ?`;
/** Each by itself: to find both at once, SQLite reads all of an index. */
const ids = `SELECT min(id) AS first, (SELECT max(id) FROM attestations) AS last FROM attestations`;
const unsigned = `SELECT epoch, size FROM log_anchors WHERE NOT EXISTS (SELECT 1 FROM log_checkpoints
  WHERE log_checkpoints.epoch = log_anchors.epoch AND log_checkpoints.size = log_anchors.size) ORDER BY epoch, size LIMIT 1`;

type JsonRow = [
  id: number,
  octets: number,
  verificationId: string,
  partnerId: string,
  issuedAt: number,
  kid: string,
  status: string,
  eligible: number,
];

type CheckpointRange = Record<"epoch" | "after" | "upTo" | "limit", number>;

export type AuditStore = ReturnType<typeof createAuditStore>;

export function createAuditStore(driver: Driver) {
  return {
    async states() {
      return (await driver.query(states)).map((row): EpochState => {
        const [leaves, signed] = [integerOrNull(row, "leaves") ?? 0, integerOrNull(row, "signed") ?? 0];
        return { epoch: integer(row, "epoch"), size: integer(row, "size"), leaves, signed };
      });
    },
    /** Of the attestations that are there; null without any. */
    async ids() {
      const [row] = await driver.query(ids);
      return row === undefined || row.first === null
        ? null
        : { first: integer(row, "first"), last: integer(row, "last") };
    },
    /** Both ids included; by id, without those that are missing. */
    async rows(from: number, to: number) {
      const [row] = await driver.query(rows, [from, to]);
      return row === undefined ? [] : auditedRows(utf8.decode(bytes(row, "rows")), bytes(row, "jws"));
    },
    async tile(epoch: number, level: number, position: number) {
      const [row] = await driver.query(tile, [epoch, level, position]);
      return row === undefined ? new Uint8Array() : new Uint8Array(bytes(row, "hashes"));
    },
    /** Of sizes above `after`, up to and with `upTo`. */
    async checkpoints({ epoch, after, upTo, limit }: CheckpointRange) {
      const found = await driver.query(checkpoints, [epoch, after, upTo, limit]);
      return found.map(storedCheckpoint);
    },
    /** The first size that was anchored though no checkpoint of it is kept. */
    async anchoredWithoutCheckpoint() {
      const [row] = await driver.query(unsigned);
      return row === undefined ? null : { epoch: integer(row, "epoch"), size: integer(row, "size") };
    },
  };
}

function auditedRows(json: string, signed: Uint8Array): AuditedRow[] {
  // A JWS is ASCII; one with anything else in it was changed, and its hash is another one this way too.
  const jws = Buffer.from(signed.buffer, signed.byteOffset, signed.length).toString("latin1");
  let at = 0;
  return (JSON.parse(json) as JsonRow[]).map((row) => {
    const [id, octets, verificationId, partnerId, issuedAt, kid, status, eligible] = row;
    const own = jws.slice(at, at + octets);
    at += octets;
    return { id, verificationId, partnerId, issuedAt, kid, status, eligible: eligible === 1, jws: own };
  });
}
