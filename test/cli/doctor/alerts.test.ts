import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pageOf, tellAlerts } from "../../../cli/doctor/alerts.ts";
import { readConfig } from "../../../src/config.ts";
import { type Check, fail, ok, warn } from "../../../src/domain/check.ts";
import { topics } from "../../../src/manual.ts";
import { runJson, runTvs } from "../../harness/command.ts";
import { until } from "../../harness/eventually.ts";
import { withTempDir } from "../../harness/folder.ts";
import { patienceMs, runTvs as runProcess } from "../../harness/program.ts";
import { withTestOperator } from "../../harness/service.ts";

setDefaultTimeout(patienceMs);

type Told = { alert: string; state: string; since: string; text: string; page: string };

/** A program in a folder that writes down what it is told, and then does as the test says. */
function aProgram(folder: string) {
  const [path, written] = [join(folder, "tell"), join(folder, "told")];
  const then = (act: string) => {
    writeFileSync(path, `#!/bin/sh\ncat >> '${written}'\n${act}\n`);
    chmodSync(path, 0o755);
  };
  then("exit 0");
  const all = () => (existsSync(written) ? readFileSync(written, "utf8") : "").split("\n").slice(0, -1);
  const told = (): Told[] => all().map((line) => JSON.parse(line));
  return { path, then, told, states: () => told().map(({ alert, state }) => `${alert} ${state}`) };
}

/** Judges what is told of findings that a test makes. */
async function withProgram(
  act: (world: {
    program: ReturnType<typeof aProgram>;
    state: string;
    tell: (checks: Check[], limitMs?: number) => ReturnType<typeof tellAlerts>;
  }) => Promise<void>,
): Promise<void> {
  await withTempDir(async (folder) => {
    const program = aProgram(folder);
    const config = readConfig({ data: folder }, {});
    const tell = (checks: Check[], limitMs?: number) => tellAlerts(config, program.path, checks, limitMs);
    await act({ program, state: join(folder, "alerts.json"), tell });
  });
}

/** What is there whenever the database was read. */
const read = ok("register", "5 teachers");
const full = warn("disk", "9 MiB free", "free some space");

describe("the program for alerts", () => {
  test("is told once that something begins, and once that it ends", () =>
    withProgram(async ({ program, state, tell }) => {
      const before = Date.now();
      for (let times = 0; times < 2; times++) await tell([read, full]);
      const [begun, ...others] = program.told();
      expect(others).toEqual([]);
      const text = "9 MiB free; free some space";
      const { since = "" } = begun ?? {};
      expect(begun).toEqual({ alert: "disk", state: "begun", since, text, page: "service" });
      expect(Date.parse(since)).toBeWithin(before, Date.now() + 1);
      expect(statSync(state).mode & 0o777).toBe(0o600);
      for (let times = 0; times < 2; times++) await tell([read, ok("disk", "9 GiB free")]);
      expect(program.told()).toEqual([
        begun as Told,
        { alert: "disk", state: "ended", since, text, page: "service" },
      ]);
    }));

  test("is told again of what gets worse or is about somebody else, and not of what gets better", () =>
    withProgram(async ({ program, tell }) => {
      const dead = (about: string, words = "given up") => warn("webhooks", `${about}: ${words}`, { about });
      for (const checks of [
        [dead("a", "5 minutes")],
        [dead("a", "6 minutes")],
        [dead("a"), dead("b")],
        [dead("b")],
        [fail("webhooks", "b failed", { about: "b" })],
        [dead("b")],
      ]) {
        await tell([read, ...checks]);
      }
      expect(program.told().map(({ text }) => text)).toEqual([
        "a: 5 minutes",
        "a: given up\nb: given up",
        "b failed",
      ]);
    }));

  test("that fails is asked again the next time, and doctor says so", () =>
    withProgram(async ({ program, tell }) => {
      program.then("exit 3");
      const failure = `${program.path} ended with 3 when it was told of disk`;
      expect(await tell([read, full])).toEqual({ told: [], failure });
      program.then("exit 0");
      expect((await tell([read, full])).told).toHaveLength(1);
      program.then("exit 3");
      expect(await tell([read])).toMatchObject({ failure });
      // What it may have been told is begun anew, not taken for known.
      program.then("exit 0");
      await tell([read, full]);
      await tell([read]);
      expect(program.states()).toEqual([
        ...["disk begun", "disk begun", "disk ended", "disk begun", "disk ended"],
      ]);
      expect(new Set(program.told().map(({ since }) => since)).size).toBe(1);
    }));

  test("that takes too long is ended, and asked again", () =>
    withProgram(async ({ program, tell }) => {
      program.then("exec sleep 60");
      expect(await tell([read, full], 300)).toMatchObject({
        failure: `${program.path} took longer than 0.3 s when it was told of disk`,
      });
      program.then("exit 0");
      expect((await tell([read, full])).told).toHaveLength(1);
    }));

  test("need not read what it is told", () =>
    withProgram(async ({ program, tell }) => {
      writeFileSync(program.path, "#!/bin/sh\nexit 0\n");
      const long = warn("disk", "x".repeat(1024 * 1024));
      expect(await tell([read, long])).toMatchObject({ failure: null });
    }));

  test.each([
    ["is gone", 0o755, "/nowhere/tell"],
    ["is not executable", 0o644, null],
    ["can be written by everybody", 0o757, null],
  ])("that %s is not run, and said to be so", (_, mode, other) =>
    withProgram(async ({ program, state }) => {
      chmodSync(program.path, mode);
      const config = readConfig({ data: join(state, "..") }, {});
      const path = other ?? program.path;
      const { told, failure } = await tellAlerts(config, path, [read, full]);
      // Root can run what anybody can.
      expect([told, failure]).toEqual([[], expect.stringContaining(path)]);
      expect(program.told()).toEqual([]);
    }),
  );

  test("gets none of the service's settings", () =>
    withProgram(async ({ program, tell }) => {
      const before = process.env.TVS_MASTER_KEY;
      process.env.TVS_MASTER_KEY = "secret";
      program.then(`test -z "$TVS_MASTER_KEY"`);
      try {
        expect(await tell([read, full])).toMatchObject({ failure: null });
      } finally {
        if (before === undefined) delete process.env.TVS_MASTER_KEY;
        else process.env.TVS_MASTER_KEY = before;
      }
    }));

  test("is not told that something ended which nobody could look at", () =>
    withProgram(async ({ program, tell }) => {
      await tell([read, warn("webhooks", "given up")]);
      await tell([fail("database", "it cannot be opened")]);
      expect(program.states()).toEqual(["webhooks begun", "database begun"]);
      await tell([read]);
      expect(program.states().slice(2)).toEqual(["webhooks ended", "database ended"]);
    }));

  test("is told everything again where the state is lost or cannot be written", () =>
    withProgram(async ({ program, state, tell }) => {
      await tell([read, full]);
      writeFileSync(state, '{"alerts": {"di');
      await tell([read, full]);
      expect(program.states()).toEqual(["disk begun", "disk begun"]);
      const config = readConfig({ data: join(state, "nowhere") }, {});
      for (let times = 0; times < 2; times++) {
        expect(await tellAlerts(config, program.path, [full])).toMatchObject({
          told: [{ alert: "disk" }],
          failure: expect.stringContaining("cannot be written"),
        });
      }
    }));
});

