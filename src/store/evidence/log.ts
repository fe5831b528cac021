import { Buffer } from "node:buffer";
import { service } from "../../domain/changes.ts";
import { hashBytes, type Tile, type TilePlace, tileHashes } from "../../domain/evidence/tree.ts";
import { createRecorder, type Recorder } from "../changes.ts";
import { type Driver, type Row, type Statement, statement } from "../driver/driver.ts";
import {
  bytes,
  bytesOrNull,
  integer,
  integerOrNull,
  type RecordOf,
  tableOf,
  text,
  textOrNull,
} from "../driver/rows.ts";
import { moveTeacherIds } from "../status-lists.ts";
import { prunePeople } from "./statement-people.ts";

const utf8 = new TextDecoder();
/** Levels of tiles of the longest tree. */
const maxLevels = 7;
/** Attestations of one part of the index of leaf hashes, as a power of two. */
const partBits = 18;

const treeSize = `coalesce((SELECT position * ${tileHashes} + length(hashes) / ${hashBytes} FROM log_tiles
  WHERE level = 0 ORDER BY position DESC LIMIT 1), 0)`;
const lastId = "coalesce((SELECT max(id) FROM attestations), 0)";
const checkpointColumns = "SELECT log, size, signed_at, note FROM log_checkpoints";
const newest = `${checkpointColumns} ORDER BY size DESC, log DESC LIMIT 1`;
const progress = `SELECT number AS log, origin, ${treeSize} AS size, ${lastId} AS last_id,
    coalesce(signed.size, 0) AS signed_size, signed_at
  FROM (SELECT number, origin FROM logs ORDER BY number DESC LIMIT 1)
  LEFT JOIN (${newest}) AS signed ON signed.log = number`;
/** The newest log, the newest checkpoint and the retention note. A log is begun only while they are as they were read. */
const state = `SELECT json_array((SELECT max(number) FROM logs), (SELECT note FROM (${newest})),
  (SELECT note FROM log_retention)) AS state`;
const selectRetention = "SELECT note FROM log_retention WHERE id = 1";
const putRetention = `INSERT INTO log_retention (id, note) VALUES (1, ?)
  ON CONFLICT (id) DO UPDATE SET note = excluded.note`;

/**
 * Reads a block of attestations as two values, which takes half the time of rows: the columns as JSON, and all JWS joined.
 * Both are read as bytes, because a text that is not UTF-8 ends the process in the driver.
 */
const block = (columns: string, where: string) => `SELECT
    CAST(json_group_array(json_array(id, octet_length(jws)${columns})) AS BLOB) AS rows,
    CAST(coalesce(group_concat(jws, ''), '') AS BLOB) AS jws
  FROM (SELECT id, jws${columns} FROM attestations WHERE ${where} ORDER BY id LIMIT ?)`;
const attested = block("", "id >= ?");
const audited = block(
  ", verification_id, partner_id, issued_at, kid, status, eligible",
  "id >= ? AND id <= ?",
);
const putTile = `INSERT INTO log_tiles (level, position, hashes) VALUES (?, ?, ?)
  ON CONFLICT (level, position) DO UPDATE SET hashes = excluded.hashes`;
const putPositions = `INSERT INTO log_positions (part, prefix, id)
  SELECT (?1 + key) >> ${partBits}, value, ?1 + key FROM json_each(?2) WHERE true ON CONFLICT DO NOTHING`;
/** CROSS fixes the order of the tables: the planner of SQLite would read all tiles for the few that are wanted. */
const selectTiles = `SELECT wanted.key AS place, hashes FROM json_each(?1) AS wanted
  CROSS JOIN log_tiles ON level = wanted.value ->> 0 AND position = wanted.value ->> 1`;
const covering = `${checkpointColumns} WHERE size >= ? ORDER BY size, log LIMIT 1`;
const before = `${checkpointColumns} WHERE (size, log) < (?, ?) ORDER BY size DESC, log DESC LIMIT 1`;
const after = `${checkpointColumns} WHERE (size, log) > (?, ?) AND size <= ? ORDER BY size, log LIMIT ?`;
const withPrefix = `WITH RECURSIVE parts (part) AS (
    SELECT (SELECT min(part) FROM log_positions)
    UNION ALL SELECT part + 1 FROM parts WHERE part < (SELECT max(part) FROM log_positions))
  SELECT id FROM parts CROSS JOIN log_positions USING (part) WHERE prefix = ?`;

