import { service } from "../../domain/changes.ts";
import { TvsError } from "../../domain/errors.ts";
import { epochDueName } from "../../domain/evidence/epochs.ts";
import type {
  Appended,
  EpochOpening,
  LogEpoch,
  LogProgress,
  StoredCheckpoint,
} from "../../domain/evidence/evidence.ts";
import { partBits } from "../../domain/evidence/evidence.ts";
import { hashBytes, type ReadTiles, type Tile, tileHashes } from "../../domain/evidence/tree.ts";
import { createRecorder } from "../changes.ts";
import { type Driver, insertRows, type Row, type Statement, statement } from "../driver/driver.ts";
import { bytes, bytesOrNull, integer, integerOrNull, text, textOrNull } from "../driver/rows.ts";
import { moveTeacherIds } from "../status-lists.ts";

const utf8 = new TextDecoder();
/** Levels of tiles of the longest tree. */
const maxLevels = 7;

const epochColumns = "epoch, origin, public_key, sealed, first_id, size, opened_at, reason, previous";
const nextIdOf = "first_id + max(0, size - (previous IS NOT NULL))";
/** The id of the attestation that the newest tree gets next. No row without a log. */
export const nextLoggedId = `SELECT ${nextIdOf} FROM log_epochs ORDER BY epoch DESC LIMIT 1`;

const signedSizeOf = (epoch: string) =>
  `coalesce((SELECT max(size) FROM log_checkpoints AS signed WHERE signed.epoch = ${epoch}), 0)`;
/** The id of the first attestation that no checkpoint of the newest tree covers. */
export const nextSignedId = `SELECT first_id + max(0, ${signedSizeOf("tree.epoch")} - (previous IS NOT NULL))
  FROM log_epochs AS tree ORDER BY epoch DESC LIMIT 1`;
/**
 * The first tree begins with the oldest attestation that is there; each further one with what the last one did not sign
 * for, because nobody will any more, and never behind what is attested next.
 */
export const nextFirstId = `coalesce(min((${nextSignedId}), (SELECT coalesce(max(id), 0) + 1 FROM attestations)),
    (SELECT min(id) FROM attestations), 1)`;
const selectOpening = `SELECT coalesce((SELECT max(epoch) FROM log_epochs), 0) AS epoch, ${signedSizeOf("?1")} AS signed_size,
  ${nextFirstId} AS first_id, (SELECT mark FROM attestation_upkeep WHERE id = 1) AS mark`;
