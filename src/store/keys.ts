import { serviceActor } from "../domain/changes.ts";
import { isoTime } from "../domain/clock.ts";
import { TvsError } from "../domain/errors.ts";
import type { SigningKey, SigningKeyState } from "../domain/keys.ts";
import { createChangeRecorder } from "./changes.ts";
import { bind, type Driver, type SqlStatement } from "./driver/driver.ts";
import { bytesOrNull, integer, integerOrNull, tableOf, text } from "./driver/rows.ts";

const selectRing = "SELECT kid, state FROM signing_keys WHERE state IN ('active', 'pending')";
/**
 * SQL that retires the active key. Verifiers refuse envelopes dated after `retired_at`, so `retired_at` is not before
 * the key's last attestation. The newest 20,000 include it, because the service signs with the key until this commit.
 */
const retireActive = `UPDATE signing_keys SET state = 'retired', sealed = NULL,
  retired_at = max(?1, coalesce((SELECT max(issued_at) * 1000
    FROM (SELECT issued_at, kid FROM attestations ORDER BY id DESC LIMIT 20000) AS newest WHERE newest.kid = ?2), 0))
  WHERE kid = ?2`;
/**
 * SQL that activates the pending key at the present time, so that verifiers accept its next envelopes. If a clock was
 * ahead, the old key is retired at a later time, and the times of the two keys overlap.
 */
const promote = "UPDATE signing_keys SET state = 'active', activated_at = ? WHERE kid = ?";
const retire = "UPDATE signing_keys SET state = 'retired', sealed = NULL, retired_at = ? WHERE kid = ?";
const markCompromised = `UPDATE signing_keys SET state = 'compromised', sealed = NULL,
  retired_at = CASE WHEN state = 'active' THEN ? ELSE retired_at END,
  compromised_since = min(coalesce(compromised_since, ?), ?) WHERE kid = ?`;

/** SQL that adds a random number to a new register's revision, so that a service notices a replaced database. */
const beginRevision = "UPDATE revision SET value = value + abs(random() % 1000000000)";

type Ring = { readonly active: string | null; readonly pending: string | null };

type Rotation = { active: string; pending: string; next: SigningKey; at: number };
type Compromise = { kid: string; since: number; at: number; next: SigningKey | null };

export type KeyStore = ReturnType<typeof createKeyStore>;

/**
 * Creates the store of the key ring: at most one active and one pending key. A change fails if the ring has changed
 * since the caller read it. @param acting the recorded author of changes
 */
export function createKeyStore(driver: Driver, acting = serviceActor) {
  const recorded = createChangeRecorder(acting);
  const ofKey = (kid: string, action: string) => recorded({ action, kind: "key", id: kid });
  const inserted = (key: SigningKey) => [insert(key), ofKey(key.kid, "made")];
  const activated = (kid: string, at: number) => [bind(promote, [at, kid]), ofKey(kid, "activated")];

  /** Changes the ring by the statements that `changeOf` returns. @returns false if it returns null: the ring has changed */
  function change(changeOf: (ring: Ring) => readonly SqlStatement[] | null): Promise<boolean> {
    return driver.write(async (tx) => {
      const rows = await tx.query(selectRing);
      const kidOf = (state: SigningKeyState) => {
        const row = rows.find((one) => text(one, "state") === state);
        return row === undefined ? null : text(row, "kid");
      };
      const statements = changeOf({ active: kidOf("active"), pending: kidOf("pending") });
      if (statements !== null) await tx.finish(statements);
      return statements !== null;
    });
  }

  async function requireChange(changeOf: Parameters<typeof change>[0]): Promise<void> {
    const message = "the key ring was changed at the same time; look at `tvs keys list` and try again";
    if (!(await change(changeOf))) throw new TvsError("REFUSED", message);
  }

  return {
    async list() {
      const rows = await driver.query("SELECT * FROM signing_keys ORDER BY created_at, kid");
      return rows.map((row) => signingKey(signingKeys.read(row)));
    },
    /** Stores a register's first keys, unless another process has stored keys. @returns whether the ring was empty */
    create: (active: SigningKey, pending: SigningKey) =>
      change((ring) =>
        ring.active === null && ring.pending === null
          ? [...inserted(active), ...inserted(pending), bind(beginRevision)]
          : null,
      ),
    /** Activates the pending key and adds the next pending key. @throws TvsError REFUSED if the ring has changed */
    rotate: ({ active, pending, next, at }: Rotation) =>
      requireChange((ring) => {
        if (ring.active !== active || ring.pending !== pending) return null;
        const retired = [bind(retireActive, [at, active]), ofKey(active, "retired")];
        return [...retired, ...activated(pending, at), ...inserted(next)];
      }),
    /** Replaces the pending key. The old pending key is retired and never signs. */
    replacePending: ({ pending, next, at }: { pending: string; next: SigningKey; at: number }) =>
      requireChange((ring) =>
        ring.pending === pending
          ? [bind(retire, [at, pending]), ofKey(pending, "retired unused"), ...inserted(next)]
          : null,
      ),
    /** Marks a key as compromised. If the key was active or pending, the same commit adds `next` as the pending key. */
    compromise: ({ kid, since, at, next }: Compromise) =>
      requireChange(({ active, pending }) => {
        const detail = `since ${isoTime(since)}`;
        const compromised = [
          bind(markCompromised, [at, since, since, kid]),
          recorded({ action: "compromised", kind: "key", id: kid, detail }),
        ];
        if (next === null) return compromised;
        if (kid === pending) return [...compromised, ...inserted(next)];
        if (kid !== active || pending === null) return null;
        return [...compromised, ...activated(pending, at), ...inserted(next)];
      }),
  };
}

type KeyRow = Omit<SigningKey, "jwk"> & { readonly publicJwk: string };

const signingKeys = tableOf<KeyRow>("signing_keys", {
  ...{
    kid: text,
    state: text,
    publicJwk: text,
    sealed: bytesOrNull,
    createdAt: integer,
    publishedAt: integer,
  },
  ...{ activatedAt: integerOrNull, retiredAt: integerOrNull, compromisedSince: integerOrNull },
});
const signingKey = ({ publicJwk, ...key }: KeyRow): SigningKey => ({ ...key, jwk: JSON.parse(publicJwk) });
const insert = ({ jwk, ...key }: SigningKey) =>
  signingKeys.insert({ ...key, publicJwk: JSON.stringify(jwk) });
