import { readFileSync } from "node:fs";
import type { AttestationStore } from "../../src/domain/attestations.ts";
import type { IdempotencyStore } from "../../src/domain/idempotency.ts";
import { importKey, type KeyStore, type SigningKey } from "../../src/domain/keys.ts";
import type { SettingsStore } from "../../src/domain/live.ts";
import type { PartnerStore } from "../../src/domain/partners.ts";
import type { QuotaStore } from "../../src/domain/quota.ts";
import type { TeacherStore } from "../../src/domain/teacher-store.ts";
import { createAttestationStore } from "../../src/store/attestations.ts";
import { createCommits } from "../../src/store/driver/commits.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { openEmbedded } from "../../src/store/driver/embedded.ts";
import { migrate } from "../../src/store/driver/migrations.ts";
import { createIdempotencyStore } from "../../src/store/idempotency.ts";
import { createKeyStore } from "../../src/store/keys.ts";
import { createPartnerStore } from "../../src/store/partners.ts";
import { createQuotaStore } from "../../src/store/quota.ts";
import { createSettingsStore } from "../../src/store/settings.ts";
import { createTeacherStore } from "../../src/store/teachers.ts";
import { withTempDir } from "../harness.ts";
import { secrets } from "./samples.ts";

export type StoreWorld = {
  readonly folder: string;
  readonly driver: Driver;
  readonly settings: SettingsStore;
  readonly keys: KeyStore;
  readonly partners: PartnerStore;
  readonly teachers: TeacherStore;
  readonly attestations: AttestationStore;
  readonly idempotency: IdempotencyStore;
  readonly quota: QuotaStore;
};

/** The real stores over a new database of their own. */
export function withStores<T>(act: (world: StoreWorld) => Promise<T>): Promise<T> {
  return withTempDir(async (folder) => {
    const driver = await openEmbedded({ file: `${folder}/tvs.db` });
    const commit = createCommits(driver);
    try {
      await migrate(driver, 0);
      return await act({
        folder,
        driver,
        settings: createSettingsStore(driver),
        keys: createKeyStore(driver),
        partners: createPartnerStore(driver),
        teachers: createTeacherStore(driver),
        attestations: createAttestationStore(driver, commit),
        idempotency: createIdempotencyStore(driver),
        quota: createQuotaStore(driver, commit),
      });
    } finally {
      await driver.close();
    }
  });
}

export const ringFiles = ["active", "pending", "stranger", "retired", "compromised"] as const;

/** One of the private keys that the fixtures hold, as a pending key: making one anew takes a tenth of a second. */
export function fixtureKey(name: (typeof ringFiles)[number], now: number): Promise<SigningKey> {
  return importKey(readKey(name), secrets, now);
}

export function readKey(name: string): string {
  return readFileSync(new URL(`../fixtures/envelopes/keys/${name}.pem`, import.meta.url), "utf8");
}

/** Fills an empty ring with two keys of the fixtures. */
export async function fillRing(
  keys: KeyStore,
  now: number,
): Promise<{ active: SigningKey; pending: SigningKey }> {
  const [active, pending] = [await fixtureKey("active", now), await fixtureKey("pending", now)];
  await keys.create({ ...active, state: "active", activatedAt: now }, pending);
  return { active, pending };
}
