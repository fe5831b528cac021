-- What an import was about to take away, with what there was, as JSON, or that --allow-change let it: the brake adds
-- up a day's imports. And the digests of the rows that it rejected, by which the next one knows them again. NULL for
-- an import of an earlier release.
ALTER TABLE imports ADD COLUMN losses TEXT;
ALTER TABLE imports ADD COLUMN rejections TEXT;
