import { serviceActor } from "../domain/changes.ts";
import { isTvsError, TvsError } from "../domain/errors.ts";
import type { ApiKey, ApiKeyExpiry, ClientCertificate, Partner, PartnerChange } from "../domain/partners.ts";
import { type ChangeRecorder, createChangeRecorder } from "./changes.ts";
import { bind, type Driver, type SqlStatement, type SqlValue, type Transaction } from "./driver/driver.ts";
import { bytes, integer, integerOrNull, json, rowReader, tableOf, text } from "./driver/rows.ts";

/** The columns of a partner's terms, each with a function that reads its value from a change; undefined if unchanged. */
const terms: Readonly<Record<string, (change: PartnerChange) => SqlValue | undefined>> = {
  name: ({ name }) => name,
  scopes: ({ scopes }) => scopes && JSON.stringify(scopes),
  purposes: ({ purposes }) => purposes && JSON.stringify(purposes),
  per_minute: ({ perMinute }) => perMinute,
  per_day: ({ perDay }) => perDay,
  batch_cost: ({ batchCost }) => batchCost,
  watch_limit: ({ watchLimit }) => watchLimit,
  event_filter: ({ eventFilter }) => eventFilter?.events && JSON.stringify(eventFilter.events),
  teacher_filter: ({ eventFilter }) => eventFilter?.teachers,
};
const termColumns = Object.keys(terms);

const insertPartner = `INSERT INTO partners
  (partner_id, created_at, disabled_at, ${termColumns.join(", ")})
  VALUES (?, ?, ?, ${termColumns.map(() => "?").join(", ")})`;
const selectPartner = "SELECT * FROM partners WHERE partner_id = ?";
const updatePartner = `UPDATE partners SET ${termColumns.map((column) => `${column} = ?`).join(", ")} WHERE partner_id = ?`;
const disablePartner = "UPDATE partners SET disabled_at = ? WHERE partner_id = ?";
const countLiveKeys = `SELECT count(*) AS n FROM api_keys
  WHERE partner_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`;
const selectKey = "SELECT * FROM api_keys WHERE key_id = ?";
const revokeKey = "UPDATE api_keys SET revoked_at = ? WHERE key_id = ?";
const shortenKey = "UPDATE api_keys SET expires_at = min(coalesce(expires_at, ?1), ?1) WHERE key_id = ?2";
const ofFingerprint = "FROM certificates WHERE partner_id = ? AND fingerprint = ?";

export type PartnerStore = ReturnType<typeof createPartnerStore>;

/** Creates the store of partners, API keys and client certificates. @param acting the recorded author of changes */
export function createPartnerStore(driver: Driver, acting = serviceActor) {
  const recorded = createChangeRecorder(acting);
  const ofPartner = (partnerId: string, action: string, detail: string | null = null) =>
    recorded({ action, kind: "partner", id: partnerId, detail });

  /** Changes a partner. @param changeOf returns no statements if nothing has to change */
  function change(partnerId: string, changeOf: (before: Partner) => readonly SqlStatement[]) {
    return driver.write(async (tx) => {
      await tx.batch(changeOf(await readPartner(tx, partnerId)));
      return readPartner(tx, partnerId);
    });
  }

  return {
    partners: async () => (await driver.query("SELECT * FROM partners ORDER BY partner_id")).map(partner),
    apiKeys: async () =>
      (await driver.query("SELECT * FROM api_keys ORDER BY created_at, key_id")).map(apiKeys.read),
    certificates: async () =>
      (await driver.query("SELECT * FROM certificates ORDER BY added_at")).map(certificates.read),

    /** Adds a partner with its first key. @throws TvsError REFUSED if the id is taken */
    add(record: Partner, key: ApiKey) {
      const args = [record.partnerId, record.createdAt, record.disabledAt, ...valuesOf(record)];
      const taken = `partner "${record.partnerId}" already exists; change it with \`tvs partners set\``;
      const added = ofPartner(record.partnerId, "added", key.keyId);
      return insert(driver, [bind(insertPartner, args), apiKeys.insert(key), added], taken);
    },
    /** Changes only the given terms: two operators undo no change of each other. @throws TvsError NOT_KNOWN */
    update: ({ partnerId, ...terms }: { partnerId: string } & PartnerChange) =>
      change(partnerId, (before) => makeTermsUpdate(before, terms, recorded)),
    /** Disables a partner, or enables it if `at` is null. If already disabled, the time stays. @throws TvsError NOT_KNOWN */
    disable: (partnerId: string, at: number | null) =>
      change(partnerId, ({ disabledAt }) =>
        (disabledAt === null) === (at === null)
          ? []
          : [
              bind(disablePartner, [at, partnerId]),
              ofPartner(partnerId, at === null ? "enabled" : "disabled"),
            ],
      ),
    ...createCredentialStore(driver, ofPartner),
  };
}

