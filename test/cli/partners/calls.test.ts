import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { runTvs } from "../../harness/command.ts";
import { until } from "../../harness/eventually.ts";
import { withTempDir } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import {
  known,
  makeRegister,
  openTestService,
  type PartnerName,
  type TestService,
} from "../../harness/service.ts";

/** A service that goes on serving while the commands read. */
let world: TestService;
let dataDir: string;
const ids: Record<string, string> = {};
const question = { identifier: { regNo: known.regNo }, purpose: "GENERAL_PUBLIC_VERIFICATION" };
const unknownId = "01a20100-0000-7000-8000-000000000000";

beforeAll(async () => {
  world = await openTestService({ accessLog: true });
  ({ dataDir } = world.operator);
  const ask = async (name: string, as: PartnerName | undefined, path: string, init: object = {}) => {
    const response = await world.call(`/v1/inter-agency/${path}`, {
      ...(as === undefined ? {} : { as }),
      ...init,
    });
    ids[name] = response.headers.get("X-Request-Id") ?? "";
  };
  const check = { body: question, headers: { "Idempotency-Key": "k" } };
  await ask("first", "full", "eligibility-check", check);
  await ask("replay", "full", "eligibility-check", check);
  await ask("batch", "full", "batch", {
    body: { items: [question, { ...question, identifier: { tId: 99 } }] },
  });
  await ask("unscoped", "unscoped", "lookup/by-tid/204417");
  await ask("nobody", undefined, `lookup/by-tid/${known.nin}`);
  await ask("path", undefined, `nothing/${known.nin}`);
  const written = () => (world.metrics.accessLog()?.written ?? 0) === Object.keys(ids).length;
  await until(written);
});
afterAll(() => world.close());

const tvs = (...words: string[]) => runTvs(words, { dataDir });
async function json<T = Record<string, unknown>[]>(...words: string[]): Promise<T> {
  const { code, stdout } = await tvs(...words, "--json");
  expect([words, code]).toEqual([words, 0]);
  return JSON.parse(stdout) as T;
}

