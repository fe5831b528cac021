-- A hidden teacher is found by nobody but the operator, and keeps every number. The status lists show them as withdrawn.
ALTER TABLE teachers ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1));
DROP INDEX teachers_withdrawn;
CREATE INDEX teachers_withdrawn ON teachers (id) WHERE active = 0 OR license_revoked_on IS NOT NULL OR hidden = 1;
