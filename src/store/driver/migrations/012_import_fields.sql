-- Which fields the file of an import brought, as a JSON array of their names: the next one is compared with it. NULL for
-- an import of an earlier release.
ALTER TABLE imports ADD COLUMN fields TEXT;
