-- Several services over one libSQL server: who serves, and who does what only one may do (src/domain/nodes.ts). Times
-- are the database's own clock: those of the machines may differ.
CREATE TABLE nodes (
  node_id TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  url TEXT NOT NULL,
  version TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  -- By how much the node's clock was ahead of the database's, at least; negative when it was behind.
  clock_ahead_ms INTEGER NOT NULL,
  -- The pending signing key, once all of the node's threads have loaded it.
  pending_kid TEXT,
  -- The port of 127.0.0.1 on which the node has its console, if it has one.
  console_port INTEGER
) STRICT, WITHOUT ROWID;

-- Who holds a lease, and until when. The fence is another number with each new holder.
CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  node_id TEXT NOT NULL,
  fence INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- It let one service at a time use a server. One of an older program that is still cut off finds nothing to renew.
DROP TABLE service_claim;

-- The console of the one service that there was.
DELETE FROM settings WHERE name = 'console';
