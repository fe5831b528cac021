-- What retention has deleted, authenticated under the master key (src/domain/log/retention-mark.ts); NULL until the first
-- checkpoint that names the one before it. kept_from and pruned beside it say the same for the release before.
ALTER TABLE attestation_upkeep ADD COLUMN mark TEXT;
