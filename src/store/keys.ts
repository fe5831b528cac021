import { service } from "../domain/changes.ts";
import { isoTime } from "../domain/clock.ts";
import { isTvsError, TvsError } from "../domain/errors.ts";
import type { KeyState, KeyStore, PublicJwk, SigningKey } from "../domain/keys.ts";
import { createRecorder } from "./changes.ts";
import type { Driver, Row, Statement } from "./driver/driver.ts";
import { bytesOrNull, integer, integerOrNull, text } from "./driver/rows.ts";

const columns = `kid, state, public_jwk, sealed, created_at, published_at, activated_at, retired_at, compromised_since`;
/**
 * Retires the active key. The command took its time before it made the next key, and the service has signed on
 * until this commit: the key was in use until its last attestation, or that would be refused for ever. It is among
 * the newest, which stand in almost the order of their times.
 */
const retireActive = `UPDATE signing_keys SET state = 'retired', sealed = NULL,
  retired_at = max(?1, coalesce((SELECT max(issued_at) * 1000
    FROM (SELECT issued_at, kid FROM attestations ORDER BY id DESC LIMIT 20000) AS newest WHERE newest.kid = ?2), 0))
  WHERE kid = ?2 AND state = 'active'`;
/**
 * The windows may overlap by what the old key signed on. They must not meet at its last attestation: a clock that
 * was ahead for a moment would put that into the future, and all that the new key signs until then be refused.
 */
const promote = `UPDATE signing_keys SET state = 'active', activated_at = ? WHERE kid = ? AND state = 'pending'`;
const retire = `UPDATE signing_keys SET state = 'retired', sealed = NULL, retired_at = ? WHERE kid = ? AND state = ?`;
const flag = `UPDATE signing_keys SET state = 'compromised', sealed = NULL,
  retired_at = CASE WHEN state = 'active' THEN ? ELSE retired_at END,
  compromised_since = min(coalesce(compromised_since, ?), ?) WHERE kid = ?`;

/**
 * A register begins at a revision of its own: a service whose database was replaced by a new one must not take the two
 * for each other.
 */
const beginRevision = "UPDATE revision SET value = value + abs(random() % 1000000000)";

/**
 * The key ring. One unique index allows one active key, another one pending key: when two rotations meet,
 * the second one's new key has no place and its whole act is undone.
 * @param acting in whose name it is changed
 */
export function createKeyStore(driver: Driver, acting = service): KeyStore {
  const recorded = createRecorder(acting);
  const ofKey = (kid: string, action: string) => recorded({ action, kind: "key", id: kid });
  const inserted = (key: SigningKey) => [insert(key), ofKey(key.kid, "made")];

  async function change(statements: readonly Statement[]): Promise<void> {
    try {
      await driver.batch(statements);
    } catch (error) {
      if (!isTvsError(error, "STORE_CONSTRAINT")) throw error;
      throw new TvsError(
        "REFUSED",
        "the key ring was changed at the same time; look at `tvs keys list` and try again",
      );
    }
  }

  return {
    async list() {
      return (await driver.query(`SELECT ${columns} FROM signing_keys ORDER BY created_at, kid`)).map(
        signingKey,
      );
    },
    async create(active, pending) {
      // Two first commands at once: the second one's keys have no place, and the first one's serve both.
      return change([...inserted(active), ...inserted(pending), { sql: beginRevision, args: [] }]).then(
        () => true,
        (error) => {
          if (!isTvsError(error, "REFUSED")) throw error;
          return false;
        },
      );
    },
    rotate({ active, pending, next, at }) {
      return change([
        { sql: retireActive, args: [at, active] },
        ofKey(active, "retired"),
        { sql: promote, args: [at, pending] },
        ofKey(pending, "activated"),
        ...inserted(next),
      ]);
    },
    replacePending({ pending, next, at }) {
      return change([
        { sql: retire, args: [at, pending, "pending"] },
        ofKey(pending, "retired unused"),
        ...inserted(next),
      ]);
    },
    async compromise({ kid, since, at, next }) {
      const compromised = [
        { sql: flag, args: [at, since, since, kid] },
        recorded({ action: "compromised", kind: "key", id: kid, detail: `since ${isoTime(since)}` }),
      ];
      if (next === null) return change(compromised);
      // Promotes the pending key when there is no active one left, which is when it was the active that fell.
      const replace = `UPDATE signing_keys SET state = 'active', activated_at = ? WHERE state = 'pending'
        AND NOT EXISTS (SELECT 1 FROM signing_keys WHERE state = 'active')`;
      const [pending] = await driver.query("SELECT kid FROM signing_keys WHERE state = 'pending'");
      const promoted = pending === undefined ? [] : [ofKey(text(pending, "kid"), "activated")];
      return change([...compromised, { sql: replace, args: [at] }, ...promoted, ...inserted(next)]);
    },
  };
}

function insert(key: SigningKey): Statement {
  // biome-ignore format: the order of the columns
  const args = [
    key.kid, key.state, JSON.stringify(key.jwk), key.sealed, key.createdAt, key.publishedAt,
    key.activatedAt, key.retiredAt, key.compromisedSince,
  ];
  return { sql: `INSERT INTO signing_keys (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, args };
}

function signingKey(row: Row): SigningKey {
  return {
    kid: text(row, "kid"),
    state: text(row, "state") as KeyState,
    jwk: JSON.parse(text(row, "public_jwk")) as PublicJwk,
    sealed: bytesOrNull(row, "sealed"),
    createdAt: integer(row, "created_at"),
    publishedAt: integer(row, "published_at"),
    activatedAt: integerOrNull(row, "activated_at"),
    retiredAt: integerOrNull(row, "retired_at"),
    compromisedSince: integerOrNull(row, "compromised_since"),
  };
}
