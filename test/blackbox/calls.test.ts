import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness/eventually.ts";
import { teachers } from "./registry.ts";
import { type Partner, sharedWorld } from "./world.ts";

const world = sharedWorld({ args: ["--access-log"] });
let partner: Partner;
beforeAll(async () => {
  partner = await world.partner();
});
const logged = () => readFileSync(join(world.dataDir, "access.log"), "utf8");
const idOf = (response: Response) => response.headers.get("X-Request-Id") ?? "";
const question = { regNo: teachers.valid.reg_no };

test("a service that stops writes all of its access log first", async () => {
  const answers = await Promise.all(Array.from({ length: 200 }, () => partner.check(question)));
  await world.restart();
  const lines = logged();
  expect(answers.filter((answer) => !lines.includes(idOf(answer)))).toEqual([]);
});

test("the access log keeps the lines from before a kill, and continues after them", async () => {
  const before = idOf(await partner.check(question));
  await until(() => logged().includes(before));
  await world.restart({ kill: true });
  const after = idOf(await partner.check(question));
  await until(() => logged().includes(after));
  expect(logged()).toContain(before);
});

test("the request id of a call finds its attestations: of one answer, or of each item of a batch", async () => {
  const item = { identifier: question, purpose: "GENERAL_PUBLIC_VERIFICATION" };
  const calls = [await partner.check(question), await partner.post("/batch", { items: [item, item] })];
  const shown = await Promise.all(
    calls.map((call) => world.tvsJson<{ requestId: string }[]>("attestations", "show", idOf(call))),
  );
  expect(shown.map((found) => found.map(({ requestId }) => requestId))).toEqual(
    calls.map((call, n) => Array(n + 1).fill(idOf(call))),
  );
});