describe("tvs calls", () => {
  test("shows each call that the service has answered, newest first, and nothing of what was asked", async () => {
    const calls = await json("calls");
    expect(calls.map(({ requestId }) => requestId)).toEqual(Object.values(ids).reverse());
    expect(calls[2]).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      route: "/v1/inter-agency/lookup/by-tid/{tId}",
      method: "GET",
      status: 403,
      partnerId: "unscoped",
      keyId: expect.stringMatching(/^[0-9A-Za-z]{12}$/),
      requestId: ids.unscoped,
      ms: expect.any(Number),
      error: "SCOPE_MISSING",
      replayed: false,
    });
    const { stdout } = await tvs("calls");
    for (const id of Object.values(ids)) expect(stdout).toContain(id);
    expect(stdout + JSON.stringify(calls)).not.toMatch(
      new RegExp(`${known.nin}|${known.regNo}|127\\.0\\.0\\.1`),
    );
  });

  test("of one partner, of a status or a class of them, and from a time on", async () => {
    const found = async (...words: string[]) =>
      (await json("calls", ...words)).map(({ requestId }) => requestId);
    expect(await found("--partner", "unscoped")).toEqual([ids.unscoped]);
    expect(await found("--status", "4xx")).toEqual([ids.path, ids.nobody, ids.unscoped]);
    expect(await found("--status", "401")).toEqual([ids.nobody]);
    expect(await found("--partner", "full", "--status", "4XX")).toEqual([]);
    expect(await found("--since", "2020-01-01", "--limit", "2")).toEqual([ids.path, ids.nobody]);
    expect(await found("--since", "2999-01-01")).toEqual([]);
  });

  test.concurrent.each([
    [["--status", "4x"], 2, "--status must be"],
    [["--status", "600"], 2, "--status must be"],
    [["--since", "noon"], 2, "--since must be"],
    [["--partner", "nobody"], 1, "nobody"],
    [["show", "01a20100"], 2, "request id"],
    [[unknownId], 2, "its commands: show"],
    [["shwo", unknownId], 2, "did you mean show"],
    [["show", unknownId], 1, "no call with this id"],
  ])("refuses in one line: %p", async (words, code, why) => {
    const finished = await tvs("calls", ...words);
    expect([finished.code, finished.stdout]).toEqual([code, ""]);
    expect(finished.stderr).toMatch(new RegExp(`^tvs: .*${why}.*\n$`));
  });

  test("shows one call by its request id", async () => {
    expect(await json<object>("calls", "show", ids.nobody?.toUpperCase() ?? "")).toMatchObject({
      requestId: ids.nobody,
      status: 401,
      partnerId: null,
      error: "CREDENTIAL_REQUIRED",
    });
    const { stdout, stderr } = await tvs("calls", "show", ids.replay ?? "");
    expect(stdout).toContain("replayed   yes");
    const refused = await tvs("calls", "show", ids.nobody ?? "");
    expect(refused.stdout.replace(/\s+/g, " ")).toContain("means No credential came with the call");
    expect((await json("calls", "--since", "1h")).length).toBeGreaterThan(0);
    expect(stderr).toContain("an earlier answer was sent again");
  });

  test("says that there is no register, or how to keep an access log, where there is none, and makes none", () =>
    withTempDir(async (folder) => {
      const both = [["calls"], ["calls", "show", unknownId]];
      for (const words of both)
        expect(await runTvs(words, { dataDir: folder })).toMatchObject({
          code: 2,
          stderr: `tvs: there is no register at ${folder}; tvs init makes one\n`,
        });
      expect(readdirSync(folder)).toEqual([]);
      await makeRegister(folder);
      const made = readdirSync(folder);
      for (const words of both) {
        await expectRefusal(
          runTvs(words, { dataDir: folder }),
          2,
          /^tvs: there is no access log at .*calls: `tvs serve` begins one with --access-log, or where `tvs init` was told so\n$/,
        );
      }
      expect(readdirSync(folder)).toEqual(made);
    }));

  test("says of a call that is not there yet that it comes within a second", () =>
    withTempDir(async (folder) => {
      await makeRegister(folder);
      mkdirSync(join(folder, "calls"));
      const listed = await runTvs(["calls"], { dataDir: folder });
      expect([listed.code, listed.stdout]).toEqual([
        0,
        "no calls; one that was just answered is there within a second\n",
      ]);
      expect((await runTvs(["calls", "show", unknownId], { dataDir: folder })).stderr).toContain(
        "within a second",
      );
    }));
});

describe("tvs attestations show REQUEST_ID", () => {
  test("shows what a call attested: one, or all of a batch", async () => {
    const single = await json("attestations", "show", ids.first ?? "");
    expect(single).toMatchObject([
      { requestId: ids.first, reference: `regNo:${known.regNo}`, partnerId: "full" },
    ]);
    const [one] = single;
    expect(await json<object>("attestations", "show", String(one?.verificationId))).toEqual(one as object);
    expect(await json("attestations", "show", ids.batch ?? "")).toMatchObject([
      { requestId: ids.batch, endpoint: "batch", reference: `regNo:${known.regNo}`, jws: expect.any(String) },
      { requestId: ids.batch, endpoint: "batch", reference: "tId:99" },
    ]);
    const { stdout } = await tvs("attestations", "show", ids.batch ?? "");
    expect(stdout).toContain("tId:99");
    expect((await tvs("attestations", "show", ids.first ?? "")).stdout).toContain("signed claims");
  });

  test("says why a call has attested nothing, where the access log knows", async () => {
    await expectRefusal(
      tvs("attestations", "show", ids.unscoped ?? ""),
      1,
      `tvs: this call was answered with 403 (SCOPE_MISSING) and attested nothing; see \`tvs calls show ${ids.unscoped}\`\n`,
    );
    expect((await tvs("attestations", "show", ids.replay ?? "")).stderr).toContain(
      "has no attestation of its own",
    );
    await expectRefusal(tvs("attestations", "show", unknownId), 1, "no attestation has this verification id");
  });
});
