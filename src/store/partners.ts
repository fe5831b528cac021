import { isTvsError, TvsError } from "../domain/errors.ts";
import type { ApiKey, BatchCost, ClientCertificate, Partner, PartnerStore, Scope } from "../domain/partners.ts";
import type { Purpose } from "../partner/contract.ts";
import type { Driver, Row, Statement } from "./driver.ts";
import { bytes, integer, integerOrNull, text } from "./rows.ts";

const insertPartner = `INSERT INTO partners
  (partner_id, name, scopes, purposes, per_minute, per_day, batch_cost, created_at, disabled_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const updatePartner = `UPDATE partners SET name = ?, scopes = ?, purposes = ?, per_minute = ?, per_day = ?,
  batch_cost = ?, disabled_at = ? WHERE partner_id = ? RETURNING partner_id`;

/** Partners with their API keys and client certificates. */
export function createPartnerStore(driver: Driver): PartnerStore {
  async function insert(statements: readonly Statement[], taken: string): Promise<void> {
    try {
      await driver.batch(statements);
    } catch (error) {
      if (isTvsError(error, "STORE_CONSTRAINT")) throw new TvsError("REFUSED", taken, { cause: error });
      throw error;
    }
  }

  return {
    partners: async () => (await driver.query("SELECT * FROM partners ORDER BY partner_id")).map(partner),
    apiKeys: async () => (await driver.query("SELECT * FROM api_keys ORDER BY created_at, key_id")).map(apiKey),
    certificates: async () => (await driver.query("SELECT * FROM certificates ORDER BY added_at")).map(certificate),

    add(record, key) {
      const args = [
        record.partnerId, record.name, JSON.stringify(record.scopes), JSON.stringify(record.purposes),
        record.perMinute, record.perDay, record.batchCost, record.createdAt, record.disabledAt,
      ]; // biome-ignore format: the order of the columns
      const taken = `partner "${record.partnerId}" exists already; change it with \`tvs partners set\``;
      return insert([{ sql: insertPartner, args }, keyStatement(key)], taken);
    },
    async update(record) {
      const args = [
        record.name, JSON.stringify(record.scopes), JSON.stringify(record.purposes), record.perMinute,
        record.perDay, record.batchCost, record.disabledAt, record.partnerId,
      ]; // biome-ignore format: the order of the columns
      const [rows] = await driver.batch([{ sql: updatePartner, args }]);
      if (rows?.length !== 1) throw new TvsError("NOT_KNOWN", `no partner "${record.partnerId}"`);
    },
    async addKey(key, shortened) {
      const shorten = "UPDATE api_keys SET expires_at = ? WHERE key_id = ?";
      const before = shortened === null ? [] : [{ sql: shorten, args: [shortened.expiresAt, shortened.keyId] }];
      await driver.batch([...before, keyStatement(key)]);
    },
    async revokeKey(keyId, at) {
      const sql = "UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE key_id = ? RETURNING key_id";
      const [rows] = await driver.batch([{ sql, args: [at, keyId] }]);
      return rows?.length === 1;
    },
    addCertificate(one) {
      const sql = `INSERT INTO certificates (fingerprint, partner_id, subject, valid_from, valid_to, added_at)
        VALUES (?, ?, ?, ?, ?, ?)`;
      const args = [one.fingerprint, one.partnerId, one.subject, one.validFrom, one.validTo, one.addedAt];
      return insert([{ sql, args }], "this certificate belongs to a partner already; remove it there first");
    },
    async removeCertificate(partnerId, fingerprint) {
      const sql = "DELETE FROM certificates WHERE partner_id = ? AND fingerprint = ? RETURNING fingerprint";
      const [rows] = await driver.batch([{ sql, args: [partnerId, fingerprint] }]);
      return rows?.length === 1;
    },
  };
}

function keyStatement(key: ApiKey): Statement {
  const sql = `INSERT INTO api_keys (key_id, partner_id, mac, created_at, expires_at, revoked_at)
    VALUES (?, ?, ?, ?, ?, ?)`;
  return { sql, args: [key.keyId, key.partnerId, key.mac, key.createdAt, key.expiresAt, key.revokedAt] };
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
