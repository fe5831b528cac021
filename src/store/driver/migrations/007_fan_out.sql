-- Whom an event is told is decided by a statement of the program, which stands behind each event in its transaction.
DROP TRIGGER events_fan_out;
