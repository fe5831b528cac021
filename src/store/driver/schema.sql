-- The tables of a register. Times are milliseconds since the Unix epoch unless a comment says seconds, dates are
-- YYYY-MM-DD, blind indexes are 16 bytes of HMAC-SHA-256.
-- A semicolon at the end of a line ends a statement, so a trigger has one line. Comments have lines of their own.

-- The applied steps of the schema (schema.ts).
CREATE TABLE schema_steps (number INTEGER PRIMARY KEY) STRICT;

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Triggers raise the value with each change of rows that a service keeps in memory, so that the service reads them
-- again.
CREATE TABLE revision (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  value INTEGER NOT NULL
) STRICT;

INSERT INTO revision (id, value) VALUES (1, 1);

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
  -- Only the operator finds a hidden teacher. No other teacher gets the numbers. The status lists show a withdrawal.
  hidden INTEGER NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1)),
  certificate_status TEXT NOT NULL CHECK (certificate_status IN ('VERIFIED', 'NOT_FOUND', 'CLAIMED', 'LEGACY_RECORD')),
  certificate_issue_date TEXT,
  license_issue_date TEXT,
  license_expiry_date TEXT,
  license_revoked_on TEXT,
  license_revoked_reason TEXT,
  -- An empty cell of an extract lifts only a revocation that an extract made.
  license_revoked_by TEXT CHECK (license_revoked_by IN ('operator', 'extract')),
  photo_url TEXT,
  profile TEXT,
  -- The licence status that the last event announced. By the calendar a status changes without a write, so the sweep
  -- and each change compare the present status with this one.
  announced_status TEXT NOT NULL CHECK (announced_status IN ('VALID', 'EXPIRED', 'NOT_FOUND', 'REVOKED')),
  -- Rises with every write. A change applies only to the version from which it was computed.
  version INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE INDEX teachers_by_email ON teachers (email_index) WHERE email_index IS NOT NULL;
CREATE INDEX teachers_by_phone ON teachers (phone_index) WHERE phone_index IS NOT NULL;
CREATE INDEX teachers_due_to_expire ON teachers (license_expiry_date) WHERE announced_status = 'VALID';
CREATE INDEX teachers_due_to_start ON teachers (license_issue_date) WHERE announced_status = 'NOT_FOUND' AND active = 1 AND license_issue_date IS NOT NULL;
-- This index and two of the history below are for the status lists (src/store/status-lists.ts).
CREATE INDEX teachers_withdrawn ON teachers (id) WHERE active = 0 OR license_revoked_on IS NOT NULL OR hidden = 1;

-- The changes of each teacher's record, for the operator. Partners get events.
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
CREATE INDEX history_of_annulled ON history (teacher_id) WHERE certificate_from = 'VERIFIED' AND certificate_to <> 'VERIFIED';
CREATE INDEX history_of_ended ON history (teacher_id) WHERE license_from = 'VALID' AND license_to <> 'VALID' AND action <> 'sweep';

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  event_id TEXT NOT NULL UNIQUE,
  teacher_id INTEGER REFERENCES teachers (id),
  event_type TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  -- The exact bytes that every delivery of this event carries.
  content TEXT NOT NULL
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
  disabled_at INTEGER,
  watch_limit INTEGER NOT NULL DEFAULT 100000 CHECK (watch_limit >= 0),
  -- The event filter: which events, as a JSON array of types, and of which teachers.
  event_filter TEXT NOT NULL DEFAULT '["license.verified","license.expired","license.revoked","license.reinstated","certificate.verified","certificate.revoked","teacher.deactivated"]',
  teacher_filter TEXT NOT NULL DEFAULT 'all' CHECK (teacher_filter IN ('all', 'verified', 'watched'))
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
  -- The private key, sealed under the master key; NULL once the key is retired or compromised.
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

-- The calls charged to each fixed window. A call is charged to the window of its arrival, even if answered later.
CREATE TABLE quota_windows (
  partner_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('minute', 'day')),
  starts_at INTEGER NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (partner_id, kind, starts_at)
) STRICT, WITHOUT ROWID;

-- Idempotency keys and request bodies may hold personal data, so only keyed hashes of them are stored.
CREATE TABLE idempotency (
  id BLOB PRIMARY KEY,
  fingerprint BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body TEXT NOT NULL,
  -- The signing key of the answer. If the key is compromised, the answer is not replayed.
  kid TEXT
) STRICT;

CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- issued_at is in seconds.
CREATE TABLE attestations (
  id INTEGER PRIMARY KEY,
  verification_id TEXT NOT NULL UNIQUE,
  partner_id TEXT NOT NULL,
  issued_at INTEGER NOT NULL,
  kid TEXT NOT NULL,
  operation TEXT NOT NULL,
  purpose TEXT NOT NULL,
  policy_version TEXT NOT NULL,
  teacher_id INTEGER,
  -- The identifier in the call: regNo:… or tId:…. For a NIN it is only the word nin; nin_index has the blind index.
  reference TEXT NOT NULL,
  nin_index BLOB,
  status TEXT NOT NULL,
  eligible INTEGER NOT NULL,
  context TEXT,
  credential TEXT NOT NULL,
  request_id TEXT NOT NULL,
  jws TEXT NOT NULL
) STRICT;

CREATE INDEX attestations_by_partner ON attestations (partner_id);
CREATE INDEX attestations_by_teacher ON attestations (teacher_id) WHERE teacher_id IS NOT NULL;
CREATE INDEX attestations_by_nin ON attestations (nin_index) WHERE nin_index IS NOT NULL;

-- The partners that verified a teacher, by attestations that retention has deleted.
CREATE TABLE verified_before (
  teacher_id INTEGER NOT NULL,
  partner_id TEXT NOT NULL,
  PRIMARY KEY (teacher_id, partner_id)
) STRICT, WITHOUT ROWID;

