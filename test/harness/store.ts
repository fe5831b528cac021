import { join } from "node:path";
import { createStores, type Stores } from "../../cli/open.ts";
import type { StoredTeacher, TeacherContent } from "../../src/domain/teachers/teachers.ts";
import type { Driver, Value } from "../../src/store/driver/driver.ts";
import { openFile } from "../../src/store/driver/file.ts";
import { makeSchema } from "../../src/store/driver/schema.ts";
import { aClock, type TestClock } from "./clock.ts";
import { withTempDir } from "./folder.ts";
import { planImport } from "./samples.ts";

/** The real stores over a new database, and a clock that the test moves. */
export type TestStores = Stores & {
  readonly folder: string;
  readonly driver: Driver;
  readonly clock: TestClock;
  /** Opens the database again, as another process does. */
  another(): Promise<Stores>;
  /** Adds or changes a teacher, as an import at the clock's time does. */
  put(regNo: string, changes?: Partial<TeacherContent>): Promise<StoredTeacher>;
  putMany(regNos: readonly string[], changes?: Partial<TeacherContent>): Promise<void>;
  find(regNo: string): Promise<StoredTeacher>;
  /** The bodies of a teacher's events, oldest first. */
  events(regNo: string): Promise<{ eventType: string; occurredAt: string; data: Record<string, unknown> }[]>;
  rows(sql: string, args?: readonly Value[]): Promise<Record<string, unknown>[]>;
};

export function withStores<T>(act: (stores: TestStores) => Promise<T>): Promise<T> {
  return withStoresAt("2026-05-01T09:00:00Z", act);
}

export function withStoresAt<T>(time: string, act: (stores: TestStores) => Promise<T>): Promise<T> {
  return withTempDir(async (folder) => {
    const opened: Driver[] = [];
    const open = async () => {
      const driver = await openFile({ file: join(folder, "tvs.db") });
      opened.push(driver);
      return driver;
    };
    try {
      const driver = await open();
      const clock = aClock(time);
      await makeSchema(driver);
      const stores = createStores(driver);
      const another = async () => createStores(await open());
      const rows: TestStores["rows"] = (sql, args) => driver.query(sql, args);
      return await act({ ...stores, ...teacherActs(stores, clock), folder, driver, clock, another, rows });
    } finally {
      for (const driver of opened) await driver.close();
    }
  });
}

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
    async put(regNo: string, changes?: Partial<TeacherContent>) {
      await putMany([regNo], changes);
      return find(regNo);
    },
    async events(regNo: string) {
      const events = await teachers.events((await find(regNo)).id);
      return events.map(({ body }) => JSON.parse(body));
    },
  };
}
