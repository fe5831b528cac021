import { Buffer } from "node:buffer";
import { serviceActor } from "../../domain/changes.ts";
import { bytesPerHash, hashesPerTile, type Tile, type TileAddress } from "../../domain/evidence/tree.ts";
import { type ChangeRecorder, createChangeRecorder } from "../changes.ts";
import { bind, type Driver, type Row, type SqlStatement } from "../driver/driver.ts";
import type { RecordOf } from "../driver/rows.ts";
import { bytes, bytesOrNull, integer, integerOrNull, tableOf, text, textOrNull } from "../driver/rows.ts";
import { skipTeacherIds } from "../status-lists.ts";
import { prunePeopleSql } from "./statement-people.ts";

const utf8 = new TextDecoder();
/** Each part of the index of leaf hashes (`log_positions`) has 2^18 attestations, so that appends change few pages. */
const partBits = 18;

const treeSize = `coalesce((SELECT position * ${hashesPerTile} + length(hashes) / ${bytesPerHash} FROM log_tiles
  WHERE level = 0 ORDER BY position DESC LIMIT 1), 0)`;
const lastId = "coalesce((SELECT max(id) FROM attestations), 0)";
const checkpointColumns = "SELECT log, size, signed_at, note FROM log_checkpoints";
const newest = `${checkpointColumns} ORDER BY size DESC, log DESC LIMIT 1`;
const figures = `SELECT number AS log, origin, ${treeSize} AS size, ${lastId} AS last_id, signed_at,
    coalesce(signed.size, 0) AS signed_size,
    (SELECT issued_at * 1000 FROM attestations WHERE id > coalesce(signed.size, 0) ORDER BY id LIMIT 1) AS uncovered_since
  FROM (SELECT number, origin FROM logs ORDER BY number DESC LIMIT 1)
  LEFT JOIN (${newest}) AS signed ON signed.log = number`;
const state = `SELECT json_array((SELECT max(number) FROM logs), (SELECT note FROM (${newest})),
  (SELECT note FROM log_retention)) AS state`;
const selectRetention = "SELECT note FROM log_retention WHERE id = 1";
const putRetention = `INSERT INTO log_retention (id, note) VALUES (1, ?)
  ON CONFLICT (id) DO UPDATE SET note = excluded.note`;

const attestedColumns = "id, verification_id, partner_id, issued_at, kid, status, eligible";
/**
 * SQL that reads a block of attestations as two values: the columns as JSON, and all JWS joined. Row by row,
 * reading takes three times as long. The values are BLOBs: the driver aborts the process if a TEXT is not UTF-8.
 */
const attested = `SELECT
    CAST(json_group_array(json_array(octet_length(jws), ${attestedColumns})) AS BLOB) AS rows,
    CAST(coalesce(group_concat(jws, ''), '') AS BLOB) AS jws
  FROM (SELECT jws, ${attestedColumns} FROM attestations WHERE id >= ? ORDER BY id LIMIT ?)`;
const putTile = `INSERT INTO log_tiles (level, position, hashes) VALUES (?, ?, ?)
  ON CONFLICT (level, position) DO UPDATE SET hashes = excluded.hashes`;
/** SQL for the number of hashes on a tile's level, in a tree of ?1 leaves. */
const hashesOfLevel = `(?1 >> (${Math.log2(hashesPerTile)} * level))`;
const deleteTiles = `DELETE FROM log_tiles WHERE position * ${hashesPerTile} >= ${hashesOfLevel}`;
const shortenTiles = `UPDATE log_tiles
  SET hashes = substr(hashes, 1, (${hashesOfLevel} - position * ${hashesPerTile}) * ${bytesPerHash})
  WHERE position = ${hashesOfLevel} / ${hashesPerTile}`;
const putPositions = `INSERT INTO log_positions (part, prefix, id)
  SELECT (?1 + key) >> ${partBits}, value, ?1 + key FROM json_each(?2) WHERE true ON CONFLICT DO NOTHING`;