-- The people of each statement, whose row in attestations names no person. A person is found by the teacher's id, or by
-- the blind index of the NIN in the call.
CREATE TABLE statement_people (
  attestation_id INTEGER NOT NULL,
  -- The first row of the list that names the person, from 1.
  place INTEGER NOT NULL,
  teacher_id INTEGER,
  nin_index BLOB,
  status TEXT NOT NULL,
  eligible INTEGER NOT NULL,
  PRIMARY KEY (attestation_id, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX statement_people_by_teacher ON statement_people (teacher_id) WHERE teacher_id IS NOT NULL;
CREATE INDEX statement_people_by_nin ON statement_people (nin_index) WHERE nin_index IS NOT NULL;

CREATE TABLE imports (
  id INTEGER PRIMARY KEY,
  file TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  -- 1 for the made-up teachers of a sandbox.
  is_sample INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  -- When another import began before this one was finished.
  abandoned_at INTEGER,
  -- How many rows of the file are applied, including rejected rows before the last applied one.
  applied INTEGER NOT NULL,
  inserted INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  unchanged INTEGER NOT NULL,
  rejected INTEGER NOT NULL,
  warnings INTEGER NOT NULL,
  events INTEGER NOT NULL,
  -- A JSON array of the file's fields, for the next import to compare. NULL until the import is finished.
  fields TEXT,
  -- JSON: the licences, certificates and revocations that the applied rows removed, with the numbers before, or that
  -- --allow-change permitted the losses. The brake adds up the imports of a day.
  losses TEXT NOT NULL,
  -- Digests of the rejected rows, by which the next import recognises them.
  rejections TEXT
) STRICT;

-- For each code of an import: the number of its rows, and where the first of them are in the file, as [[line, column],
-- ...]. No value of the file is stored.
CREATE TABLE import_codes (
  import_id INTEGER NOT NULL REFERENCES imports (id),
  code TEXT NOT NULL,
  row_count INTEGER NOT NULL,
  first_rows TEXT NOT NULL,
  PRIMARY KEY (import_id, code)
) STRICT, WITHOUT ROWID;

-- The changes of partners, credentials, endpoints, signing keys, settings, imports and logs. A row is written in the
-- transaction of its change and is never updated.
CREATE TABLE changes (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  -- cli:NAME for an operator; service for the service.
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  -- The kind and the id of the changed thing, joined by a colon.
  subject TEXT NOT NULL,
  detail TEXT
) STRICT;

CREATE INDEX changes_by_subject ON changes (subject, id);
CREATE INDEX changes_by_actor ON changes (actor, id);

CREATE TABLE webhook_endpoints (
  partner_id TEXT PRIMARY KEY REFERENCES partners (partner_id),
  url TEXT NOT NULL,
  -- Sealed under the master key. Until previous_until the previous secret signs deliveries too.
  secret BLOB NOT NULL,
  previous_secret BLOB,
  previous_until INTEGER,
  created_at INTEGER NOT NULL,
  disabled_at INTEGER,
  disabled_reason TEXT CHECK (disabled_reason IN ('operator', 'gone', 'failing')),
  failing_since INTEGER,
  last_error TEXT,
  CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
  CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY,
  delivery_id TEXT NOT NULL UNIQUE,
  event INTEGER NOT NULL REFERENCES events (id),
  partner_id TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead')),
  -- attempts counts all attempts, schedule_from the attempts before the present schedule began.
  attempts INTEGER NOT NULL DEFAULT 0,
  schedule_from INTEGER NOT NULL DEFAULT 0,
  -- 0 means due now. While a sender has a lease, this is the end of the lease.
  due_at INTEGER NOT NULL DEFAULT 0,
  lease TEXT,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  CHECK ((state = 'pending') = (finished_at IS NULL))
) STRICT;

CREATE INDEX deliveries_pending ON deliveries (partner_id, due_at) WHERE state = 'pending';
CREATE INDEX deliveries_dead ON deliveries (partner_id, finished_at) WHERE state = 'dead';
CREATE INDEX deliveries_by_partner ON deliveries (partner_id);

CREATE TABLE delivery_attempts (
  delivery INTEGER NOT NULL REFERENCES deliveries (id),
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  status INTEGER,
  error TEXT,
  duration_ms INTEGER NOT NULL,
  PRIMARY KEY (delivery, number)
) STRICT, WITHOUT ROWID;

-- The events published to each partner, written in the transaction of the event. Event ids grow in the order of commits
-- and are never reused, so partners fetch events in this order. The newest row of a partner is never deleted.
CREATE TABLE partner_events (
  partner_id TEXT NOT NULL,
  event INTEGER NOT NULL,
  published_at INTEGER NOT NULL,
  PRIMARY KEY (partner_id, event)
) STRICT, WITHOUT ROWID;

-- The canonical registration numbers that each partner watches, of registered teachers or not.
CREATE TABLE watches (
  partner_id TEXT NOT NULL,
  reg_no TEXT NOT NULL,
  PRIMARY KEY (partner_id, reg_no)
) STRICT, WITHOUT ROWID;

-- The length of each watch list. Counting 100,000 rows would hold the write lock for ten milliseconds.
CREATE TABLE watch_counts (
  partner_id TEXT PRIMARY KEY,
  watched INTEGER NOT NULL CHECK (watched >= 0)
) STRICT, WITHOUT ROWID;

-- The leader among the nodes of one libSQL server, and the end of its lease by the server's clock. Each time a node
-- becomes leader, it takes a new holder id.
CREATE TABLE leader (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  holder TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

-- The evidence log: a Merkle tree (RFC 6962) over the attestations in the order of their ids, which is the order of
-- their commits (src/domain/evidence/). The attestation with the id N has the leaf with the index N - 1.

-- The names and keys of the evidence logs. After a restore or a loss of evidence the log continues under a new name and
-- key. The newest log signs.
CREATE TABLE logs (
  number INTEGER PRIMARY KEY,
  origin TEXT NOT NULL,
  -- Ed25519: the public key in 32 bytes, and the private key, sealed under the master key until a later log begins.
  public_key BLOB NOT NULL,
  sealed BLOB,
  begun_at INTEGER NOT NULL,
  reason TEXT,
  -- The last known checkpoint of the previous log.
  previous TEXT,
  -- The number of leaves at the beginning of the log.
  first_size INTEGER NOT NULL,
  -- Authenticates the row, except the sealed key, under the master key.
  mac BLOB NOT NULL
) STRICT;

-- Tiles of 256 hashes. Level 0 has the leaves; each level above has the root of each full tile below. The last tile of
-- a level may have fewer. Hashes stay when attestations are deleted.
CREATE TABLE log_tiles (
  level INTEGER NOT NULL,
  position INTEGER NOT NULL,
  hashes BLOB NOT NULL,
  PRIMARY KEY (level, position)
) STRICT;

-- The index of leaf hashes: the first six bytes of a hash, and the id of its attestation. It is in parts of 2^18
-- attestations, because hashes come in random order: an insert would otherwise touch pages of the whole index.
CREATE TABLE log_positions (
  part INTEGER NOT NULL,
  prefix INTEGER NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (part, prefix, id)
) STRICT, WITHOUT ROWID;

-- Every signed checkpoint, byte for byte.
CREATE TABLE log_checkpoints (
  size INTEGER NOT NULL,
  log INTEGER NOT NULL,
  signed_at INTEGER NOT NULL,
  note TEXT NOT NULL,
  PRIMARY KEY (size, log)
) STRICT, WITHOUT ROWID;

-- A note, signed by the log, that says which attestations retention has deleted (src/domain/evidence/retention.ts). The
-- table is empty before the first deletion.
CREATE TABLE log_retention (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  note TEXT NOT NULL
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
