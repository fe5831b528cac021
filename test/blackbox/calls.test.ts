import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { patienceMs } from "../harness/program.ts";
import { teachers } from "./registry.ts";
import { createWorld, type Partner, type World } from "./world.ts";

setDefaultTimeout(patienceMs);

type Call = {
  requestId: string;
  status: number;
  route: string;
  partnerId: string | null;
  error: string | null;
};

let world: World;
let partner: Partner;
let file: string;
beforeAll(async () => {
  world = await createWorld({ args: ["--access-log"] });
  partner = await world.partner();
  file = join(world.dataDir, "tvs-calls.db");
});
afterAll(() => world.end());

/** Written within half a second; a busy machine takes longer. */
const soon = (holds: () => Promise<boolean>) => eventually(holds, 10_000);
const idOf = (response: Response) => response.headers.get("X-Request-Id") ?? "";
const calls = (...words: string[]) => world.tvsJson<Call[]>("calls", ...words);
const find = async (id: string) =>
  (await calls("--limit", "100000")).find(({ requestId }) => requestId === id);
const question = { regNo: teachers.valid.reg_no };

describe("the access log of a running service", () => {
  test("leads from a request id to its call and to what it attested", async () => {
    const answered = idOf(await partner.check(question));
    const refused = idOf(await partner.check({ regNo: "wrong" }));
    await soon(async () => (await find(refused)) !== undefined);
    expect(await find(refused)).toMatchObject({
      status: 400,
      partnerId: partner.id,
      error: "REQUEST_INVALID",
    });
    expect(await world.tvsJson("calls", "show", answered)).toMatchObject({
      requestId: answered,
      status: 200,
    });
    expect(await world.tvsJson("attestations", "show", answered)).toMatchObject([{ requestId: answered }]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("is written to its end when the service is told to stop", async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => partner.check(question)));
    await world.restart();
    const kept = new Set((await calls("--limit", "100000")).map(({ requestId }) => requestId));
    expect(answers.filter((answer) => !kept.has(idOf(answer)))).toEqual([]);
  });

  test("takes neither answers nor health along when its file is damaged, and goes on in a new one", async () => {
    writeFileSync(`${file}.other`, "no database".repeat(10_000));
    chmodSync(`${file}.other`, 0o600);
    for (const end of ["-wal", "-shm"])
      if (existsSync(file + end)) renameSync(file + end, `${file}.old${end}`);
    renameSync(file, `${file}.old`);
    renameSync(`${file}.other`, file);
    expect((await partner.check(question)).status).toBe(200);
    expect(await soon(async () => world.service().stderr().includes("cannot be written"))).toBe(true);
    for (let n = 0; n < 5; n++) expect((await partner.check(question)).status).toBe(200);
    expect((await world.get("/v1/inter-agency/health")).status).toBe(200);
    expect((await world.tvs("calls")).code).toBe(2);
    expect((await world.tvs("status")).code).toBe(0);
    expect(
      world
        .service()
        .stderr()
        .match(/cannot be written/g),
    ).toHaveLength(1);
    renameSync(file, `${file}.damaged`);
    const asked = new Set<string>();
    const isWritten = async () => {
      asked.add(idOf(await partner.check(question)));
      return (await calls("--limit", "100000")).some(({ requestId }) => asked.has(requestId));
    };
    expect(await soon(() => isWritten().catch(() => false))).toBe(true);
    const { stderr } = await world.tvs("calls");
    expect(stderr).toMatch(/\d+ more calls were answered in this time and are missing/);
  });
});

test("a service that was not told to keeps no access log, and a sandbox does", async () => {
  const [quiet, sandbox] = await Promise.all([
    createWorld({ rows: [] }),
    createWorld({ rows: [], args: ["--sandbox"] }),
  ]);
  try {
    await quiet.get("/v1/inter-agency/health");
    expect(existsSync(join(quiet.dataDir, "tvs-calls.db"))).toBe(false);
    expect((await quiet.tvs("calls")).code).toBe(2);
    const id = idOf(await sandbox.get("/v1/inter-agency/health"));
    const isKept = async () => (await sandbox.tvs("calls", "show", id, "--sandbox")).code === 0;
    expect(await soon(isKept)).toBe(true);
  } finally {
    await Promise.all([quiet.end(), sandbox.end()]);
  }
});
