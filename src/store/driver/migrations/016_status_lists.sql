-- Whom the signed status lists show (src/store/status-lists.ts), found without going through everybody: those who are
-- deactivated or whose licence is revoked, those whose certificate was VERIFIED once and was taken from them, and those
-- whose licence was VALID once and stopped being so by somebody's act, not by its own end.
CREATE INDEX teachers_withdrawn ON teachers (id) WHERE active = 0 OR license_revoked_on IS NOT NULL;
CREATE INDEX history_of_annulled ON history (teacher_id) WHERE certificate_from = 'VERIFIED' AND certificate_to <> 'VERIFIED';
CREATE INDEX history_of_ended ON history (teacher_id) WHERE license_from = 'VALID' AND license_to <> 'VALID' AND action <> 'sweep';
