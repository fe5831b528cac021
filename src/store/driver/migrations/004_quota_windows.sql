-- A row for each window and no longer one for the latest of a kind: a call that came before the turn of the minute and
-- is answered after it is counted where it belongs, and two clocks that differ by a moment cannot undo each other.
ALTER TABLE quota_windows RENAME TO quota_latest;
CREATE TABLE quota_windows (
  partner_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('minute', 'day')),
  starts_at INTEGER NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (partner_id, kind, starts_at)
) STRICT, WITHOUT ROWID;
INSERT INTO quota_windows (partner_id, kind, starts_at, used) SELECT partner_id, kind, starts_at, used FROM quota_latest;
DROP TABLE quota_latest;
