-- The evidence log has no index that is written in another order than the log itself: a page of a large index
-- would have to be read and written for every answer. What such indexes were for is built behind the log, in steps.

-- Which partners have ever verified a teacher, 62 teachers a row: the fan-out of events asks for it. It outlives the
-- attestations that it was made from.
CREATE TABLE verified_teachers (
  partner_id TEXT NOT NULL,
  block INTEGER NOT NULL,
  mask INTEGER NOT NULL,
  PRIMARY KEY (partner_id, block)
) STRICT, WITHOUT ROWID;

-- For each stretch of the log a filter of whom and of whose calls it speaks (src/store/stretch-filter.ts).
CREATE TABLE attestation_stretches (
  last_id INTEGER PRIMARY KEY,
  first_id INTEGER NOT NULL,
  filter BLOB NOT NULL
) STRICT;

-- verified_through: the last attestation that stands in verified_teachers. kept_from: everything issued before, in
-- seconds since the epoch, may have been deleted; NULL as long as nothing was.
CREATE TABLE attestation_upkeep (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  verified_through INTEGER NOT NULL,
  kept_from INTEGER,
  pruned INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO attestation_upkeep (id, verified_through) SELECT 1, coalesce(max(id), 0) FROM attestations;

-- Through the old index, which holds all that is needed, before it goes.
INSERT INTO verified_teachers (partner_id, block, mask)
  SELECT partner_id, teacher_id / 62, sum(DISTINCT 1 << (teacher_id % 62)) FROM attestations
  WHERE teacher_id IS NOT NULL GROUP BY 1, 2;

DROP INDEX attestations_by_partner;
DROP INDEX attestations_by_teacher;
DROP INDEX attestations_by_nin;

-- As in 002, but that whoever verified the teacher is found in verified_teachers and in the newest rows after it.
DROP TRIGGER events_fan_out;
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
    AND (endpoint.teachers = 'all'
      OR EXISTS (SELECT 1 FROM verified_teachers WHERE partner_id = endpoint.partner_id
        AND block = NEW.teacher_id / 62 AND (mask >> (NEW.teacher_id % 62)) & 1)
      OR EXISTS (SELECT 1 FROM attestations WHERE id > (SELECT verified_through FROM attestation_upkeep WHERE id = 1)
        AND teacher_id = NEW.teacher_id AND partner_id = endpoint.partner_id))
  ; UPDATE delivery_revision SET value = value + 1 ; END;