type OfPartner = (partnerId: string, action: string, detail?: string | null) => SqlStatement;

function createCredentialStore(driver: Driver, ofPartner: OfPartner) {
  return {
    /**
     * Adds a key and shortens the life of an older key, in one transaction. @returns false, without a change, if the
     * partner already has `maxLive` live keys
     */
    addKey(key: ApiKey, { shortened, maxLive }: { shortened: ApiKeyExpiry | null; maxLive: number }) {
      return driver.write(async (tx) => {
        const [live = {}] = await tx.query(countLiveKeys, [key.partnerId, key.createdAt]);
        if (integer(live, "n") >= maxLive) return false;
        await tx.finish([
          apiKeys.insert(key),
          ofPartner(key.partnerId, "key issued", key.keyId),
          ...(shortened === null ? [] : [bind(shortenKey, [shortened.expiresAt, shortened.keyId])]),
        ]);
        return true;
      });
    },
    /** Revokes a key. A revoked key keeps its time of revocation. @returns the key; null if the id is unknown */
    revokeKey(keyId: string, at: number) {
      return driver.write(async (tx) => {
        const [row] = await tx.query(selectKey, [keyId]);
        if (row === undefined) return null;
        const known = apiKeys.read(row);
        if (known.revokedAt !== null) return known;
        await tx.finish([bind(revokeKey, [at, keyId]), ofPartner(known.partnerId, "key revoked", keyId)]);
        return { ...known, revokedAt: at };
      });
    },
    /** Adds a certificate. @throws TvsError REFUSED if the certificate already belongs to a partner */
    addCertificate(one: ClientCertificate) {
      const added = ofPartner(one.partnerId, "certificate added", one.fingerprint);
      const taken = "this certificate already belongs to a partner; remove it there first";
      return insert(driver, [certificates.insert(one), added], taken);
    },
    removeCertificate(partnerId: string, fingerprint: string) {
      const args = [partnerId, fingerprint];
      return driver.write(async (tx) => {
        if ((await tx.query(`SELECT 1 ${ofFingerprint}`, args)).length === 0) return false;
        const removed = ofPartner(partnerId, "certificate removed", fingerprint);
        await tx.finish([bind(`DELETE ${ofFingerprint}`, args), removed]);
        return true;
      });
    },
  };
}

/** Inserts rows. @throws TvsError REFUSED with the message `taken` if a unique column has the value already */
async function insert(driver: Driver, statements: readonly SqlStatement[], taken: string): Promise<void> {
  try {
    await driver.batch(statements);
  } catch (error) {
    if (isTvsError(error, "STORE_CONSTRAINT")) throw new TvsError("REFUSED", taken, { cause: error });
    throw error;
  }
}

/** Reads a partner. @throws TvsError NOT_KNOWN */
export async function readPartner(tx: Transaction, partnerId: string): Promise<Partner> {
  const [row] = await tx.query(selectPartner, [partnerId]);
  if (row !== undefined) return partner(row);
  throw new TvsError("NOT_KNOWN", `no partner "${partnerId}"; \`tvs partners list\` shows them`);
}

/** Makes the statements that change a partner's terms and record the change; none if the terms stay the same. */
export function makeTermsUpdate(before: Partner, change: PartnerChange, recorded: ChangeRecorder) {
  const { partnerId } = before;
  const old = valuesOf(before);
  const values = valuesOf(change).map((value, index) => value ?? old[index] ?? null);
  if (values.every((value, index) => value === old[index])) return [];
  const record = { action: "changed", kind: "partner", id: partnerId, detail: termsText(change) } as const;
  return [bind(updatePartner, [...values, partnerId]), recorded(record)];
}

const valuesOf = (change: PartnerChange) => Object.values(terms).map((value) => value(change) ?? null);

function termsText({ eventFilter, ...change }: PartnerChange): string {
  const named = Object.entries({ ...change, ...eventFilter });
  return named.map(([name, value]) => `${name} ${value}`).join("; ");
}

const partner = rowReader<Partner>({
  ...{ partnerId: text, name: text, scopes: json, purposes: json, perMinute: integer, perDay: integer },
  ...{ batchCost: text, watchLimit: integer },
  eventFilter: (row) => ({
    events: json(row, "event_filter"),
    teachers: text(row, "teacher_filter") as Partner["eventFilter"]["teachers"],
  }),
  ...{ createdAt: integer, disabledAt: integerOrNull },
});

const apiKeys = tableOf<ApiKey>("api_keys", {
  ...{ keyId: text, partnerId: text, mac: bytes },
  ...{ createdAt: integer, expiresAt: integerOrNull, revokedAt: integerOrNull },
});

const certificates = tableOf<ClientCertificate>("certificates", {
  ...{ fingerprint: text, partnerId: text, subject: text },
  ...{ validFrom: integer, validTo: integer, addedAt: integer },
});
