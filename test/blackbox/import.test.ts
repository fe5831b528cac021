import { expect, test } from "bun:test";
import { withinOneSecond } from "../harness/eventually.ts";
import type { Envelope, License } from "./contract.ts";
import { day, teacher } from "./registry.ts";
import { readJson, sharedWorld } from "./world.ts";

const world = sharedWorld({ rows: [] });

test("a serving process sees at once that a teacher is new, has changed and has lost a licence", async () => {
  const partner = await world.partner();
  const row = teacher("IM/PT/2024/00001", {});
  const { result } = await readJson<Envelope>(await partner.check({ regNo: row.reg_no }));
  expect(result.found).toBe(false);

  /** Whether a check says so of the licence within the second that D1.4 promises. */
  const licenseBecomes = (status: License["status"]) =>
    withinOneSecond(async () => {
      const answer = await readJson<Envelope>(await partner.check({ regNo: row.reg_no }));
      return answer.result.license?.status === status;
    });
  await world.importRows([row]);
  expect(await licenseBecomes("VALID")).toBe(true);
  await world.importRows([{ ...row, license_revoked_on: day(0), license_revoked_reason: "test" }]);
  expect(await licenseBecomes("REVOKED")).toBe(true);
  await world.importRows([row]);
  expect(await licenseBecomes("VALID")).toBe(true);
});
