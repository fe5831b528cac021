-- Who changed what, besides the teachers' own history: partners, credentials, endpoints, signing keys, settings, imports,
-- epochs of the log. A row is written in the commit of its change, and none is ever altered.
CREATE TABLE changes (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  -- cli:NAME for an operator, partner:ID for a partner, or service.
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  -- What was changed: its kind, a colon and its id.
  subject TEXT NOT NULL,
  detail TEXT
) STRICT;

CREATE INDEX changes_by_subject ON changes (subject, id);
CREATE INDEX changes_by_actor ON changes (actor, id);
