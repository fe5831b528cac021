import { afterAll, beforeAll, describe } from "bun:test";
import { join } from "node:path";
import { createStores } from "../../cli/open.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { openDatabaseFile } from "../../src/store/driver/file.ts";
import { applySchema } from "../../src/store/driver/schema.ts";
import { openDatabaseServer } from "../../src/store/server/remote.ts";
import { makeFolder } from "./folder.ts";
import { noServer, startServer } from "./sqld.ts";

/** A kind of database. `create` makes one, which can be opened several times and is removed at the end. */
type DriverKind = {
  readonly name: string;
  /** The value of {@link Driver.kind}. Some tests are about one kind only. */
  readonly kind: Driver["kind"];
  /** Why this kind cannot be tested on this machine; undefined if it can. */
  readonly unavailable?: string;
  create(): Promise<{ open(): Promise<Driver>; destroy(): Promise<void> }>;
};

const file: DriverKind = {
  name: "file",
  kind: "embedded",
  async create() {
    const folder = makeFolder();
    return { open: () => openDatabaseFile({ file: join(folder.path, "tvs.db") }), destroy: folder.remove };
  },
};

const remote: DriverKind = {
  name: "libSQL server",
  kind: "remote",
  ...(noServer === undefined ? {} : { unavailable: noServer }),
  async create() {
    const { url, stop } = await startServer();
    return { open: () => openDatabaseServer({ url }), destroy: stop };
  },
};

export const driverKinds: readonly DriverKind[] = [file, remote];

export async function withDatabase(kind: DriverKind, act: (driver: Driver) => Promise<void>): Promise<void> {
  const database = await kind.create();
  const driver = await database.open();
  try {
    await act(driver);
  } finally {
    await driver.close();
    await database.destroy();
  }
}

/** Runs a group of tests for each kind of driver. Each time it gets a new database with the schema. */
export function describeDrivers(
  title: string,
  tests: (kind: DriverKind, database: ReturnType<typeof openForGroup>) => void,
): void {
  for (const kind of driverKinds) {
    describe.skipIf(kind.unavailable !== undefined)(`${title}: ${kind.name}`, () => {
      tests(kind, openForGroup(kind));
    });
  }
}

function openForGroup(kind: DriverKind) {
  let database: Awaited<ReturnType<typeof kind.create>>;
  let driver: Driver;
  beforeAll(async () => {
    database = await kind.create();
    driver = await database.open();
    await applySchema(driver);
  });
  afterAll(async () => {
    await driver.close();
    await database.destroy();
  });
  return {
    /** The connection that all tests of the group share. It is open from `beforeAll` on. */
    driver: () => driver,
    /** The stores over the shared connection. */
    stores: () => createStores(driver),
    /** Opens another connection, which the test closes. */
    another: () => database.open(),
  };
}