/** The partners that have verified a teacher are kept, because events go by them. */
const noteVerified = `INSERT OR IGNORE INTO verified_before (teacher_id, partner_id)
  SELECT teacher_id, partner_id FROM attestations WHERE id <= ? AND teacher_id IS NOT NULL`;
const uncovered = "SELECT issued_at * 1000 AS since FROM attestations WHERE id > ? ORDER BY id LIMIT 1";

export type LogStore = ReturnType<typeof createLogStore>;

/** The evidence log. @param acting in whose name logs are begun */
export function createLogStore(driver: Driver, acting = service) {
  return {
    ...readTree(driver),
    ...readAttestations(driver),
    ...writeTree(driver, createRecorder(acting)),
    ...writeRetention(driver),
  };
}

const readerOf =
  (driver: Driver) =>
  async (sql: string, args: readonly number[] = []): Promise<Row | undefined> =>
    (await driver.query(sql, args))[0];

function readTree(driver: Driver) {
  const one = readerOf(driver);

  async function checkpoint(sql: string, args?: readonly number[]): Promise<StoredCheckpoint | null> {
    const row = await one(sql, args);
    return row === undefined ? null : checkpoints.read(row);
  }

  async function readProgress(): Promise<LogProgress | null> {
    const row = await one(progress);
    return row === undefined ? null : logProgress(row);
  }

  return {
    /** Oldest first. */
    logs: async () => (await driver.query("SELECT * FROM logs ORDER BY number")).map(logs.read),
    /** What `begin` compares. */
    state: async () => text((await one(state)) ?? {}, "state"),
    /** How many leaves the tree has. */
    size: async () => integer((await one(`SELECT ${treeSize} AS size`)) ?? {}, "size"),
    /** The id of the newest attestation; 0 without any. */
    lastId: async () => integer((await one(`SELECT ${lastId} AS id`)) ?? {}, "id"),
    /** Null without a log. */
    progress: readProgress,
    /** How the log does, from a bounded number of rows; null before the first `serve` has begun it. */
    async figures(): Promise<LogFigures | null> {
      const found = await readProgress();
      const row = found === null ? undefined : await one(uncovered, [found.signedSize]);
      return found && { ...found, uncoveredSince: row === undefined ? null : integer(row, "since") };
    },
    /** Reads tiles; what is not there is empty. */
    async tiles(places: readonly TilePlace[]) {
      const tiles = places.map(() => new Uint8Array());
      if (places.length === 0) return tiles;
      const wanted = JSON.stringify(places.map(({ level, position }) => [level, position]));
      for (const row of await driver.query(selectTiles, [wanted]))
        tiles[integer(row, "place")] = new Uint8Array(bytes(row, "hashes"));
      return tiles;
    },
    newest: () => checkpoint(newest),
    /** The earliest checkpoint of at least so many leaves. */
    covering: (size: number) => checkpoint(covering, [size]),
    /** The checkpoint before another one. */
    before: ({ size, log }: CheckpointPlace) => checkpoint(before, [size, log]),
    /** The checkpoints after one, up to a size; `limit` at most. */
    async after({ size, log }: CheckpointPlace, upTo: number, limit: number) {
      return (await driver.query(after, [size, log, upTo, limit])).map(checkpoints.read);
    },
    /** Attestations whose leaf hash may begin with a prefix. */
    async withPrefix(prefix: number) {
      return (await driver.query(withPrefix, [prefix])).map((row) => integer(row, "id"));
    },
  };
}

function readAttestations(driver: Driver) {
  const one = readerOf(driver);
  return {
    /** The attestations from an id on, in the order of their ids; `limit` at most. */
    async attested(from: number, limit: number) {
      return readBlock(await one(attested, [from, limit])).map(({ columns, jws }) => ({
        id: columns[0],
        jws,
      }));
    },
    /** The attestations of a range of ids, both included, with the columns that an audit compares. */
    async auditRows(from: number, to: number) {
      return readBlock(await one(audited, [from, to, to - from + 1])).map(auditedRow);
    },
    /** The retention note, by which rows may be missing; null where nothing was ever deleted. */
    async retention() {
      const row = await one(selectRetention);
      return row === undefined ? null : text(row, "note");
    },
  };
}

