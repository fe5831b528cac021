import { describe, expect, test } from "bun:test";
import { copyFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { newCommitLock } from "../../../src/store/driver/commit-lock.ts";
import { statement } from "../../../src/store/driver/driver.ts";
import { openEmbedded } from "../../../src/store/driver/embedded.ts";
import { untilAnswer } from "../../harness/eventually.ts";
import { withTempDir } from "../../harness/folder.ts";
import { rejection } from "../../harness/rejection.ts";

const insert = statement("INSERT INTO person (name) VALUES (?)", ["Ada"]);
const changes: [string, (file: string) => void][] = [
  ["was replaced", (file) => renameSync(`${file}.copy`, file)],
  ["was moved away", (file) => renameSync(file, `${file}.old`)],
  ["was removed", (file) => rmSync(file)],
];

type Options = Partial<Parameters<typeof openEmbedded>[0]>;
const users: [string, () => Options][] = [
  ["a command", () => ({})],
  ["a serving thread", () => ({ shared: { memory: newCommitLock(1), thread: 0 } })],
];

describe.each(users)("a database file in use by %s", (_user, optionsOf) => {
  test.each(changes)("that %s answers nothing more: its revocations would be lost", (_what, change) =>
    withTempDir(async (folder) => {
      const file = `${folder}/tvs.db`;
      const driver = await openEmbedded({ file, ...optionsOf() });
      try {
        await driver.batch([statement("CREATE TABLE person (name TEXT)")]);
        await driver.copyTo(`${file}.copy`);
        expect(await driver.query("SELECT * FROM person")).toEqual([]);
        copyFileSync(file, `${file}.first`);
        change(file);
        const gone = { code: "STORE_UNAVAILABLE" };
        expect(await rejection(driver.batch([insert]))).toMatchObject(gone);
        expect(await rejection(driver.copyTo(`${file}.later`))).toMatchObject(gone);
        // A read view that was begun before is answered from until it ends.
        const ask = () => rejection(driver.query("SELECT * FROM person"));
        expect(await untilAnswer(ask, (error) => error !== undefined)).toMatchObject(gone);
        // Another file under its name does not bring it back.
        renameSync(`${file}.first`, file);
        expect(await ask()).toMatchObject(gone);
      } finally {
        await driver.close();
      }
    }),
  );
});

test("a database file is claimed under whichever name it is opened", () =>
  withTempDir(async (folder) => {
    const first = await openEmbedded({ file: `${folder}/tvs.db` });
    symlinkSync(`${folder}/tvs.db`, `${folder}/other.db`);
    const second = await openEmbedded({ file: `${folder}/other.db` });
    try {
      await first.lockService();
      expect(await second.serviceRunning()).toBe(true);
      expect(await rejection(second.lockService())).toMatchObject({ code: "DATABASE_IN_USE" });
    } finally {
      await second.close();
      await first.close();
    }
  }));

test.each(changes)("a service whose database %s is told so: it could only go on to refuse", (_what, change) =>
  withTempDir(async (folder) => {
    const file = `${folder}/tvs.db`;
    const lost = Promise.withResolvers<{ code: string; message: string }>();
    const shared = { memory: newCommitLock(1), thread: 0 };
    const service = await openEmbedded({ file, shared, onLost: lost.resolve, lockWatchMs: 20 });
    await service.lockService();
    await service.copyTo(`${file}.copy`);
    change(file);
    expect(await lost.promise).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining("tvs.db was moved away or replaced"),
    });
    await service.close();
  }),
);

test("a service whose lock was deleted is told so, because another one could start beside it", () =>
  withTempDir(async (folder) => {
    const lost = Promise.withResolvers<{ code: string; message: string }>();
    const service = await openEmbedded({ file: `${folder}/tvs.db`, onLost: lost.resolve, lockWatchMs: 20 });
    await service.lockService();
    rmSync(`${folder}/tvs.db.lock`);
    expect(await lost.promise).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining("tvs.db.lock was moved away or replaced"),
    });
    await service.close();
  }));
