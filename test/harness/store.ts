import { join } from "node:path";
import { createStores, type Stores } from "../../cli/open.ts";
import type { StoredTeacher, TeacherContent } from "../../src/domain/teachers/teachers.ts";
import type { Driver, SqlValue } from "../../src/store/driver/driver.ts";
import { openDatabaseFile } from "../../src/store/driver/file.ts";
import { applySchema } from "../../src/store/driver/schema.ts";
import { aClock, type TestClock } from "./clock.ts";
import { withTempDir } from "./folder.ts";
import { planImport } from "./samples.ts";

/** The real stores over a new database, and a clock that the test moves. */
export type TestStores = Awaited<ReturnType<typeof openStores>>;

export function withStores<T>(act: (stores: TestStores) => Promise<T>): Promise<T> {
  return withStoresAt("2026-05-01T09:00:00Z", act);
}

export function withStoresAt<T>(time: string, act: (stores: TestStores) => Promise<T>): Promise<T> {
  return withTempDir(async (folder) => {
    const opened: Driver[] = [];
    try {
      return await act(await openStores(folder, opened, aClock(time)));
    } finally {
      for (const driver of opened) await driver.close();
    }
  });
}

/** @param opened gets each driver, which the caller closes */
async function openStores(folder: string, opened: Driver[], clock: TestClock) {
  const open = async () => {
    const driver = await openDatabaseFile({ file: join(folder, "tvs.db") });
    opened.push(driver);
    return driver;
  };
  const driver = await open();
  await applySchema(driver);
  const stores = createStores(driver);
  return {
    ...{ ...stores, ...teacherActs(stores, clock), folder, driver, clock },
    /** Opens the database again, as another process does. */
    another: async () => createStores(await open()),
    rows: (sql: string, args?: readonly SqlValue[]) => driver.query(sql, args),
  };
}

type EventBody = { eventType: string; occurredAt: string; data: Record<string, unknown> };

function teacherActs({ teachers }: Stores, clock: TestClock) {
  async function find(regNo: string): Promise<StoredTeacher> {
    const found = await teachers.findStored({ by: "regNo", value: regNo });
    if (found === null) throw new Error("not in the register");
    return found;
  }
  async function putMany(regNos: readonly string[], changes: Partial<TeacherContent> = {}): Promise<void> {
    await teachers.apply(regNos.map((regNo) => planImport(regNo, changes, clock.now())));
  }
  return {
    find,
    putMany,
    /** Adds or changes a teacher, as an import at the clock's time does. */
    async put(regNo: string, changes?: Partial<TeacherContent>) {
      await putMany([regNo], changes);
      return find(regNo);
    },
    /** The bodies of a teacher's events, oldest first. */
    async events(regNo: string): Promise<EventBody[]> {
      const events = await teachers.events((await find(regNo)).id);
      return events.map(({ body }) => JSON.parse(body));
    },
  };
}
