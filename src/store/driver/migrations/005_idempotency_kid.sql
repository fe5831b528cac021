-- The key that signed an answer: once it is declared compromised, the answer is not handed out again.
ALTER TABLE idempotency ADD COLUMN kid TEXT;
UPDATE idempotency SET kid = coalesce(json_extract(headers, '$."X-Signature-Kid"'), json_extract(body, '$.results[0].signatureKid'));
