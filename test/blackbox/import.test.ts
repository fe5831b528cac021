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

test("a register's word for withdrawn is refused, and by a mapping it is REVOKED for partners and VALID for nobody", async () => {
  const partner = await world.partner();
  const people = ["IM/PT/2024/00011", "IM/PT/2024/00012"].map((number) => teacher(number, {}));
  const columns = Object.keys(people[0] ?? {});
  const lines = people.map((row, n) => [...Object.values(row), n === 0 ? "STRUCK OFF" : "ACTIVE"].join(","));
  const file = await world.file("board.csv", `${[...columns, "Standing"].join(",")}\n${lines.join("\n")}\n`);
  const refused = await world.tvs("teachers", "import", file, "--allow-change");
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toContain("STRUCK OFF (1 row), ACTIVE (1 row)");
  const number = people[0]?.reg_no ?? "";
  const answer = async () => (await readJson<Envelope>(await partner.check({ regNo: number }))).result;
  expect((await answer()).found).toBe(false);

  const values = { license_status: { "STRUCK OFF": "REVOKED", ACTIVE: "VALID" } };
  const text = JSON.stringify({ columns: { Standing: "license_status" }, values });
  const mapping = await world.file("board.map.json", text);
  const done = await world.tvs("teachers", "import", file, "--map", mapping, "--allow-change");
  expect([done.code, done.stderr]).toEqual([0, ""]);
  expect(await withinOneSecond(async () => (await answer()).status === "REVOKED")).toBe(true);
  const publicly = async (regNo: string) => {
    const path = `/teacher/verify-license?searchTerm=${encodeURIComponent(regNo)}`;
    return (await readJson<{ license: License }>(await world.get(path))).license.status;
  };
  expect(await publicly(number)).toBe("NOT_FOUND");
  expect(await publicly(people[1]?.reg_no ?? "")).toBe("VALID");
});