function writeTree(driver: Driver, recorded: Recorder) {
  return {
    /**
     * Begins a log, destroys the private key of the one before, and cuts the tree to the size with which it begins.
     * @param asRead the {@link state} that the new log follows from
     * @param retention the retention note of the log to begin; null where nothing was deleted
     * @returns false, having done nothing, when the state is another by now
     */
    begin(log: Log, asRead: string, retention: string | null) {
      return driver.write(async (tx) => {
        const [[row = {}] = []] = await tx.batch([statement(state)]);
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
     * @param prefixes of the leaf hashes, in order
     * @returns false, having stored nothing, when another process has appended since
     */
    append(from: number, tiles: readonly Tile[], prefixes: readonly number[]) {
      return driver.write(async (tx) => {
        const [[row = {}] = []] = await tx.batch([statement(`SELECT ${treeSize} AS size`)]);
        if (integer(row, "size") !== from) return false;
        await tx.batch([
          ...tiles.map(({ level, position, hashes }) => statement(putTile, [level, position, hashes])),
          statement(putPositions, [from + 1, JSON.stringify(prefixes)]),
        ]);
        return true;
      });
    },
    /**
     * Stores a checkpoint of the newest log.
     * @param previous the one that it names
     * @returns false, having stored nothing, when that is not the newest any more, the log has ended, or the tree was cut
     */
    addCheckpoint(next: StoredCheckpoint, previous: StoredCheckpoint | null) {
      return driver.write(async (tx) => {
        const [[row] = [], [top] = []] = await tx.batch([statement(progress), statement(newest)]);
        const isNext = (top === undefined ? null : text(top, "note")) === (previous?.note ?? null);
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
     * Deletes the attestations up to an id and replaces the retention note with one that says so, in one transaction.
     * @returns false, having done nothing, when the note or the log is another one by now
     */
    prune(through: number, { log, was, is }: { log: number; was: string | null; is: string }) {
      return driver.write(async (tx) => {
        const [[noted] = [], [row] = []] = await tx.batch([statement(selectRetention), statement(progress)]);
        const isAsRead = (noted === undefined ? null : text(noted, "note")) === was;
        if (!isAsRead || row === undefined || integer(row, "log") !== log) return false;
        await tx.batch([
          statement(noteVerified, [through]),
          statement("DELETE FROM attestations WHERE id <= ?", [through]),
          statement(putRetention, [is]),
        ]);
        return true;
      });
    },
    /** Forgets the people of statements that were deleted, so many at most. @returns how many there were */
    async prunePeople(limit: number) {
      const [gone] = await driver.batch([statement(prunePeople, [limit])]);
      return gone?.length ?? 0;
    },
  };
}

function beginStatements(log: Log, retention: string | null): Statement[] {
  const { number, begunAt, firstSize } = log;
  return [
    // The first log may be begun again under another name, as long as it has no leaf.
    statement("DELETE FROM logs WHERE number = ?", [number]),
    statement("UPDATE logs SET sealed = NULL"),
    logs.insert(log),
    statement("DELETE FROM log_checkpoints WHERE size > ?", [firstSize]),
    ...cutStatements(firstSize),
    statement("DELETE FROM log_retention"),
    ...(retention === null ? [] : [statement(putRetention, [retention])]),
    // A log is begun because the database was replaced, or may have been.
    ...(number > 1 ? [moveTeacherIds(begunAt)] : []),
  ];
}

/** Cuts the tree to so many leaves, on every level that a tree can have. */
function cutStatements(size: number): Statement[] {
  const statements: Statement[] = [];
  for (let level = 0, left = size; level < maxLevels; level++) {
    const [full, rest] = [Math.floor(left / tileHashes), left % tileHashes];
    const cut = "DELETE FROM log_tiles WHERE level = ? AND position >= ?";
    statements.push(statement(cut, [level, rest === 0 ? full : full + 1]));
    const shorten = "UPDATE log_tiles SET hashes = substr(hashes, 1, ?) WHERE level = ? AND position = ?";
    if (rest > 0) statements.push(statement(shorten, [rest * hashBytes, level, full]));
    left = full;
  }
  return statements;
}

type BlockRow = { readonly columns: [id: number, octets: number, ...AuditedColumns]; readonly jws: string };
/** The columns that an audit compares, in the order of the statement `audited`; the time is in seconds since the epoch. */
type AuditedColumns = [string, string, number, string, string, number];

function readBlock(row: Row | undefined): BlockRow[] {
  if (row === undefined) return [];
  // A JWS is ASCII. Other bytes are a change that the leaf's hash shows, also when they are read as Latin-1.
  const { buffer, byteOffset, length } = bytes(row, "jws");
  const joined = Buffer.from(buffer, byteOffset, length).toString("latin1");
  let at = 0;
  return JSON.parse(utf8.decode(bytes(row, "rows"))).map((columns: BlockRow["columns"]) => {
    at += columns[1];
    return { columns, jws: joined.slice(at - columns[1], at) };
  });
}

/** An attestation as an audit reads it. */
export type AuditedRow = Readonly<ReturnType<typeof auditedRow>>;

function auditedRow({ columns, jws }: BlockRow) {
  const [id, , verificationId, partnerId, issuedAt, kid, status, eligible] = columns;
  return { id, verificationId, partnerId, issuedAt, kid, status, eligible: eligible === 1, jws };
}

/**
 * A log: a name and a key under which checkpoints of the tree are signed. After a restore or a loss a new log goes on with
 * the same tree, without what was lost. Times are milliseconds since the epoch.
 */
export type Log = RecordOf<typeof logReaders>;

const logReaders = {
  /** 1, and one more for each new log. */
  number: integer,
  /** The first line of its checkpoints. */
  origin: text,
  /** Ed25519, 32 bytes. */
  publicKey: bytes,
  /** PKCS #8 of the private half, sealed with the origin as its name; null once a later log was begun. */
  sealed: bytesOrNull,
  begunAt: integer,
  /** Why it was begun; null for the first. */
  reason: textOrNull,
  /** The last known checkpoint of the log before, as a signed note; null where none is known. */
  previous: textOrNull,
  /** Leaves that the tree had when the log was begun: the newest kept checkpoint of earlier logs covers as many. */
  firstSize: integer,
  /** Authenticates the members above, without the sealed key, under the master key. */
  mac: bytes,
};
const logs = tableOf<Log>("logs", logReaders);

/** How many attestations, leaves and signed leaves there are. */
export type LogProgress = Readonly<ReturnType<typeof logProgress>>;

function logProgress(row: Row) {
  const [size, last] = [integer(row, "size"), integer(row, "last_id")];
  return {
    /** The number and the origin of the newest log. */
    log: integer(row, "log"),
    origin: text(row, "origin"),
    /** Leaves of the tree. */
    size,
    /** Leaves that the newest checkpoint of the newest log covers; 0 before its first. */
    signedSize: integer(row, "signed_size"),
    /** When that checkpoint was signed, milliseconds since the epoch; null before the first. */
    signedAt: integerOrNull(row, "signed_at"),
    /** Attestations that have no leaf yet. */
    waiting: Math.max(0, last - size),
    /** Newest leaves that have no attestation; above 0 only when somebody removed attestations. */
    missing: Math.max(0, size - last),
  };
}

export type LogFigures = LogProgress & {
  /** When the oldest attestation that no checkpoint covers was issued (ms since the epoch); null when none waits. */
  readonly uncoveredSince: number | null;
};

/** A checkpoint as the database has it. */
export type StoredCheckpoint = RecordOf<typeof checkpointReaders>;
type CheckpointPlace = Pick<StoredCheckpoint, "log" | "size">;

const checkpointReaders = {
  /** The number of the log whose key signed it. */
  log: integer,
  size: integer,
  /** Milliseconds since the epoch, a whole second. */
  signedAt: integer,
  /** The signed note, byte for byte. */
  note: text,
};
const checkpoints = tableOf<StoredCheckpoint>("log_checkpoints", checkpointReaders);
