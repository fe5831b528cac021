import { expect, test } from "bun:test";
import { openTestService } from "../../harness/service.ts";
import { document } from "./document.ts";

test("a call without a credential gets 401 where the document asks for one, and nowhere else", async () => {
  const world = await openTestService();
  for (const [path, item] of Object.entries(document.paths)) {
    const operations = item as unknown as Record<string, { security: unknown[] }>;
    for (const [method, { security }] of Object.entries(operations)) {
      const response = await world.call(path.replace("{tId}", "1").replace("{regNo}", "a"), {
        method: method.toUpperCase(),
      });
      expect([path, response.status === 401]).toEqual([path, security.length > 0]);
    }
  }
  await world.close();
});