/** SQL that reads tiles. CROSS JOIN fixes the order of the tables: SQLite would otherwise read all tiles. */
const selectTiles = `SELECT wanted.key AS item, hashes FROM json_each(?1) AS wanted
  CROSS JOIN log_tiles ON level = wanted.value ->> 0 AND position = wanted.value ->> 1`;
const covering = `${checkpointColumns} WHERE size >= ? ORDER BY size, log LIMIT 1`;
const before = `${checkpointColumns} WHERE (size, log) < (?, ?) ORDER BY size DESC, log DESC LIMIT 1`;
const after = `${checkpointColumns} WHERE (size, log) > (?, ?) AND size <= ? ORDER BY size, log LIMIT ?`;
const withPrefix = `WITH RECURSIVE parts (part) AS (
    SELECT (SELECT min(part) FROM log_positions)
    UNION ALL SELECT part + 1 FROM parts WHERE part < (SELECT max(part) FROM log_positions))
  SELECT id FROM parts CROSS JOIN log_positions USING (part) WHERE prefix = ?`;

/** SQL that records which partners have verified a teacher, because these partners get the teacher's events. */
const noteVerified = `INSERT OR IGNORE INTO verified_before (teacher_id, partner_id)
  SELECT teacher_id, partner_id FROM attestations WHERE id <= ? AND teacher_id IS NOT NULL`;

export type LogStore = ReturnType<typeof createLogStore>;

/** Creates the store of the evidence log. @param acting the actor that is recorded for a new log */
export function createLogStore(driver: Driver, acting = serviceActor) {
  const one = async (sql: string, args: readonly number[] = []): Promise<Row> =>
    (await driver.query(sql, args))[0] ?? {};
  return {
    ...readTree(driver, one),
    ...writeTree(driver, createChangeRecorder(acting)),
    ...writeRetention(driver),
    /** Reads at most `limit` attestations from the id `from` on, in the order of their ids. */
    attested: async (from: number, limit: number) => readBlock(await one(attested, [from, limit])),
    /** Reads the retention note, which says which rows were deleted. @returns null before the first deletion */
    async retention() {
      const { note = null } = await one(selectRetention);
      return note as string | null;
    },
  };
}

function readTree(driver: Driver, one: (sql: string, args?: readonly number[]) => Promise<Row>) {
  async function checkpoint(sql: string, args: readonly number[] = []): Promise<StoredCheckpoint | null> {
    return (await driver.query(sql, args)).map(checkpoints.read)[0] ?? null;
  }

  return {
    /** Lists the logs, oldest first. */
    logs: async () => (await driver.query("SELECT * FROM logs ORDER BY number")).map(logs.read),
    /** Reads the newest log, checkpoint and retention note as one text. `begin` refuses if the text has changed. */
    state: async () => text(await one(state), "state"),
    /** Counts the leaves. */
    size: async () => integer(await one(`SELECT ${treeSize} AS size`), "size"),
    /** Reads the id of the newest attestation; 0 before the first one. */
    lastId: async () => integer(await one(`SELECT ${lastId} AS id`), "id"),
    /** Reads the log's figures, from a bounded number of rows. @returns null until the first `serve` begins the log */
    async figures(): Promise<LogFigures | null> {
      return (await driver.query(figures, [])).map(logFigures)[0] ?? null;
    },
    /** Reads tiles in the given order. A tile that does not exist is empty. */
    async tiles(addresses: readonly TileAddress[]) {
      const tiles = addresses.map(() => new Uint8Array());
      if (addresses.length === 0) return tiles;
      const wanted = JSON.stringify(addresses.map(({ level, position }) => [level, position]));
      for (const row of await driver.query(selectTiles, [wanted]))
        tiles[integer(row, "item")] = new Uint8Array(bytes(row, "hashes"));
      return tiles;
    },
    newest: () => checkpoint(newest),
    /** Reads the smallest checkpoint that covers at least `size` leaves. @returns null if none is stored */
    covering: (size: number) => checkpoint(covering, [size]),
    /** Reads the checkpoint before the given one. @returns null if none is stored */
    before: ({ size, log }: CheckpointKey) => checkpoint(before, [size, log]),
    /** Reads at most `limit` checkpoints after the given one, over at most `upTo` leaves. */
    async after({ size, log }: CheckpointKey, upTo: number, limit: number) {
      return (await driver.query(after, [size, log, upTo, limit])).map(checkpoints.read);
    },
    /** Finds the ids of attestations by the first six bytes of their leaf hash. */
    async withPrefix(prefix: number) {
      return (await driver.query(withPrefix, [prefix])).map((row) => integer(row, "id"));
    },
  };
}

