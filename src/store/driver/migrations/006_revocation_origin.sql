-- Who made the revocation that a record holds: the operator by a command, or an extract. Only an extract's own is
-- lifted by an extract's empty cell. NULL beside a revocation, as a program that does not know the column leaves it,
-- counts as the operator's.
ALTER TABLE teachers ADD COLUMN license_revoked_by TEXT CHECK (license_revoked_by IN ('operator', 'extract'));

-- Every command leaves a line in the history, so a revocation without one since the last reinstatement came with an
-- extract. A record without any import in its history tells nothing, and what is not known is protected.
UPDATE teachers SET license_revoked_by = CASE
    WHEN NOT EXISTS (SELECT 1 FROM history WHERE teacher_id = teachers.id AND action = 'import') THEN 'operator'
    WHEN EXISTS (SELECT 1 FROM history WHERE teacher_id = teachers.id AND action = 'revoke' AND id > coalesce(
      (SELECT max(id) FROM history WHERE teacher_id = teachers.id AND action = 'reinstate'), 0)) THEN 'operator'
    ELSE 'extract' END
  WHERE license_revoked_on IS NOT NULL;
