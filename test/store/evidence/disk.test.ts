import { expect, test } from "bun:test";
import { TvsError } from "../../../src/domain/errors.ts";
import type { AttestationStore } from "../../../src/store/evidence/attestations.ts";
import { createEvidenceDisk, newEvidenceDisk } from "../../../src/store/evidence/disk.ts";
import { rejection } from "../../harness/rejection.ts";
import { withStores } from "../../harness/store.ts";

/** A store whose disk is full. */
const full = {
  record: () => Promise.reject(new TvsError("STORE_FULL", "the disk is full")),
} as unknown as AttestationStore;

test("what one thread learns of the disk every other one knows, until any of them finds room", () =>
  withStores(async ({ driver }) => {
    const memory = newEvidenceDisk();
    const [one, other] = [createEvidenceDisk(driver, memory), createEvidenceDisk(driver, memory)];
    expect(await rejection(one.watch(full).record({} as never))).toMatchObject({ code: "STORE_FULL" });
    expect([one.isRefusing(), other.isRefusing()]).toEqual([true, true]);
    await other.probe();
    expect([one.isRefusing(), other.isRefusing()]).toEqual([false, false]);
  }));