const insertEpoch = `INSERT INTO log_epochs (${epochColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const destroyKeys = "UPDATE log_epochs SET sealed = NULL WHERE epoch < ?";
/** A closed tree is as long as it was signed for: what followed has been shown to nobody, and is in the next one. */
const cutSize = "UPDATE log_epochs SET size = ?2 WHERE epoch = ?1";
const cutTiles = "DELETE FROM log_tiles WHERE epoch = ? AND level = ? AND position >= ?";
const cutTile = `UPDATE log_tiles SET hashes = substr(hashes, 1, ?4)
  WHERE epoch = ?1 AND level = ?2 AND position = ?3`;
const endDue = `DELETE FROM settings WHERE name = '${epochDueName}'`;
const rename = `UPDATE log_epochs SET origin = ?2, sealed = ?3 WHERE epoch = ?1 AND size = 0
  AND epoch = (SELECT max(epoch) FROM log_epochs) RETURNING epoch`;

/** Bytes come out of the database in half the time of a text as long. */
const attested = `SELECT min(id) AS first, count(*) AS n, max(id) - min(id) + 1 AS spanned,
    CAST(group_concat(jws, char(10)) AS BLOB) AS jws
  FROM (SELECT id, jws FROM attestations WHERE id >= ?1 ORDER BY id LIMIT ?2)`;
const attestedById = "SELECT id, jws FROM attestations WHERE id >= ? ORDER BY id LIMIT ?";
/** Ids that may be missing at once: each gets a leaf, and an id that was written by hand may be any number. */
const maxMissing = 10_000;
const progress = `SELECT tree.epoch, origin, tree.size, coalesce(signed.size, 0) AS signed_size, signed_at,
    coalesce((SELECT max(id) FROM attestations), 0) - (${nextLoggedId}) + 1 AS ahead
  FROM (SELECT epoch, origin, size FROM log_epochs ORDER BY epoch DESC LIMIT 1) AS tree
  LEFT JOIN (SELECT epoch, size, signed_at FROM log_checkpoints ORDER BY epoch DESC, size DESC LIMIT 1) AS signed
    ON signed.epoch = tree.epoch`;

/**
 * Everything else of an append hangs on this; what another one has appended to the same size is the same. A tree that was
 * closed grows no more.
 */
const moveSize = `UPDATE log_epochs SET size = ?3 WHERE epoch = ?1 AND size = ?2
  AND epoch = (SELECT max(epoch) FROM log_epochs) RETURNING size`;
/** Nor is a checkpoint stored beside another one that names the same predecessor. */
const isNewest = (epoch: string, size: string) =>
  `NOT EXISTS (SELECT 1 FROM log_checkpoints WHERE epoch > ${epoch} OR (epoch = ${epoch} AND size > ${size}))`;
const moveSigned = moveSize.replace("RETURNING", `AND ${isNewest("?4", "?5")} RETURNING`);
const isMoved = "EXISTS (SELECT 1 FROM log_epochs WHERE epoch = ?1 AND size = ?2)";
const putTile = `INSERT INTO log_tiles (epoch, level, position, hashes) SELECT ?1, ?3, ?4, ?5 WHERE ${isMoved}
  ON CONFLICT (epoch, level, position) DO UPDATE SET hashes = excluded.hashes`;
const putPositions = `INSERT INTO log_positions (part, prefix, id)
  SELECT (?3 + key) >> ${partBits}, value, ?3 + key FROM json_each(?4) WHERE ${isMoved} ON CONFLICT DO NOTHING`;
/** The leaves may be another one's, and then so may be a checkpoint that was not there when this one named its predecessor. */
const putCheckpoint = `INSERT INTO log_checkpoints (epoch, size, signed_at, note)
  SELECT ?1, ?2, ?3, ?4 WHERE ${isMoved} AND ${isNewest("?5", "?6")} ON CONFLICT DO NOTHING`;

const putBack = `INSERT INTO log_checkpoints (epoch, size, signed_at, note) SELECT ?1, ?2, ?3, ?4
  WHERE EXISTS (SELECT 1 FROM log_epochs WHERE epoch = ?1 AND size >= ?2) AND ${isNewest("?5", "?6")}
  ON CONFLICT DO NOTHING`;

/** In this order of the tables (CROSS): left to itself, SQLite goes through all tiles of the tree for the few wanted. */
const tilesOf = `SELECT wanted.key AS place, hashes FROM json_each(?2) AS wanted
  CROSS JOIN log_tiles ON epoch = ?1 AND level = wanted.value ->> 0 AND position = wanted.value ->> 1`;
const checkpointColumns = "SELECT epoch, size, signed_at, note FROM log_checkpoints";
const newest = `${checkpointColumns} ORDER BY epoch DESC, size DESC LIMIT 1`;
const ofSize = `${checkpointColumns} WHERE epoch = ? AND size = ?`;
const covering = `${checkpointColumns} WHERE epoch = ? AND size > ? ORDER BY size LIMIT 1`;
const withPrefix = `WITH RECURSIVE parts (part) AS (
    SELECT (SELECT min(part) FROM log_positions)
    UNION ALL SELECT part + 1 FROM parts WHERE part < (SELECT max(part) FROM log_positions))
  SELECT id FROM parts CROSS JOIN log_positions USING (part) WHERE prefix = ?`;

export type EvidenceStore = ReturnType<typeof createEvidenceStore>;

/** The evidence log. @param acting in whose name its epochs are opened */
export function createEvidenceStore(driver: Driver, acting = service) {
  const recorded = createRecorder(acting);

  async function checkpoint(sql: string, args: readonly number[] = []): Promise<StoredCheckpoint | null> {
    const [row] = await driver.query(sql, args);
    return row === undefined ? null : storedCheckpoint(row);
  }

  return {
    // Another thread may have told of a checkpoint a moment ago: whoever asks this one next is not told of less.
    async epochs() {
      return (await driver.query(`SELECT ${epochColumns} FROM log_epochs ORDER BY epoch`)).map(logEpoch);
    },
    async nextFirstId() {
      const [row] = await driver.query(`SELECT ${nextFirstId} AS id`);
      return row === undefined ? 1 : integer(row, "id");
    },
    /**
     * Opens an epoch, destroys the private key of the one before, and takes the setting away that says that one is due.
     * It begins with the first attestation that no checkpoint of the epoch before covers.
     * @param tiles what it begins with
     * @returns false when another epoch was opened, or another checkpoint signed, since `after` was read, or when what was
     *   noted does not hold any more
     */
    open(opening: EpochOpening, tiles: readonly Tile[]) {
      const { epoch, origin, after, noted } = opening;
      return driver.write(async (tx) => {
        const [[now = {}] = []] = await tx.batch([statement(selectOpening, [after.epoch])]);
        const firstId = integer(now, "first_id");
        const isAsRead =
          integer(now, "epoch") === after.epoch && integer(now, "signed_size") === after.signedSize;
        const isAsNoted =
          noted === undefined || (noted.firstId === firstId && noted.mark === textOrNull(now, "mark"));
        if (!isAsRead || !isAsNoted) return false;
        await tx.batch([
          ...openingStatements({ ...opening, firstId }, tiles),
          recorded({ action: "epoch opened", kind: "log", id: String(epoch), detail: origin }),
        ]);
        return true;
      });
    },
    /** Gives an epoch that has no leaf yet another origin, and its key sealed under that. @returns whether it had none */
    async rename(epoch: number, { origin, sealed }: Pick<LogEpoch, "origin" | "sealed">) {
      const [renamed] = await driver.batch([{ sql: rename, args: [epoch, origin, sealed] }]);
      return renamed?.length === 1;
    },
    /**
     * The next attestations in the order of their ids, from `firstId` on.
     * @returns their JWS; null in the place of one that is missing; fewer than `limit` at the end of the log
     * @throws TvsError STORE_CORRUPT when more are missing than anybody takes out by mistake
     */
    async attested(firstId: number, limit: number) {
      const [row] = await driver.query(attested, [firstId, limit]);
      if (row === undefined || integer(row, "n") === 0) return [];
      const found = utf8.decode(bytes(row, "jws")).split("\n");
      const isWhole = integer(row, "first") === firstId && integer(row, "spanned") === integer(row, "n");
      if (isWhole && found.length === integer(row, "n")) return found;
      const rows = await driver.query(attestedById, [firstId, limit]);
      return inTheirPlaces(rows, firstId).slice(0, limit);
    },
    /** How far the newest tree has come; null without a log. */
    async progress() {
      const [row] = await driver.query(progress);
      return row === undefined ? null : logProgress(row);
    },
    /** @returns false, having stored nothing, when another one has appended meanwhile */
    async append(appended: Appended) {
      const [moved] = await driver.batch(appendStatements(appended));
      return moved?.length === 1;
    },
    tiles: (epoch: number) => readTilesOf(driver, epoch),
    async newest() {
      return checkpoint(newest);
    },
    /**
     * Puts a checkpoint back that was signed, and lost before the database had it, unless there is one that is later than the
     * one that it names.
     */
    async keep({ epoch, size, signedAt, note }: StoredCheckpoint, previous: StoredCheckpoint | null) {
      await driver.batch([{ sql: putBack, args: [epoch, size, signedAt, note, ...placeOf(previous)] }]);
    },
    ofSize: (epoch: number, size: number) => checkpoint(ofSize, [epoch, size]),
    covering: (epoch: number, index: number) => checkpoint(covering, [epoch, index]),
    /** Attestations whose leaf hash may begin with a prefix. */
    async withPrefix(prefix: number) {
      return (await driver.query(withPrefix, [prefix])).map((row) => integer(row, "id"));
    },
  };
}

function openingStatements(opening: EpochOpening & { firstId: number }, tiles: readonly Tile[]): Statement[] {
  const { epoch, origin, publicKey, sealed, firstId, openedAt, reason, previous, after } = opening;
  const size = previous === null ? 0 : 1;
  const named = [epoch, origin, publicKey, sealed, firstId, size, openedAt, reason, previous];
  return [
    statement(insertEpoch, named),
    statement(destroyKeys, [epoch]),
    statement(endDue),
    ...cutStatements(after),
    // A log goes on in a new epoch because its database was replaced, or may have been.
    ...(epoch > 1 ? [moveTeacherIds(openedAt)] : []),
    ...insertRows(
      "log_tiles",
      ["epoch", "level", "position", "hashes"],
      tiles.map(({ level, position, hashes }) => [epoch, level, position, hashes]),
    ),
  ];
}

/** Takes off a tree that is being closed what no checkpoint covers, on every level that a tree can have. */
function cutStatements({ epoch, signedSize }: EpochOpening["after"]): Statement[] {
  const statements = [statement(cutSize, [epoch, signedSize])];
  for (let level = 0, left = signedSize; level < maxLevels; level++) {
    const [full, rest] = [Math.floor(left / tileHashes), left % tileHashes];
    const first = rest === 0 ? full : full + 1;
    statements.push(statement(cutTiles, [epoch, level, first]));
    if (rest > 0) statements.push(statement(cutTile, [epoch, level, full, rest * hashBytes]));
    left = full;
  }
  return statements;
}

const placeOf = (checkpoint: StoredCheckpoint | null) => [checkpoint?.epoch ?? 0, checkpoint?.size ?? 0];

function appendStatements({ epoch, from, to, tiles, firstId, prefixes, checkpoint, previous }: Appended) {
  const tileStatement = ({ level, position, hashes }: Tile): Statement => {
    return { sql: putTile, args: [epoch, to, level, position, hashes] };
  };
  const named = placeOf(previous);
  const move: Statement =
    checkpoint === null
      ? { sql: moveSize, args: [epoch, from, to] }
      : { sql: moveSigned, args: [epoch, from, to, ...named] };
  return [
    move,
    ...tiles.map(tileStatement),
    ...(prefixes.length === 0
      ? []
      : [{ sql: putPositions, args: [epoch, to, firstId, JSON.stringify(prefixes)] }]),
    ...(checkpoint === null
      ? []
      : [{ sql: putCheckpoint, args: [epoch, to, checkpoint.signedAt, checkpoint.note, ...named] }]),
  ];
}

/** @returns each JWS in the place of its id, and null where there is none. @throws TvsError STORE_CORRUPT */
function inTheirPlaces(rows: readonly Row[], firstId: number): (string | null)[] {
  const places: (string | null)[] = [];
  for (const row of rows) {
    const place = integer(row, "id") - firstId;
    if (place - places.length > maxMissing) {
      const message = "many attestations are missing from the evidence log; tvs log audit names the first";
      throw new TvsError("STORE_CORRUPT", message);
    }
    while (places.length < place) places.push(null);
    places.push(text(row, "jws"));
  }
  return places;
}

/** Tiles that are there, each at its place in the answer. */
function readTilesOf(driver: Driver, epoch: number): ReadTiles {
  return async (places) => {
    const tiles = places.map(() => new Uint8Array());
    if (places.length === 0) return tiles;
    const wanted = JSON.stringify(places.map(({ level, position }) => [level, position]));
    for (const row of await driver.query(tilesOf, [epoch, wanted]))
      tiles[integer(row, "place")] = new Uint8Array(bytes(row, "hashes"));
    return tiles;
  };
}

function logEpoch(row: Row): LogEpoch {
  return {
    epoch: integer(row, "epoch"),
    origin: text(row, "origin"),
    publicKey: bytes(row, "public_key"),
    sealed: bytesOrNull(row, "sealed"),
    firstId: integer(row, "first_id"),
    size: integer(row, "size"),
    openedAt: integer(row, "opened_at"),
    reason: textOrNull(row, "reason"),
    previous: textOrNull(row, "previous"),
  };
}

function logProgress(row: Row): LogProgress {
  const ahead = integer(row, "ahead");
  return {
    epoch: integer(row, "epoch"),
    origin: text(row, "origin"),
    size: integer(row, "size"),
    signedSize: integer(row, "signed_size"),
    signedAt: integerOrNull(row, "signed_at"),
    waiting: Math.max(0, ahead),
    missing: Math.max(0, -ahead),
  };
}

export function storedCheckpoint(row: Row): StoredCheckpoint {
  return {
    epoch: integer(row, "epoch"),
    size: integer(row, "size"),
    signedAt: integer(row, "signed_at"),
    note: text(row, "note"),
  };
}