describe("doctor --alert-command", () => {
  test("tells of its own checks by their names, and prints what it has told", () =>
    withTempDir(async (folder) => {
      const program = aProgram(folder);
      const dataDir = join(folder, "data");
      await withTestOperator(dataDir, async () => {});
      chmodSync(dataDir, 0o755);
      const words = ["doctor", "--alert-command", program.path];
      type Report = { checks: Check[]; told: Told[]; failure: string | null };
      const { checks, told, failure } = await runJson<Report>([...words, "--json"], { dataDir });
      expect(failure).toBeNull();
      expect(program.told()).toEqual(told);
      const wrong = checks.filter(({ result }) => result !== "ok").map(({ name }) => name);
      expect(told.map(({ alert }) => alert)).toEqual([...new Set(wrong)]);
      expect(told.map(({ alert }) => alert)).toContain("data-directory");
      const pages = topics.map(({ name }) => name);
      for (const { name } of checks) expect(pages).toContain(pageOf(name));
      chmodSync(dataDir, 0o700);
      expect((await runTvs(words, { dataDir })).stdout).toMatch(/^ended +data-directory +.*0755/m);
      expect((await runTvs(words, { dataDir })).stdout).toBe("nothing has begun or ended\n");
    }));

  test("says that the program failed, until it no longer does", () =>
    withTempDir(async (folder) => {
      const program = aProgram(folder);
      const dataDir = join(folder, "data");
      await withTestOperator(dataDir, async () => {});
      const words = ["doctor", "--alert-command", program.path];
      const line = async () =>
        (await runTvs(["doctor"], { dataDir })).stdout.match(/^.*alert-command .*$/m)?.[0];
      program.then("exit 9");
      expect(await runTvs(words, { dataDir })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`${program.path} ended with 9`),
      });
      expect(await line()).toMatch(/^warn +alert-command +.*ended with 9/);
      program.then("exit 0");
      expect(await runTvs(words, { dataDir })).toMatchObject({ code: 0 });
      expect(await line()).toMatch(/^ok +alert-command/);
      expect(program.told().map(({ alert }) => alert)).not.toContain("alert-command");
    }));

  test("that is killed before it knows what became of it tells it again", () =>
    withTempDir(async (folder) => {
      const program = aProgram(folder);
      const dataDir = join(folder, "data");
      await withTestOperator(dataDir, async () => {});
      program.then("kill -9 $PPID");
      const words = ["doctor", "--alert-command", program.path];
      expect((await runProcess(words, { dataDir })).code).not.toBe(0);
      const [first, ...others] = program.told();
      expect([first?.state, others]).toEqual(["begun", []]);
      program.then("exit 0");
      expect((await runProcess(words, { dataDir })).code).toBe(0);
      expect(program.told().filter(({ alert }) => alert === first?.alert)).toEqual([
        first as Told,
        first as Told,
      ]);
    }));

  test("tells nothing while another one does", () =>
    withTempDir(async (folder) => {
      const program = aProgram(folder);
      const dataDir = join(folder, "data");
      await withTestOperator(dataDir, async () => {});
      program.then(`while [ ! -e '${folder}/go' ]; do sleep 0.05; done`);
      const words = ["doctor", "--alert-command", program.path];
      const first = runProcess(words, { dataDir });
      await until(() => program.told().length > 0);
      expect(await runProcess(words, { dataDir })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("another tvs doctor is telling alerts"),
      });
      expect(program.told()).toHaveLength(1);
      writeFileSync(join(folder, "go"), "");
      expect((await first).code).toBe(0);
      const told = program.states();
      expect(new Set(told).size).toBe(told.length);
    }));

  test("is refused a program without its whole path", async () => {
    const { code, stderr } = await runTvs(["doctor", "--alert-command", "tell"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--alert-command must be an absolute path")]);
  });
});
