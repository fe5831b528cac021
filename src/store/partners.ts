import { service } from "../domain/changes.ts";
import { isTvsError, TvsError } from "../domain/errors.ts";
import type {
  ApiKey,
  BatchCost,
  ClientCertificate,
  KeyEnd,
  Partner,
  PartnerChange,
  Scope,
} from "../domain/partners.ts";
import type { TeacherChoice } from "../domain/told.ts";
import type { EventType, Purpose } from "../partner/contract.ts";
import { createRecorder, type Recorder } from "./changes.ts";
import type { Driver, Row, Statement, Value } from "./driver/driver.ts";
import { bytes, integer, integerOrNull, text } from "./driver/rows.ts";

/** What is agreed with a partner, in the order of {@link valuesOf}. */
const terms = [
  "name",
  "scopes",
  "purposes",
  "per_minute",
  "per_day",
  "batch_cost",
  "watch_limit",
  "told_events",
  "told_teachers",
] as const;
const given = terms.map((column, index) => `coalesce(?${index + 2}, ${column})`).join(", ");

const insertPartner = `INSERT INTO partners
  (partner_id, created_at, disabled_at, ${terms.join(", ")})
  VALUES (?, ?, ?, ${terms.map(() => "?").join(", ")})`;
/** What is not given stays. A change that changes nothing moves no revision and is not recorded. */
const updatePartner = `UPDATE partners SET (${terms.join(", ")}) = (${given})
  WHERE partner_id = ?1 AND (${terms.join(", ")}) IS NOT (${given})`;
/** Of one that is so already nothing is changed, and so nothing is recorded. */
const disablePartner = `UPDATE partners SET disabled_at = ?1
  WHERE partner_id = ?2 AND (disabled_at IS NULL) <> (?1 IS NULL)`;
/** A further API key. The condition stands in the statement: two operators at once must not make a third key. */
const insertKey = `INSERT INTO api_keys (key_id, partner_id, mac, created_at, expires_at, revoked_at)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE (SELECT count(*) FROM api_keys WHERE partner_id = ?2
    AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?4)) < ?7 RETURNING key_id`;
const revokeKey = "UPDATE api_keys SET revoked_at = ? WHERE key_id = ? AND revoked_at IS NULL";
const shortenKey = `UPDATE api_keys SET expires_at = min(coalesce(expires_at, ?1), ?1)
  WHERE key_id = ?2 AND EXISTS (SELECT 1 FROM api_keys WHERE key_id = ?3)`;

export type PartnerStore = ReturnType<typeof createPartnerStore>;

/**
 * Partners with their API keys and client certificates.
 * @param acting in whose name it changes them
 */
export function createPartnerStore(driver: Driver, acting = service) {
  const recorded = createRecorder(acting);
  const ofPartner = (partnerId: string, action: string, detail: string | null = null) =>
    recorded({ action, kind: "partner", id: partnerId, detail });

  async function insert(statements: readonly Statement[], taken: string): Promise<void> {
    try {
      await driver.batch(statements);
    } catch (error) {
      if (isTvsError(error, "STORE_CONSTRAINT")) throw new TvsError("REFUSED", taken, { cause: error });
      throw error;
    }
  }

  async function changed(partnerId: string, change: readonly Statement[]): Promise<Partner> {
    const now = { sql: "SELECT * FROM partners WHERE partner_id = ?", args: [partnerId] };
    const row = (await driver.batch([...change, now])).at(-1)?.[0];
    if (row !== undefined) return partner(row);
    throw new TvsError("NOT_KNOWN", `no partner "${partnerId}"; \`tvs partners list\` shows them`);
  }

  return {
    partners: async () => (await driver.query("SELECT * FROM partners ORDER BY partner_id")).map(partner),
    apiKeys: async () =>
      (await driver.query("SELECT * FROM api_keys ORDER BY created_at, key_id")).map(apiKey),
    async unrevokedKeys() {
      const sql = "SELECT * FROM api_keys WHERE revoked_at IS NULL ORDER BY created_at, key_id";
      return (await driver.query(sql)).map(apiKey);
    },
    certificates: async () =>
      (await driver.query("SELECT * FROM certificates ORDER BY added_at")).map(certificate),

    /** @throws TvsError REFUSED when the id is taken */
    add(record: Partner, key: ApiKey) {
      const args = [record.partnerId, record.createdAt, record.disabledAt, ...valuesOf(record)];
      const taken = `partner "${record.partnerId}" already exists; change it with \`tvs partners set\``;
      return insert(
        [{ sql: insertPartner, args }, keyStatement(key, 1), ofPartner(record.partnerId, "added", key.keyId)],
        taken,
      );
    },
    /**
     * Changes the named members and no others, so that two operators do not undo each other.
     * @throws TvsError NOT_KNOWN
     */
    update: ({ partnerId, ...change }: { partnerId: string } & PartnerChange) =>
      changed(partnerId, partnerChange(partnerId, change, recorded)),
    /**
     * Disables since a time, or enables with null; one that is disabled already keeps its time.
     * @throws TvsError NOT_KNOWN
     */
    disable: (partnerId: string, at: number | null) =>
      changed(partnerId, [
        { sql: disablePartner, args: [at, partnerId] },
        ofPartner(partnerId, at === null ? "enabled" : "disabled"),
      ]),
    /**
     * Adds a key and shortens another's life, in one act.
     * @returns false, having changed nothing, when `maxLive` keys of the partner live already
     */
    async addKey(key: ApiKey, { shortened, maxLive }: { shortened: KeyEnd | null; maxLive: number }) {
      const shorten =
        shortened === null
          ? []
          : [{ sql: shortenKey, args: [shortened.expiresAt, shortened.keyId, key.keyId] }];
      const issued = ofPartner(key.partnerId, "key issued", key.keyId);
      const [rows] = await driver.batch([keyStatement(key, maxLive), issued, ...shorten]);
      return rows?.length === 1;
    },
    /** @returns the key as it is now, null for an unknown id; one that was revoked before keeps its time */
    async revokeKey(keyId: string, at: number) {
      const one = { sql: "SELECT * FROM api_keys WHERE key_id = ?", args: [keyId] };
      const [known] = await driver.query(one.sql, one.args);
      if (known === undefined) return null;
      const revoked = ofPartner(text(known, "partner_id"), "key revoked", keyId);
      const [, , rows] = await driver.batch([{ sql: revokeKey, args: [at, keyId] }, revoked, one]);
      return rows?.[0] === undefined ? null : apiKey(rows[0]);
    },
    /** @throws TvsError REFUSED when the certificate belongs to a partner already */
    addCertificate(one: ClientCertificate) {
      const sql = `INSERT INTO certificates (fingerprint, partner_id, subject, valid_from, valid_to, added_at)
        VALUES (?, ?, ?, ?, ?, ?)`;
      const args = [one.fingerprint, one.partnerId, one.subject, one.validFrom, one.validTo, one.addedAt];
      const added = ofPartner(one.partnerId, "certificate added", one.fingerprint);
      return insert(
        [{ sql, args }, added],
        "this certificate already belongs to a partner; remove it there first",
      );
    },
    async removeCertificate(partnerId: string, fingerprint: string) {
      const sql = "DELETE FROM certificates WHERE partner_id = ? AND fingerprint = ? RETURNING fingerprint";
      const removed = ofPartner(partnerId, "certificate removed", fingerprint);
      const [rows] = await driver.batch([{ sql, args: [partnerId, fingerprint] }, removed]);
      return rows?.length === 1;
    },
  };
}

