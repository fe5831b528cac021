import { expect, test } from "bun:test";
import { configureLog } from "../../../src/logger.ts";
import { aClock } from "../../harness/clock.ts";
import { openTestService } from "../../harness/service.ts";

configureLog(() => {});

test("health answers 503 after a full disk refuses a write, until the disk has room again", async () => {
  const clock = aClock("2026-03-01T09:30:00Z");
  const { operator, call, isDiskRefusing, close } = await openTestService({ clock });
  const ask = async (path: string) => (await call(`/v1/inter-agency${path}`, { as: "full" })).status;
  const health = () => {
    // A probe's outcome counts for a second.
    clock.add(2_000);
    return ask("/health");
  };
  const limit = (pages: unknown) => operator.driver.query(`PRAGMA max_page_count = ${pages}`);
  try {
    const [size] = await operator.driver.query("PRAGMA page_count");
    await limit(size?.page_count);
    expect(await health()).toBe(200);
    let answered = 0;
    while ((await ask("/lookup/by-tid/1")) === 200) answered++;
    expect(answered).toBeLessThan(100);
    // A change without a new page succeeds on a full disk, so a probe must write more than this.
    await operator.driver.batch([{ sql: "UPDATE revision SET value = value", args: [] }]);
    expect(await health()).toBe(503);
    expect(await health()).toBe(503);
    expect(isDiskRefusing()).toBe(true);
    await limit(1_000_000);
    expect(await health()).toBe(200);
    expect(await ask("/lookup/by-tid/1")).toBe(200);
    const [left] = await operator.driver.query(`SELECT count(*) AS n FROM idempotency`);
    expect(Number(left?.n)).toBe(0);
    expect(isDiskRefusing()).toBe(false);
    expect(await health()).toBe(200);
  } finally {
    await close();
  }
});
