-- Partners serve themselves: what each is told of, whom it watches, and which events it was told of.

-- Whether a partner changes its keys, its webhook and what it is told of by itself, and how many teachers it may watch.
ALTER TABLE partners ADD COLUMN self_service INTEGER NOT NULL DEFAULT 0 CHECK (self_service IN (0, 1));
ALTER TABLE partners ADD COLUMN watch_limit INTEGER NOT NULL DEFAULT 100000 CHECK (watch_limit >= 0);

-- What a partner is told of, with or without a webhook: a JSON array of event types, and of which teachers.
ALTER TABLE partners ADD COLUMN told_events TEXT NOT NULL DEFAULT '["license.verified","license.expired","license.revoked","license.reinstated","certificate.verified","certificate.revoked","teacher.deactivated"]';
ALTER TABLE partners ADD COLUMN told_teachers TEXT NOT NULL DEFAULT 'all' CHECK (told_teachers IN ('all', 'verified', 'watched'));
UPDATE partners SET (told_events, told_teachers) =
  (SELECT events, teachers FROM webhook_endpoints AS endpoint WHERE endpoint.partner_id = partners.partner_id)
  WHERE partner_id IN (SELECT partner_id FROM webhook_endpoints);
ALTER TABLE webhook_endpoints DROP COLUMN events;
ALTER TABLE webhook_endpoints DROP COLUMN teachers;

-- Whom a partner watches, by the canonical registration number: anybody, registered or not.
CREATE TABLE watches (
  partner_id TEXT NOT NULL,
  reg_no TEXT NOT NULL,
  PRIMARY KEY (partner_id, reg_no)
) STRICT, WITHOUT ROWID;

-- How many these are: counting a hundred thousand takes ten milliseconds, in which nobody else could commit.
CREATE TABLE watch_counts (
  partner_id TEXT PRIMARY KEY,
  watched INTEGER NOT NULL CHECK (watched >= 0)
) STRICT, WITHOUT ROWID;

-- Which events a partner is told of, written in the transaction of the event. Ids of events are given in the order of
-- commits and never again, so this is the order in which they are fetched. The newest row of each partner is never pruned.
CREATE TABLE told (
  partner_id TEXT NOT NULL,
  event INTEGER NOT NULL,
  told_at INTEGER NOT NULL,
  PRIMARY KEY (partner_id, event)
) STRICT, WITHOUT ROWID;
