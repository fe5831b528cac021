-- Webhooks: where partners are told of status changes, and what is still to be told (decisions, Webhooks).

CREATE TABLE webhook_endpoints (
  partner_id TEXT PRIMARY KEY REFERENCES partners (partner_id),
  url TEXT NOT NULL,
  -- A JSON array of the event types that are subscribed to.
  events TEXT NOT NULL,
  teachers TEXT NOT NULL CHECK (teachers IN ('all', 'verified')),
  -- Sealed under the master key; the earlier one signs too until the rotation is over.
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
  -- Attempts made in all, and how many of them were made before the current schedule began.
  attempts INTEGER NOT NULL DEFAULT 0,
  schedule_from INTEGER NOT NULL DEFAULT 0,
  -- 0 is due at once whatever the clock says. While a sender holds the lease, this is when the lease ends.
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

-- Moves when there is something new for a sender. A row of its own, so that an import's deliveries do not make
-- the service read its partners again.
CREATE TABLE delivery_revision (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  value INTEGER NOT NULL
) STRICT;

INSERT INTO delivery_revision (id, value) VALUES (1, 1);

-- The outbox. A trigger, so that no path which stores an event can forget its deliveries, and each event has
-- exactly those of the endpoints that its own transaction sees. It does not count in changes(), on which the
-- statements of a change rely. The ids are UUIDs of version 7 with the event's time. An event that names nobody
-- is a test, whose one delivery is made beside it.
CREATE TRIGGER events_fan_out AFTER INSERT ON events
WHEN NEW.teacher_id IS NOT NULL AND EXISTS (SELECT 1 FROM webhook_endpoints)
BEGIN
  INSERT INTO deliveries (delivery_id, event, partner_id, created_at)
  SELECT substr(NEW.event_id, 1, 14) || '7' || substr(lower(hex(randomblob(2))), 2) || '-'
      || substr('89ab', 1 + (random() & 3), 1) || substr(lower(hex(randomblob(2))), 2) || '-' || lower(hex(randomblob(6))),
    NEW.id, endpoint.partner_id,
    coalesce((SELECT updated_at FROM teachers WHERE id = NEW.teacher_id), NEW.occurred_at)
  FROM webhook_endpoints AS endpoint CROSS JOIN partners USING (partner_id)
  WHERE partners.disabled_at IS NULL AND instr(endpoint.events, '"' || NEW.event_type || '"') > 0
    AND (endpoint.teachers = 'all' OR EXISTS (
      SELECT 1 FROM attestations WHERE teacher_id = NEW.teacher_id AND partner_id = endpoint.partner_id))
  ; UPDATE delivery_revision SET value = value + 1 ; END;

CREATE TRIGGER webhook_endpoints_inserted AFTER INSERT ON webhook_endpoints BEGIN UPDATE delivery_revision SET value = value + 1; END;
CREATE TRIGGER webhook_endpoints_updated AFTER UPDATE OF url, secret, previous_secret, previous_until, disabled_at ON webhook_endpoints BEGIN UPDATE delivery_revision SET value = value + 1; END;
CREATE TRIGGER webhook_endpoints_deleted AFTER DELETE ON webhook_endpoints BEGIN UPDATE delivery_revision SET value = value + 1; END;