function writeTree(driver: Driver, recorded: ChangeRecorder) {
  return {
    /**
     * Begins a log. The private key of the present log is destroyed, and the tree is cut to the new log's first size.
     * @param asRead the text of `state` that the caller read before making the new log
     * @param retention the retention note, signed by the new log; null if nothing was deleted
     * @returns false, storing nothing, if the state has changed since
     */
    begin(log: Log, asRead: string, retention: string | null) {
      return driver.write(async (tx) => {
        const [[row = {}] = []] = await tx.batch([bind(state)]);
        if (text(row, "state") !== asRead) return false;
        await tx.batch([
          ...beginStatements(log, retention),
          recorded({ action: "log begun", kind: "log", id: String(log.number), detail: log.origin }),
        ]);
        return true;
      });
    },
    /**
     * Appends leaves to a tree of `from` leaves.
     * @param prefixes the first six bytes of each leaf hash, in order
     * @returns false, storing nothing, if another process has appended since
     */
    append(from: number, tiles: readonly Tile[], prefixes: readonly number[]) {
      return driver.write(async (tx) => {
        const [[row = {}] = []] = await tx.batch([bind(`SELECT ${treeSize} AS size`)]);
        if (integer(row, "size") !== from) return false;
        await tx.batch([
          ...tiles.map(({ level, position, hashes }) => bind(putTile, [level, position, hashes])),
          bind(putPositions, [from + 1, JSON.stringify(prefixes)]),
        ]);
        return true;
      });
    },
    /**
     * Stores a checkpoint of the newest log.
     * @param previous the newest stored checkpoint, which the new one names; null before the first
     * @returns false, storing nothing, if a newer checkpoint or log than `previous` is stored, or the tree was cut
     */
    addCheckpoint(next: StoredCheckpoint, previous: StoredCheckpoint | null) {
      return driver.write(async (tx) => {
        const [[row] = [], [top] = []] = await tx.batch([bind(figures), bind(newest)]);
        const isNext = (top?.note ?? null) === (previous?.note ?? null);
        if (row === undefined || !isNext) return false;
        if (integer(row, "log") !== next.log || integer(row, "size") < next.size) return false;
        await tx.batch([checkpoints.insert(next)]);
        return true;
      });
    },
  };
}

function writeRetention(driver: Driver) {
  return {
    /**
     * Deletes the attestations up to an id and replaces the retention note, in one transaction.
     * @param notes the number of the newest log, the note that the caller read, and the next note
     * @returns false, changing nothing, if the note or the newest log has changed since
     */
    prune(through: number, { log, before, next }: { log: number; before: string | null; next: string }) {
      return driver.write(async (tx) => {
        const [[noted] = [], [row] = []] = await tx.batch([bind(selectRetention), bind(figures)]);
        if ((noted?.note ?? null) !== before || row === undefined || integer(row, "log") !== log)
          return false;
        await tx.batch([
          bind(noteVerified, [through]),
          bind("DELETE FROM attestations WHERE id <= ?", [through]),
          bind(putRetention, [next]),
        ]);
        return true;
      });
    },
    /** Deletes at most `limit` rows about the people in deleted statements. @returns the number of deleted rows */
    async prunePeople(limit: number) {
      const [deleted] = await driver.batch([bind(prunePeopleSql, [limit])]);
      return deleted?.length ?? 0;
    },
  };
}

