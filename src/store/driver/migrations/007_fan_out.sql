-- Whom an event is told is decided by a statement of the program, which stands behind each event in its transaction.
DROP TRIGGER events_fan_out;

-- A command of an older program that is still running would go on storing events, and nobody would be told of them. By
-- the column's new name it fails instead, and with it the whole of its change; an import is taken up by this program.
ALTER TABLE events RENAME COLUMN body TO content;
