import { afterAll, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { hostname } from "node:os";
import type { Driver } from "../../../src/store/driver/driver.ts";
import { migrate } from "../../../src/store/driver/migrations.ts";
import { openRemote } from "../../../src/store/driver/remote.ts";
import { sleep } from "../../harness/eventually.ts";
import { rejection } from "../../harness/rejection.ts";
import { noServer, startServer } from "../../harness/sqld.ts";

/** The process id of somebody who has ended. */
const deadPid = spawnSync("true").pid;

describe.skipIf(noServer !== undefined)("the lock of a service on a libSQL server", () => {
  let server: Awaited<ReturnType<typeof startServer>>;
  let driver: Driver;

  beforeAll(async () => {
    server = await startServer();
    driver = await openRemote({ url: server.url });
    await migrate(driver, 1);
  });
  afterAll(async () => {
    await driver.close();
    await server.stop();
  });

  const hold = (processSpace: string, forMs = 60_000) =>
    driver.batch([
      {
        sql: `INSERT INTO service_claim (id, holder, expires_at) VALUES (1, ?1, ?2)
          ON CONFLICT (id) DO UPDATE SET holder = ?1, expires_at = ?2`,
        args: [`${hostname()}:${deadPid}:some-uuid:${processSpace}`, Date.now() + forMs],
      },
    ]);
  const running = async (processSpace: string | null) => {
    const one = await openRemote({ url: server.url, processSpace });
    const answer = await one.serviceRunning();
    await one.close();
    return answer;
  };
  /** Keeps a lock fresh, as its holder does, until something has come of `act`. */
  async function whileRenewed<T>(act: Promise<T>): Promise<T> {
    let going = true;
    const renewing = (async () => {
      while (going) {
        await driver.batch([{ sql: "UPDATE service_claim SET expires_at = expires_at + 1", args: [] }]);
        await sleep(50);
      }
    })();
    try {
      return await act;
    } finally {
      going = false;
      await renewing;
    }
  }

  test("of a process that has ended is taken over at once, where its process id means something", async () => {
    await hold("boot/1");
    expect(await running("boot/1")).toBe(false);
    const next = await openRemote({ url: server.url, processSpace: "boot/1" });
    await next.lockService();
    await next.close();
  });

  test("of a process that nobody here can see is refused while it is renewed", async () => {
    for (const space of ["boot/2", "other-boot/1", null]) {
      await hold("boot/1");
      expect(await running(space)).toBe(true);
      const next = await openRemote({ url: server.url, processSpace: space });
      expect(await whileRenewed(rejection(next.lockService()))).toMatchObject({ code: "DATABASE_IN_USE" });
      await next.close();
      const [row] = await driver.query("SELECT holder FROM service_claim");
      expect(row?.holder).toContain(":some-uuid:");
    }
  });

  test("that has ended by a clock of its own is refused all the same while it is renewed", async () => {
    await hold("boot/1", -3_600_000);
    const next = await openRemote({ url: server.url, processSpace: "boot/2" });
    expect(await whileRenewed(rejection(next.lockService()))).toMatchObject({ code: "DATABASE_IN_USE" });
    await next.close();
  });

  test("is seen by a machine whose clock is hours ahead", async () => {
    const service = await openRemote({ url: server.url, renewMs: 20 });
    await driver.batch([{ sql: "DELETE FROM service_claim", args: [] }]);
    await service.lockService();
    try {
      setSystemTime(new Date(Date.now() + 5 * 3_600_000));
      expect(await driver.serviceRunning()).toBe(true);
    } finally {
      setSystemTime();
      await service.close();
    }
  });

  test("of a process that nobody here can see is taken over when it is not renewed any more", async () => {
    await hold("boot/1");
    const next = await openRemote({ url: server.url, processSpace: "boot/2", lockMs: 600 });
    const startedAt = performance.now();
    await next.lockService();
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(600);
    await next.close();
  });

  test("that was lost is told once, and the one who lost it does not take it away from the other", async () => {
    const lost = Promise.withResolvers<{ code: string }>();
    let times = 0;
    const onLost = (error: { code: string }) => {
      times++;
      lost.resolve(error);
    };
    const service = await openRemote({ url: server.url, renewMs: 20, onLost });
    await service.lockService();
    await hold("boot/1");
    expect(await lost.promise).toMatchObject({ code: "STORE_UNAVAILABLE" });
    await service.close();
    expect(times).toBe(1);
    const [row] = await driver.query("SELECT holder FROM service_claim");
    expect(row?.holder).toContain(":some-uuid:");
  });
});