/** Changes what is named of a partner's terms, and records it if anything is other than before. */
export function partnerChange(partnerId: string, change: PartnerChange, recorded: Recorder): Statement[] {
  const record = { action: "changed", kind: "partner", id: partnerId, detail: termsText(change) } as const;
  return [{ sql: updatePartner, args: [partnerId, ...valuesOf(change)] }, recorded(record)];
}

/** The values of {@link terms}; null for what is not named. */
function valuesOf({ told = {}, ...change }: PartnerChange): Value[] {
  const list = (all: readonly string[] | undefined) => (all === undefined ? null : JSON.stringify(all));
  return [
    change.name ?? null,
    list(change.scopes),
    list(change.purposes),
    change.perMinute ?? null,
    change.perDay ?? null,
    change.batchCost ?? null,
    change.watchLimit ?? null,
    list(told.events),
    told.teachers ?? null,
  ];
}

/** The terms that were changed, in one line. */
function termsText({ told, ...change }: PartnerChange): string {
  return Object.entries({ ...change, ...told })
    .map(([name, value]) => `${name} ${value}`)
    .join("; ");
}

function keyStatement(key: ApiKey, maxLive: number): Statement {
  const args = [key.keyId, key.partnerId, key.mac, key.createdAt, key.expiresAt, key.revokedAt, maxLive];
  return { sql: insertKey, args };
}

function partner(row: Row): Partner {
  return {
    partnerId: text(row, "partner_id"),
    name: text(row, "name"),
    scopes: JSON.parse(text(row, "scopes")) as Scope[],
    purposes: JSON.parse(text(row, "purposes")) as Purpose[],
    perMinute: integer(row, "per_minute"),
    perDay: integer(row, "per_day"),
    batchCost: text(row, "batch_cost") as BatchCost,
    watchLimit: integer(row, "watch_limit"),
    told: {
      events: JSON.parse(text(row, "told_events")) as EventType[],
      teachers: text(row, "told_teachers") as TeacherChoice,
    },
    createdAt: integer(row, "created_at"),
    disabledAt: integerOrNull(row, "disabled_at"),
  };
}

function apiKey(row: Row): ApiKey {
  return {
    keyId: text(row, "key_id"),
    partnerId: text(row, "partner_id"),
    mac: bytes(row, "mac"),
    createdAt: integer(row, "created_at"),
    expiresAt: integerOrNull(row, "expires_at"),
    revokedAt: integerOrNull(row, "revoked_at"),
  };
}

function certificate(row: Row): ClientCertificate {
  return {
    fingerprint: text(row, "fingerprint"),
    partnerId: text(row, "partner_id"),
    subject: text(row, "subject"),
    validFrom: integer(row, "valid_from"),
    validTo: integer(row, "valid_to"),
    addedAt: integer(row, "added_at"),
  };
}
