-- Times are milliseconds since the Unix epoch, dates are YYYY-MM-DD, blind indexes 16 bytes of HMAC-SHA-256.
-- Each statement ends with a semicolon at the end of a line; a trigger therefore stands on one line.

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Bumped by triggers on everything that a running service keeps in memory: it re-reads when this moves.
CREATE TABLE revision (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  value INTEGER NOT NULL
) STRICT;

INSERT INTO revision (id, value) VALUES (1, 1);

-- Only a libSQL server needs this row; a database file is claimed by a lock of the operating system.
CREATE TABLE service_claim (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  holder TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE teachers (
  id INTEGER PRIMARY KEY,
  reg_no TEXT NOT NULL UNIQUE,
  t_id INTEGER UNIQUE,
  name TEXT NOT NULL,
  nin_index BLOB UNIQUE,
  nin_verified INTEGER NOT NULL DEFAULT 0,
  email_index BLOB,
  phone_index BLOB,
  state TEXT,
  category TEXT,
  source TEXT NOT NULL CHECK (source IN ('new_system', 'legacy')),
  active INTEGER NOT NULL DEFAULT 1,
  certificate_status TEXT NOT NULL CHECK (certificate_status IN ('VERIFIED', 'NOT_FOUND', 'CLAIMED', 'LEGACY_RECORD')),
  certificate_issue_date TEXT,
  license_issue_date TEXT,
  license_expiry_date TEXT,
  license_revoked_on TEXT,
  license_revoked_reason TEXT,
  photo_url TEXT,
  profile TEXT,
  -- The licence status that partners were last told. A licence changes by the calendar alone, without a
  -- write, so this is what the sweep and every change compare with.
  announced_status TEXT NOT NULL CHECK (announced_status IN ('VALID', 'EXPIRED', 'NOT_FOUND', 'REVOKED')),
  -- Moves with every write: a change is applied only to the version that it was computed from.
  version INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE INDEX teachers_by_email ON teachers (email_index) WHERE email_index IS NOT NULL;
CREATE INDEX teachers_by_phone ON teachers (phone_index) WHERE phone_index IS NOT NULL;
CREATE INDEX teachers_due_to_expire ON teachers (license_expiry_date) WHERE announced_status = 'VALID';
CREATE INDEX teachers_due_to_start ON teachers (license_issue_date) WHERE announced_status = 'NOT_FOUND' AND active = 1 AND license_issue_date IS NOT NULL;

-- What happened to a teacher's record, for the operator; what partners are told stands in events.
CREATE TABLE history (
  id INTEGER PRIMARY KEY,
  teacher_id INTEGER NOT NULL REFERENCES teachers (id),
  at INTEGER NOT NULL,
  action TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT,
  license_from TEXT,
  license_to TEXT,
  certificate_from TEXT,
  certificate_to TEXT,
  active_from INTEGER,
  active_to INTEGER
) STRICT;

CREATE INDEX history_by_teacher ON history (teacher_id, id);

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  event_id TEXT NOT NULL UNIQUE,
  teacher_id INTEGER REFERENCES teachers (id),
  event_type TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  -- The exact bytes that every delivery of this event carries.
  body TEXT NOT NULL
) STRICT;

CREATE INDEX events_by_teacher ON events (teacher_id, id);

CREATE TABLE partners (
  partner_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  purposes TEXT NOT NULL,
  per_minute INTEGER NOT NULL CHECK (per_minute >= 0),
  per_day INTEGER NOT NULL CHECK (per_day >= 0),
  batch_cost TEXT NOT NULL CHECK (batch_cost IN ('call', 'item')),
  created_at INTEGER NOT NULL,
  disabled_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
  key_id TEXT PRIMARY KEY,
  partner_id TEXT NOT NULL REFERENCES partners (partner_id),
  mac BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX api_keys_by_partner ON api_keys (partner_id);

CREATE TABLE certificates (
  fingerprint TEXT PRIMARY KEY,
  partner_id TEXT NOT NULL REFERENCES partners (partner_id),
  subject TEXT NOT NULL,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER NOT NULL,
  added_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX certificates_by_partner ON certificates (partner_id);

CREATE TABLE signing_keys (
  kid TEXT PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('pending', 'active', 'retired', 'compromised')),
  public_jwk TEXT NOT NULL,
  -- The private half, sealed under the master key; NULL once the key is retired or compromised.
  sealed BLOB,
  created_at INTEGER NOT NULL,
  published_at INTEGER NOT NULL,
  activated_at INTEGER,
  retired_at INTEGER,
  compromised_since INTEGER,
  CHECK ((state IN ('pending', 'active')) = (sealed IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX one_active_key ON signing_keys (state) WHERE state = 'active';
CREATE UNIQUE INDEX one_pending_key ON signing_keys (state) WHERE state = 'pending';

-- One row a partner and kind of window: what has been used of the window that began at starts_at.
CREATE TABLE quota_windows (
  partner_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('minute', 'day')),
  starts_at INTEGER NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (partner_id, kind)
) STRICT, WITHOUT ROWID;

-- Keys and bodies of callers may hold personal data, so both stand here only as keyed hashes.
CREATE TABLE idempotency (
  id BLOB PRIMARY KEY,
  fingerprint BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE INDEX idempotency_by_age ON idempotency (created_at);

CREATE TABLE attestations (
  id INTEGER PRIMARY KEY,
  verification_id TEXT NOT NULL UNIQUE,
  partner_id TEXT NOT NULL,
  issued_at INTEGER NOT NULL,
  kid TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  purpose TEXT NOT NULL,
  policy_version TEXT NOT NULL,
  teacher_id INTEGER,
  -- What was asked: regNo:…, tId:…, or only the word nin, whose blind index then stands beside it.
  reference TEXT NOT NULL,
  nin_index BLOB,
  status TEXT NOT NULL,
  eligible INTEGER NOT NULL,
  context TEXT,
  credential TEXT NOT NULL,
  request_id TEXT NOT NULL,
  jws TEXT NOT NULL
) STRICT;

CREATE INDEX attestations_by_partner ON attestations (partner_id, id);
CREATE INDEX attestations_by_teacher ON attestations (teacher_id, partner_id) WHERE teacher_id IS NOT NULL;
CREATE INDEX attestations_by_nin ON attestations (nin_index, id) WHERE nin_index IS NOT NULL;

CREATE TABLE imports (
  id INTEGER PRIMARY KEY,
  file TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  -- The options that change what is written: a run goes on only under the same ones.
  options TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  -- Set when another import began while this one was unfinished.
  abandoned_at INTEGER,
  -- The last row of the file that is applied, rejected rows counted; a run that was killed goes on after it.
  applied INTEGER NOT NULL,
  inserted INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  unchanged INTEGER NOT NULL,
  rejected INTEGER NOT NULL,
  warnings INTEGER NOT NULL,
  events INTEGER NOT NULL
) STRICT;

CREATE TRIGGER settings_inserted AFTER INSERT ON settings BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER settings_updated AFTER UPDATE ON settings BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER partners_inserted AFTER INSERT ON partners BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER partners_updated AFTER UPDATE ON partners BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER api_keys_inserted AFTER INSERT ON api_keys BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER api_keys_updated AFTER UPDATE ON api_keys BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER certificates_inserted AFTER INSERT ON certificates BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER certificates_deleted AFTER DELETE ON certificates BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER signing_keys_inserted AFTER INSERT ON signing_keys BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER signing_keys_updated AFTER UPDATE ON signing_keys BEGIN UPDATE revision SET value = value + 1; END;
