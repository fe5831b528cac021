-- Whom the signed status lists show (src/store/status-lists.ts), found without going through everybody: those who are
-- deactivated or whose licence is revoked, and those whose certificate was VERIFIED once and was taken from them.
CREATE INDEX teachers_withdrawn ON teachers (id) WHERE active = 0 OR license_revoked_on IS NOT NULL;
CREATE INDEX history_of_annulled ON history (teacher_id) WHERE certificate_from = 'VERIFIED' AND certificate_to <> 'VERIFIED';