function beginStatements(log: Log, retention: string | null): SqlStatement[] {
  const { number, begunAt, firstSize } = log;
  return [
    // A first log without a leaf is replaced if the issuer changes.
    bind("DELETE FROM logs WHERE number = ?", [number]),
    bind("UPDATE logs SET sealed = NULL"),
    logs.insert(log),
    bind("DELETE FROM log_checkpoints WHERE size > ?", [firstSize]),
    bind(deleteTiles, [firstSize]),
    bind(shortenTiles, [firstSize]),
    bind("DELETE FROM log_retention"),
    ...(retention === null ? [] : [bind(putRetention, [retention])]),
    // Data may have been lost before a later log. New teachers must not get the ids of lost teachers.
    ...(number > 1 ? [skipTeacherIds(begunAt)] : []),
  ];
}

/** An attestation with the columns that an audit compares; `issuedAt` is in seconds since the epoch. */
export type AttestationRow = Readonly<ReturnType<typeof readBlock>[number]>;

function readBlock(row: Row) {
  // A JWS is ASCII. Forged bytes are read as Latin-1, and do not fit the leaf's hash.
  const { buffer, byteOffset, length } = bytes(row, "jws");
  const joined = Buffer.from(buffer, byteOffset, length).toString("latin1");
  const rows: [number, number, string, string, number, string, string, number][] = JSON.parse(
    utf8.decode(bytes(row, "rows")),
  );
  let at = 0;
  return rows.map(([jwsBytes, id, verificationId, partnerId, issuedAt, kid, status, eligible]) => {
    at += jwsBytes;
    const jws = joined.slice(at - jwsBytes, at);
    return { id, verificationId, partnerId, issuedAt, kid, status, eligible: eligible === 1, jws };
  });
}

/**
 * A log: the name and key with which checkpoints of the tree are signed. After a restore or a loss, a new log continues
 * the tree without the lost leaves. Times are milliseconds since the epoch.
 */
export type Log = RecordOf<typeof logReaders>;

const logReaders = {
  /** 1 for the first log of a register; each new log has the next number. */
  number: integer,
  /** The log's name, the first line of each of its checkpoints. */
  origin: text,
  /** The Ed25519 public key, 32 bytes. */
  publicKey: bytes,
  /** The private key in PKCS #8, sealed with the master key and the origin; null after a later log has begun. */
  sealed: bytesOrNull,
  begunAt: integer,
  /** Why an operator began the log; null for the first log. */
  reason: textOrNull,
  /** The last known checkpoint of the previous log, a signed note; null if none is known. */
  previous: textOrNull,
  /** The number of leaves when the log began. The newest stored checkpoint before this log has that size. */
  firstSize: integer,
  /** A MAC over all members above except `sealed`, keyed by the master key. */
  mac: bytes,
};
const logs = tableOf<Log>("logs", logReaders);

export type LogFigures = Readonly<ReturnType<typeof logFigures>>;

function logFigures(row: Row) {
  const [size, last] = [integer(row, "size"), integer(row, "last_id")];
  return {
    /** The number of the newest log. */
    log: integer(row, "log"),
    origin: text(row, "origin"),
    /** The number of leaves. */
    size,
    /** How many leaves the log's newest checkpoint covers; 0 before the first checkpoint. */
    signedSize: integer(row, "signed_size"),
    /** When the newest checkpoint was signed, in milliseconds since the epoch; null before the first. */
    signedAt: integerOrNull(row, "signed_at"),
    /** Attestations that have no leaf yet. */
    waiting: Math.max(0, last - size),
    /** How many of the newest leaves have no attestation: above 0 only if somebody removed attestations. */
    missing: Math.max(0, size - last),
    /** The time of the oldest attestation that no checkpoint covers (ms since the epoch); null if all are covered. */
    uncoveredSince: integerOrNull(row, "uncovered_since"),
  };
}

export type StoredCheckpoint = RecordOf<typeof checkpointReaders>;
type CheckpointKey = Pick<StoredCheckpoint, "log" | "size">;

const checkpointReaders = {
  /** The number of the log that signed the checkpoint. */
  log: integer,
  size: integer,
  /** Milliseconds since the epoch, a whole second. */
  signedAt: integer,
  /** The signed note, byte for byte. */
  note: text,
};
const checkpoints = tableOf<StoredCheckpoint>("log_checkpoints", checkpointReaders);
