import { expect, test } from "bun:test";
import { serve } from "../../src/http/serve.ts";
import { configureLog } from "../../src/logger.ts";
import { known, openTestService } from "../harness/service.ts";

const api = "/v1/inter-agency";

test("the log names a failure's route by its pattern, never by its path", async () => {
  const world = await openTestService();
  const lines: Record<string, unknown>[] = [];
  configureLog((line) => lines.push(JSON.parse(line)));
  const listener = await serve(world.app, { host: "127.0.0.1", port: 0 });
  try {
    await world.operator.driver.close();
    const headers = { Authorization: `Bearer ${world.keyOf("full")}` };
    const question = { identifier: { regNo: known.regNo }, purpose: "GENERAL_PUBLIC_VERIFICATION" };
    const answers = [
      await fetch(`${listener.url}${api}/lookup/by-reg-no/LA/2019/PRI/04417`, { headers }),
      await fetch(`${listener.url}${api}/eligibility-check`, {
        method: "POST",
        headers,
        body: JSON.stringify(question),
      }),
      await fetch(`${listener.url}/teacher/verify-license?searchTerm=${known.nin}`),
    ];
    for (const { status } of answers) expect(status).toBeGreaterThanOrEqual(500);
    const failures = lines.filter(({ message }) => message === "request failed");
    expect(failures.map(({ route, requestId }) => [route, requestId])).toEqual([
      [`${api}/lookup/by-reg-no/{regNo}`, answers[0]?.headers.get("X-Request-Id")],
      [`${api}/eligibility-check`, answers[1]?.headers.get("X-Request-Id")],
      ["/teacher/verify-license", answers[2]?.headers.get("X-Request-Id")],
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/12345678901|04417/);
  } finally {
    configureLog(() => {});
    await listener.close();
    await world.close().catch(() => {});
  }
});
