-- The evidence log: a Merkle tree (RFC 6962) over the attestations in the order of their ids, which is the order of their
-- commits. It is built behind them (src/domain/log/); times are milliseconds since the Unix epoch.

-- Trees, one after another. A new one is opened when a database was put back to an earlier state, or its key or its name
-- is no longer good; it begins with a leaf of its own, by which it names the last checkpoint of the one before.
CREATE TABLE log_epochs (
  epoch INTEGER PRIMARY KEY,
  origin TEXT NOT NULL UNIQUE,
  -- Ed25519: 32 bytes, and the private half, sealed under the master key; NULL once a later epoch is opened.
  public_key BLOB NOT NULL,
  sealed BLOB,
  -- The id of the first attestation in it, whether it is there already or not.
  first_id INTEGER NOT NULL,
  -- How many leaves the tree has, signed for or not yet.
  size INTEGER NOT NULL,
  opened_at INTEGER NOT NULL,
  reason TEXT,
  previous TEXT,
  CHECK ((epoch = 1) = (previous IS NULL))
) STRICT;

-- 256 hashes each: level 0 has the leaves', each further one the roots of the full tiles below it. The last of a level may
-- have fewer. Hashes stay when the attestations are deleted.
CREATE TABLE log_tiles (
  epoch INTEGER NOT NULL,
  level INTEGER NOT NULL,
  position INTEGER NOT NULL,
  hashes BLOB NOT NULL,
  PRIMARY KEY (epoch, level, position)
) STRICT;

-- Where a leaf's hash stands: the first six bytes of it, and the attestation's id. Parts of 2^18 attestations, so that
-- what is written in the order of hashes is always a small tree.
CREATE TABLE log_positions (
  part INTEGER NOT NULL,
  prefix INTEGER NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (part, prefix, id)
) STRICT, WITHOUT ROWID;

-- Every checkpoint that was ever signed, as it left.
CREATE TABLE log_checkpoints (
  epoch INTEGER NOT NULL,
  size INTEGER NOT NULL,
  signed_at INTEGER NOT NULL,
  note TEXT NOT NULL,
  PRIMARY KEY (epoch, size)
) STRICT, WITHOUT ROWID;

-- Checkpoints that were handed out: to a folder, or to a time-stamp authority, whose answer is kept.
CREATE TABLE log_anchors (
  id INTEGER PRIMARY KEY,
  epoch INTEGER NOT NULL,
  size INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('folder', 'rfc3161')),
  place TEXT NOT NULL,
  anchored_at INTEGER NOT NULL,
  token BLOB,
  CHECK ((kind = 'rfc3161') = (token IS NOT NULL))
) STRICT;
