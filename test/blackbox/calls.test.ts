import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness/eventually.ts";
import { teachers } from "./registry.ts";
import { createWorld, type Partner, sharedWorld } from "./world.ts";

type Call = {
  requestId: string;
  status: number;
  route: string;
  partnerId: string | null;
  error: string | null;
};

const world = sharedWorld({ args: ["--access-log"] });
let partner: Partner;
let folder: string;
beforeAll(async () => {
  partner = await world.partner();
  folder = join(world.dataDir, "calls");
});
const idOf = (response: Response) => response.headers.get("X-Request-Id") ?? "";
const calls = (...words: string[]) => world.tvsJson<Call[]>("calls", ...words);
const find = async (id: string) =>
  (await calls("--limit", "100000")).find(({ requestId }) => requestId === id);
/** Whether a line of a call is in the folder: a command for each look would take longer than what it waits for. */
const isWritten = (id: string) =>
  readdirSync(folder).some((name) => readFileSync(join(folder, name), "utf8").includes(id));
const question = { regNo: teachers.valid.reg_no };

describe("the access log of a running service", () => {
  test("is written to its end when the service is told to stop", async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => partner.check(question)));
    await world.restart();
    const kept = new Set((await calls("--limit", "100000")).map(({ requestId }) => requestId));
    expect(answers.filter((answer) => !kept.has(idOf(answer)))).toEqual([]);
  });

  test("keeps what was written when the service is killed, and goes on behind it", async () => {
    const before = idOf(await partner.check(question));
    await until(() => isWritten(before));
    await world.restart({ kill: true });
    const after = idOf(await partner.check(question));
    await until(() => isWritten(after));
    expect([(await find(before))?.status, (await find(after))?.status]).toEqual([200, 200]);
  });
});

test("a service that was not told to keeps no access log, and a sandbox does", async () => {
  const [quiet, sandbox] = await Promise.all([
    createWorld({ rows: [] }),
    createWorld({ rows: [], args: ["--sandbox"] }),
  ]);
  try {
    await quiet.get("/v1/inter-agency/health");
    expect(existsSync(join(quiet.dataDir, "calls"))).toBe(false);
    expect((await quiet.tvs("calls")).code).toBe(2);
    const id = idOf(await sandbox.get("/v1/inter-agency/health"));
    await until(async () => (await sandbox.tvs("calls", "show", id, "--sandbox")).code === 0);
  } finally {
    await Promise.all([quiet.end(), sandbox.end()]);
  }
});
