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

test("a stopping service writes every line of its access log before it ends", async () => {
  const answers = await Promise.all(Array.from({ length: 200 }, () => partner.check(question)));
  await world.restart();
  const lines = logged();
  expect(answers.filter((answer) => !lines.includes(idOf(answer)))).toEqual([]);
});

test("the access log keeps its lines when the service is killed, and the next service adds lines after them", async () => {
  const before = idOf(await partner.check(question));
  await until(() => logged().includes(before));
  await world.restart({ kill: true });
  const after = idOf(await partner.check(question));
  await until(() => logged().includes(after));
  expect(logged()).toContain(before);
});

test("a search for a call's request id finds the attestation of the answer, or of each item of a batch", async () => {
  const item = { identifier: question, purpose: "GENERAL_PUBLIC_VERIFICATION" };
  const calls = [await partner.check(question), await partner.post("/batch", { items: [item, item] })];
  const shown = await Promise.all(
    calls.map((call) => world.tvsJson<{ requestId: string }[]>("attestations", "show", idOf(call))),
  );
  expect(shown.map((found) => found.map(({ requestId }) => requestId))).toEqual(
    calls.map((call, n) => Array(n + 1).fill(idOf(call))),
  );
});
