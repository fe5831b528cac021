import { describe, expect, test } from "bun:test";
import { createEvidenceBuilder } from "../../../src/domain/evidence/builder.ts";
import { ensureLog } from "../../../src/domain/evidence/epochs.ts";
import { openNextEpoch } from "../../../src/domain/evidence/succession.ts";
import type { Driver } from "../../../src/store/driver/driver.ts";
import { makeSchema } from "../../../src/store/driver/schema.ts";
import { createEvidenceStore } from "../../../src/store/evidence/evidence.ts";
import { readEvidenceFigures } from "../../../src/store/evidence/figures.ts";
import { createKeyStore } from "../../../src/store/keys.ts";
import { aClock } from "../../harness/clock.ts";
import { driverKinds, withEmpty } from "../../harness/drivers.ts";
import { aPinnedCheckpoint, attest } from "../../harness/evidence.ts";
import { anAttestation, aSigningKey, secrets } from "../../harness/samples.ts";

const issuer = "https://verify.example";
const startedAt = "2026-03-01T09:30:00Z";
const secondsOf = (time: string) => Date.parse(time) / 1_000;

async function attestAt(driver: Driver, n: number, time: string): Promise<void> {
  const stored = await attest(driver, [anAttestation(n, { kid: "active", issuedAt: secondsOf(time) })]);
  expect(stored).not.toBeNull();
}

const anchor =
  "INSERT INTO log_anchors (epoch, size, kind, place, anchored_at, token) VALUES (?, ?, ?, ?, ?, ?)";

for (const kind of driverKinds) {
  describe.skipIf(kind.unavailable !== undefined)(`figures of the log: ${kind.name}`, () => {
    test("say how far it is, since when what waits, and where each place stopped", () =>
      withEmpty(kind, async (driver) => {
        await makeSchema(driver);
        await createKeyStore(driver).create(aSigningKey("active", "active"), aSigningKey("next", "pending"));
        const clock = aClock(startedAt);
        const store = createEvidenceStore(driver);
        const head = aPinnedCheckpoint();
        const builder = createEvidenceBuilder({ store, head, secrets, clock });
        const read = () => readEvidenceFigures(driver, store);
        const opening = () => ({ store, head, secrets, issuer, clock });

        expect(await read()).toBeNull();
        await attestAt(driver, 1, "2026-02-01T00:00:00Z");
        await ensureLog(opening());
        // What was there before the log waits for it from its opening on.
        const nothing = { size: 0, signedSize: 0, signedAt: null, anchors: [] };
        expect(await read()).toMatchObject({ ...nothing, waiting: 1, uncoveredSince: Date.parse(startedAt) });

        clock.set("2026-03-01T09:30:30Z");
        await builder.checkpoint();
        const signedAt = clock.now();
        const first = {
          epoch: 1,
          origin: "verify.example/log",
          size: 1,
          signedSize: 1,
          signedAt,
          missing: 0,
        };
        expect(await read()).toEqual({ ...first, waiting: 0, uncoveredSince: null, anchors: [] });

        await attestAt(driver, 2, "2026-03-01T09:31:00Z");
        await attestAt(driver, 3, "2026-03-01T09:32:00Z");
        const since = Date.parse("2026-03-01T09:31:00Z");
        expect(await read()).toMatchObject({ size: 1, waiting: 2, uncoveredSince: since });
        // In the tree already, but not signed for: it waits all the same.
        await builder.append();
        expect(await read()).toMatchObject({ size: 3, waiting: 0, signedSize: 1, uncoveredSince: since });

        clock.set("2026-03-01T10:00:00Z");
        await openNextEpoch(opening(), "a test");
        // What nobody had signed for stands in the new epoch, and waits from its opening on.
        const later = { waiting: 2, uncoveredSince: clock.now() };
        expect(await read()).toMatchObject({ epoch: 2, size: 1, signedSize: 0, signedAt: null, ...later });

        const token = new Uint8Array([1]);
        await driver.batch([
          { sql: anchor, args: [1, 1, "folder", "/srv/a", 1_000, null] },
          { sql: anchor, args: [1, 1, "rfc3161", "https://tsa.example", 3_000, token] },
          { sql: anchor, args: [1, 3, "folder", "/srv/a", 2_000, null] },
        ]);
        expect((await read())?.anchors).toEqual([
          { kind: "rfc3161", place: "https://tsa.example", epoch: 1, size: 1, anchoredAt: 3_000 },
          { kind: "folder", place: "/srv/a", epoch: 1, size: 3, anchoredAt: 2_000 },
        ]);
      }));
  });
}
