import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createStores } from "../../../cli/open.ts";
import { createGroupCommit } from "../../../src/store/driver/commits.ts";
import { bind, type Driver } from "../../../src/store/driver/driver.ts";
import { applySchema } from "../../../src/store/driver/schema.ts";
import { createAttestationStore } from "../../../src/store/evidence/attestations.ts";
import { openDatabaseServer } from "../../../src/store/server/remote.ts";
import { anAnsweredCall } from "../../harness/evidence.ts";
import { type FaultProxy, startFaultProxy } from "../../harness/fault-proxy.ts";
import { catchError } from "../../harness/rejection.ts";
import { anAttestation } from "../../harness/samples.ts";
import { noServer, startServer, type TestServer } from "../../harness/sqld.ts";

/** A time limit, in ms, that is short enough for a test. */
const waitMs = 400;
const lost = { code: "STORE_UNAVAILABLE" };

describe.skipIf(noServer !== undefined)("a libSQL server whose network connection fails", () => {
  let server: TestServer;
  let proxy: FaultProxy;
  let driver: Driver;
  let serial = 0;

  beforeAll(async () => {
    server = await startServer();
    proxy = await startFaultProxy(server.url);
    driver = await openDatabaseServer({ url: proxy.url, waitMs });
    await applySchema(driver);
    await driver.batch([bind("CREATE TABLE probe (k TEXT PRIMARY KEY) STRICT")]);
  });
  afterAll(async () => {
    await driver.close();
    await proxy.close();
    await server.stop();
  });
  afterEach(() => proxy.heal());

  const one = () => driver.query("SELECT 1 AS one");
  const isCommit = (request: string) => request.includes("COMMIT");

  /** Opens a driver that counts its requests by kind. */
  async function counted() {
    const requests = { read: 0, commit: 0 };
    const opened = await openDatabaseServer({
      url: proxy.url,
      waitMs,
      onRequest: (kind) => requests[kind]++,
    });
    return { opened, requests };
  }

  test("queries of one turn of the event loop, and queries made during a request, share a request", async () => {
    const { opened, requests } = await counted();
    proxy.delay(20);
    const first = opened.query("SELECT 0 AS n");
    await Bun.sleep(5);
    const rest = Array.from({ length: 50 }, (_, n) => opened.query("SELECT ? AS n", [n]));
    expect(await Promise.all([first, ...rest])).toEqual([
      [{ n: 0 }],
      ...rest.map((_, n) => [expect.objectContaining({ n })]),
    ] as never);
    expect(requests).toEqual({ read: 2, commit: 0 });
    await opened.close();
  });

  test("a read that fails does not fail the other reads of its request", async () => {
    const bad = ["SELECT nothing FROM nowhere", "SELECT ?"] as const;
    const asked = [one(), driver.query(bad[0]), one(), driver.query(bad[1], [Number.NaN])];
    const reads = await Promise.allSettled(asked);
    expect(reads.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected"]);
  });

  test("a read is never answered by a request that was sent before the read began", async () => {
    const writer = await openDatabaseServer({ url: server.url });
    for (let n = 0; n < 20; n++) {
      const early = driver.query("SELECT count(*) AS n FROM probe");
      await Promise.resolve();
      await writer.batch([bind("INSERT INTO probe VALUES (?)", [`fresh-${n}`])]);
      const [row] = await driver.query("SELECT count(*) AS n FROM probe");
      expect(row?.n).toBe(n + 1);
      await early;
    }
    await writer.batch([bind("DELETE FROM probe")]);
    await writer.close();
  });

  test("queries fail after their time limit while the server does not answer, and succeed once it does", async () => {
    proxy.silence();
    const asked = [one()];
    await Promise.resolve();
    asked.push(one(), one());
    for (const read of asked) expect(await catchError(read)).toMatchObject(lost);
    proxy.heal();
    expect(await one()).toHaveLength(1);
  });

  test("queries succeed on a restarted server without an error", async () => {
    await one();
    await server.restart();
    expect(await one()).toHaveLength(1);
    expect(await driver.batch([bind("DELETE FROM probe")])).toEqual([[]]);
  });

  test("a commit that timed out changes nothing, and does not block the next one", async () => {
    const other = await openDatabaseServer({ url: server.url });
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holder = other.write(async (tx) => {
      await tx.batch([bind("SELECT 1")]);
      begun.resolve();
      await end.promise;
    });
    await begun.promise;
    const insert = bind("INSERT INTO probe VALUES ('given up')");
    for (const step of ["batch", "finish"] as const) {
      const write = driver.write(async (tx) => void (await tx[step]([insert])));
      expect(await catchError(write)).toMatchObject(lost);
    }
    end.resolve();
    await holder;
    await driver.write(async (tx) => void (await tx.batch([bind("INSERT INTO probe VALUES ('next')")])));
    const kept = await driver.query("SELECT k FROM probe WHERE k IN ('given up', 'next')");
    expect(kept.map(({ k }) => k)).toEqual(["next"]);
  });

  async function call(id?: Uint8Array) {
    const revision = await createStores(driver).settings.revision();
    const attestation = anAttestation(++serial, { partnerId: "agency" });
    const own = { createdAt: 1_700_000_000_000, headers: {}, body: attestation.verificationId };
    const record = id === undefined ? null : { id, fingerprint: new Uint8Array(32), ...own };
    return anAnsweredCall([attestation], { revision, idempotency: record });
  }

  const isStored = async (id: string) =>
    (await driver.query("SELECT 1 FROM attestations WHERE verification_id = ?", [id])).length === 1;

  test("a lost reply to a commit says that the outcome is unknown, and a refused statement says that it was refused", async () => {
    proxy.loseReplies({ afterBytes: 0, of: isCommit });
    const change = driver.batch([bind("INSERT INTO probe VALUES ('a command')")]);
    const message = expect.stringContaining("whether the change was made is not known");
    expect(await catchError(change)).toMatchObject({ ...lost, message });
    proxy.heal();
    const refused = driver.batch([bind("INSERT INTO no_such_table DEFAULT VALUES")]);
    const detail = expect.stringContaining("no_such_table");
    expect(await catchError(refused)).toMatchObject({ ...lost, detail });
    expect(String(await catchError(refused))).not.toContain("not known");
  });

  test.each([0, 120])(
    "a commit whose reply is lost after %d bytes fails but is stored",
    async (afterBytes) => {
      const { attestations, idempotencyStore } = createStores(driver);
      const id = new Uint8Array([7, afterBytes, 7]);
      const asked = await call(id);
      proxy.loseReplies({ afterBytes, of: isCommit });
      expect(await catchError(attestations.record(asked))).toMatchObject(lost);
      proxy.heal();
      const first = asked.attestations[0]?.verificationId ?? "";
      expect(await isStored(first)).toBe(true);
      const again = await call(id);
      expect(await attestations.record(again)).toBeNull();
      const record = await idempotencyStore.find(id);
      expect(record?.body).toBe(first);
    },
  );

  test("if the reply to a write is lost, the writes that waited for it fail too", async () => {
    const commit = createGroupCommit(driver);
    const attestations = createAttestationStore(driver, commit);
    const asked = await call();
    proxy.silence();
    const first = catchError(attestations.record(asked));
    await Bun.sleep(10);
    const second = catchError(commit([bind("INSERT INTO probe VALUES ('behind')")]));
    expect([await first, await second]).toMatchObject([lost, lost]);
  });
});

/** sqld moves its log into the database every thousand pages, and answers that the database is locked until then. */
test.skipIf(noServer !== undefined)(
  "no write fails while a server moves its log into the database",
  async () => {
    const server = await startServer();
    const drivers = await Promise.all([1, 2, 3, 4].map(() => openDatabaseServer({ url: server.url })));
    const [first] = drivers;
    await first?.batch([bind("CREATE TABLE filled (bytes BLOB) STRICT")]);
    const rows = Array.from({ length: 20 }, () => bind("INSERT INTO filled VALUES (randomblob(2000))"));
    const batches = 25;
    await Promise.all(
      drivers.map(async (driver) => {
        for (let n = 0; n < batches; n++) await driver.batch(rows);
      }),
    );
    const stored = drivers.length * batches * rows.length;
    expect(await first?.query("SELECT count(*) AS n FROM filled")).toEqual([{ n: stored }]);
    for (const driver of drivers) await driver.close();
    await server.stop();
  },
);
