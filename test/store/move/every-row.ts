import { createStores } from "../../../cli/open.ts";
import type { Driver } from "../../../src/store/driver/driver.ts";
import { openEmbedded } from "../../../src/store/driver/embedded.ts";
import { makeSchema } from "../../../src/store/driver/schema.ts";
import { anApiKey, aPartner, aSigningKey } from "../../harness/samples.ts";

/** A number that no double holds. */
export const largeInteger = "4611686018427387905";

/**
 * A register with a row of every kind, and in them whatever could arrive changed: integers past 2^53, text that looks
 * like a number, quotes, line feeds and characters of every length, empty text and bytes beside none, row ids that
 * nobody gave and that have gaps.
 */
export async function makeEveryRow(file: string): Promise<void> {
  const driver = await openEmbedded({ file });
  try {
    await makeSchema(driver);
    await makeRows(driver);
  } finally {
    await driver.close();
  }
}

const teachers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
  INSERT INTO teachers (id, reg_no, t_id, name, nin_index, email_index, source, certificate_status, announced_status,
    license_issue_date, profile, version, updated_at)
  SELECT i * 3, 'LA/2019/PRI/' || i, CASE WHEN i % 2 THEN i END, CASE i WHEN 1 THEN '' WHEN 2 THEN '6' WHEN 3 THEN '007'
      WHEN 4 THEN 'Ọláńrewájú 🙂 "q" \\ ' || char(10, 9, 1, 127, 8232) ELSE 'Ada Obi ' || i END,
    CASE WHEN i % 3 THEN CAST('index' || i AS BLOB) END, CASE i WHEN 5 THEN x'' WHEN 6 THEN x'0022005cff' END,
    'legacy', 'CLAIMED', 'NOT_FOUND', NULL, hex(zeroblob(i % 400)), 1, -i FROM n`;

const statements = [
  teachers,
  "INSERT INTO history (teacher_id, at, action, actor, active_from) VALUES (3, 1, 'import', 'cli:a', 0), (6, 2, 'revoke', 'cli:ß', NULL)",
  "INSERT INTO events (event_id, teacher_id, event_type, occurred_at, content) VALUES ('e1', 3, 'license.revoked', 5, '{\"a\":\"\\u00e9\"}'), ('e2', NULL, 'license.expired', 6, '{}')",
  "INSERT INTO certificates (fingerprint, partner_id, subject, valid_from, valid_to, added_at) VALUES ('f', 'board', 'CN=é, O=\"x\"', 1, 2, 3)",
  "INSERT INTO idempotency (rowid, id, fingerprint, created_at, headers, body, kid) VALUES (9, x'01', x'', 7, '{}', '{\"n\":6}', NULL), (4, x'02', x'ff', 8, '{}', '', 'A')",
  "DELETE FROM idempotency WHERE id = x'01'",
  "INSERT INTO idempotency (id, fingerprint, created_at, headers, body, kid) VALUES (x'00', x'00', 9, '{}', '[]', 'A')",
  "INSERT INTO attestations (verification_id, partner_id, issued_at, kid, endpoint, purpose, policy_version, teacher_id, reference, nin_index, status, eligible, context, credential, request_id, jws) SELECT 'v' || value, 'board', value, 'A', 'batch', 'P', '1', NULL, 'nin', x'0a', 'VALID', 1, '{}', 'key', 'r', 'h.p.' || hex(zeroblob(700)) FROM json_each('[1,2,3,4,5,6,7,8]')",
  "INSERT INTO imports (file, sha256, is_sample, started_at, finished_at, applied, inserted, updated, unchanged, rejected, warnings, events, fields, losses) VALUES ('a b.csv', 'f0', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, '[\"regNo\"]', '\"allowed\"')",
  `INSERT INTO import_codes VALUES (last_insert_rowid(), 'NAME_MISSING', 2, '[[2, 3], [9, 3]]')`,
  "INSERT INTO webhook_endpoints (partner_id, url, secret, created_at) VALUES ('board', 'https://a.example/', x'00ff', 1)",
  `INSERT INTO told (partner_id, event, told_at) VALUES ('board', 1, 5), ('board', ${largeInteger}, 6), ('é', 2, 7)`,
  "INSERT INTO watches (partner_id, reg_no) VALUES ('board', 'LA/2019/PRI/1'), ('board', 'NOBODY/ß/0/1'), ('é', '6')",
  "INSERT INTO watch_counts (partner_id, watched) VALUES ('board', 2), ('é', 1)",
  "INSERT INTO deliveries (delivery_id, event, partner_id, state, attempts, due_at, lease, created_at, finished_at) VALUES ('d1', 1, 'board', 'pending', 1, 20, 'node:token', 3, NULL), ('d2', 2, 'board', 'dead', 2, 0, NULL, 3, 4)",
  "INSERT INTO delivery_attempts (delivery, number, at, status, error, duration_ms) VALUES (1, 1, 5, 500, NULL, 3), (2, 1, 5, NULL, 'no', 3), (2, 2, 6, NULL, 'no', 3)",
  `INSERT INTO verified_before (partner_id, teacher_id) VALUES ('board', ${largeInteger}), ('board', 9007199254740993), ('a', 7)`,
  `INSERT INTO statement_people (attestation_id, place, teacher_id, nin_index, status, eligible) VALUES (2, 1, ${largeInteger}, x'00ff', 'VALID', 1), (2, 7, NULL, x'0a', 'NOT_FOUND', 0)`,
  "UPDATE attestation_upkeep SET pruned = 2",
  "INSERT INTO quota_windows (partner_id, kind, starts_at, used) VALUES ('board', 'minute', 60000, 3), ('board', 'minute', 0, 2), ('board', 'day', 0, 9)",
  "INSERT INTO log_epochs (epoch, origin, public_key, sealed, first_id, size, opened_at, reason, previous) VALUES (1, 'é.example/log', x'00ff', NULL, 1, 6, 1, NULL, NULL), (2, 'é.example/log/2', x'ff', x'', 7, 3, 2, 'a backup was restored', '')",
  "INSERT INTO log_tiles (epoch, level, position, hashes) VALUES (1, 0, 0, zeroblob(192)), (2, 0, 0, x'0a00'), (2, 1, 0, x'')",
  "INSERT INTO log_positions (part, prefix, id) VALUES (0, 281474976710655, 7), (0, 0, 1), (1, 5, 262144)",
  "INSERT INTO log_checkpoints (epoch, size, signed_at, note) VALUES (1, 6, 1000, 'é.example/log' || char(10) || '— é'), (2, 3, 2000, '')",
  "INSERT INTO log_anchors (id, epoch, size, kind, place, anchored_at, token) VALUES (4, 1, 6, 'folder', '/a b', 1, NULL), (9, 2, 3, 'rfc3161', 'https://tsa.example', 2, x'3000')",
  "INSERT INTO nodes (node_id, host, url, version, started_at, seen_at, clock_ahead_ms) VALUES ('gone', 'h', 'u', 'v', 1, 1, 0)",
  "INSERT INTO leases (name, node_id, fence, expires_at) VALUES ('housekeeping', 'gone', 4, 1)",
];

async function makeRows(driver: Driver): Promise<void> {
  const { settings, keys, partners } = createStores(driver);
  const environment = { environment: "live", master_key_check: "check", issuer: "https://é.example" };
  await settings.write({ ...environment, hold_webhooks: "true", empty: "" });
  await keys.create(aSigningKey("A", "active"), aSigningKey("B", "pending"));
  await partners.add({ ...aPartner("board"), name: "Board" }, anApiKey("board", "k1"));
  await driver.batch(statements.map((sql) => ({ sql, args: [] })));
  await keys.compromise({ kid: "A", since: 5, at: 12, next: aSigningKey("C", "pending") });
}
