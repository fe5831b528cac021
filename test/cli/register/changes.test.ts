import { beforeAll, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { argsOf, subCommandsOf, type TvsCommand } from "../../../cli/command.ts";
import { rootCommand } from "../../../cli/commands.ts";
import { makeCertificate } from "../../harness/certificates.ts";
import { runJson, runTvs, runWell } from "../../harness/command.ts";
import { sharedFolder, withTempDir } from "../../harness/folder.ts";
import { type Environment, startService } from "../../harness/program.ts";
import { aTeacherWrite } from "../../harness/samples.ts";
import { makeRegister, withTestContext } from "../../harness/service.ts";

type Change = { at: string; actor: string; action: string; subject: string; detail: string | null };

const dataDir = sharedFolder();
const terms = "--name A --scopes all --purposes all --per-minute 60 --per-day 1000";
const regNo = "TR/LA/2020/000001";

beforeAll(async () => {
  await makeRegister(dataDir);
  await withTestContext(dataDir, ({ stores }) => stores.teachers.apply([aTeacherWrite(regNo)]));
});

async function run(line: string, env: Environment = {}) {
  return runTvs(line.split(" "), { dataDir, env: { SUDO_USER: "", ...env } });
}

async function json(line: string, env: Environment = {}) {
  const { code, stdout, stderr } = await run(`${line} --json`, env);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

const nameChange = ({ actor, action }: Change) => `${actor} ${action}`;
const changesOf = async (line: string): Promise<string[]> =>
  ((await json(line)) as Change[]).reverse().map(nameChange);

const given = { TVS_OPERATOR: "bola", SUDO_USER: "chidi" };
test.each([
  ["the value of --by first", "--by ada", given, "cli:ada"],
  ["the value of TVS_OPERATOR before sudo's user", "", given, "cli:bola"],
  ["sudo's user", "", { SUDO_USER: "chidi" }, "cli:chidi"],
] as const)("the recorded actor of a change is %s", async (name, by, env, actor) => {
  const id = `who-${name.replace(/\W/g, "")}`.slice(0, 60);
  await json(`partners add ${id} ${terms} ${by}`.trim(), env);
  expect(await json(`partners history ${id}`)).toMatchObject([
    { actor, action: "added", subject: `partner:${id}` },
  ]);
});

test("the recorded actor of a change is the login name, if --by, TVS_OPERATOR and SUDO_USER are absent", async () => {
  const others = { USER: "somebody", LOGNAME: "somebody", USERNAME: "somebody" };
  await json(`partners add login ${terms}`, others);
  const [{ actor }] = await json("partners history login");
  const id = Bun.spawnSync(["id", "-un"]).stdout.toString().trim();
  expect(actor).toBe(`cli:${id === "" ? `uid-${userInfo().uid}` : id}`);
});

test.each([
  ["--by", { by: "a\tb" }],
  ["--by", { by: " " }],
  ["--by", { by: "x".repeat(65) }],
  ["TVS_OPERATOR", { TVS_OPERATOR: "a\u001b[31mb" }],
  ["SUDO_USER", { SUDO_USER: "a\u202eb" }],
])(
  "a command is refused if %s names an unprintable, empty or long actor: %j",
  async (source, { by, ...env }: Record<string, string>) => {
    const options = { dataDir, env: { SUDO_USER: "", ...env } };
    const words = `partners add unnamed ${terms}`.split(" ");
    if (by !== undefined) words.push("--by", by);
    const refused = await runTvs(words, options);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toStartWith(`tvs: ${source} must be one line of 1 to 64 printable characters`);
    // A command without changes needs no actor.
    expect(await runTvs(["partners", "list"], options)).toMatchObject({ code: 0 });
    expect(await run("partners history unnamed")).toMatchObject({ code: 1 });
  },
);

test("tvs records the actor of each change of a partner, and records no refused or empty change", async () => {
  const certificate = join(dataDir, "client.pem");
  await writeFile(certificate, (await makeCertificate({ commonName: "whole" })).certPem);
  const recorded: string[] = [];
  /** Runs a command, each time by another person. */
  const act = (action: string, line: string) => {
    const by = `p${recorded.length}`;
    recorded.push(`cli:${by} ${action}`);
    return json(`${line} --by ${by}`);
  };
  const actTwice = async (action: string, line: string) => {
    await act(action, line);
    await json(`${line} --by nobody`);
  };
  const expectRefused = async (line: string) => expect((await run(`${line} --by nobody`)).code).toBe(1);
  const { keyId } = await act("added", `partners add whole ${terms}`);
  await act("changed", "partners set whole --per-minute 5 --scopes batch,eligibility");
  await actTwice("disabled", "partners disable whole");
  await actTwice("enabled", "partners enable whole");
  await act("key issued", "partners key issue whole");
  await expectRefused("partners key issue whole");
  await actTwice("key revoked", `partners key revoke ${keyId}`);
  const { fingerprint } = await act("certificate added", `partners cert add whole ${certificate}`);
  await expectRefused(`partners cert add whole ${certificate}`);
  await act("certificate removed", `partners cert remove whole ${fingerprint}`);
  await expectRefused(`partners cert remove whole ${fingerprint}`);
  const url = "https://8.8.8.8/events?token=hush";
  const { secret } = await act("webhook set", `partners webhook set whole ${url}`);
  await act("webhook secret rotated", "partners webhook rotate-secret whole");
  await act("webhook tested", "partners webhook test whole");
  await actTwice("webhook disabled", "partners webhook disable whole");
  await actTwice("webhook enabled", "partners webhook enable whole");
  await act("webhook removed", "partners webhook remove whole");
  expect(await changesOf("partners history whole")).toEqual(recorded);
  expect(await changesOf("partners history whole --by p1")).toEqual(["cli:p1 changed"]);
  const { stdout } = await run("partners history whole");
  expect(stdout).toContain("scopes eligibility,batch; perMinute 5");
  expect(stdout).toContain("https://8.8.8.8");
  for (const hidden of ["hush", secret, "nobody"]) expect(stdout).not.toContain(hidden);
  const { changes } = await json("partners show whole");
  expect(changes.reverse().map(nameChange)).toEqual(recorded.slice(-5));
});

test("tvs records the actor of each change of a signing key, and tvs keys list shows the last actor", async () => {
  const { previousKid, activeKid, pendingKid } = await json("keys rotate --now --by ada");
  const by = async () =>
    new Map((await json("keys list")).map((key: { kid: string; by: string }) => [key.kid, key.by]));
  const rotated = await by();
  const kids = [previousKid, activeKid, pendingKid];
  expect(kids.map((kid) => rotated.get(kid))).toEqual(Array(3).fill("cli:ada"));
  await json(`keys compromise ${activeKid} --since 2026-01-01T00:00:00Z --by keeper`);
  const after = await by();
  expect(kids.map((kid) => after.get(kid))).toEqual(["cli:ada", "cli:keeper", "cli:keeper"]);
  expect((await run("keys list")).stdout).toMatch(/ BY\n/);
  const made = ["compromised", "activated", "made"].map((action) => `cli:keeper ${action}`);
  expect(await changesOf("changes --by keeper")).toEqual(made);
});

test("tvs records the actor of each change of a teacher in the history and in tvs changes", async () => {
  await json(`teachers deactivate ${regNo} --reason Duplicate --by ada`);
  await json(`teachers reactivate ${regNo} --reason Back --by bola`);
  const history = await json(`teachers history ${regNo} --by ada`);
  expect(history).toMatchObject([{ type: "change", action: "deactivate", actor: "cli:ada" }]);
  const all: Change[] = await json("changes --by bola");
  expect(all).toContainEqual(expect.objectContaining({ action: "reactivate", subject: `teacher:${regNo}` }));
});

test("tvs changes shows an import by its number, with its actor", async () => {
  const file = join(dataDir, "extract.csv");
  await writeFile(
    file,
    "reg_no,name,source,certificate_status,license_issue_date,license_expiry_date\nTR/LA/2020/000002,Ada Obi,legacy,CLAIMED,2020-01-01,2090-01-01\n",
  );
  await json(`teachers import ${file} --baseline --by importer`);
  expect(await json("changes --by importer")).toMatchObject([{ action: "import", subject: "import:1" }]);
});

test("the recorded actor of a changed setting is the person who ran tvs init or started the service", () =>
  withTempDir(async (folder) => {
    const data = join(folder, "data");
    const init = "init --issuer https://verify.example.org --name Registry --by ada".split(" ");
    await runWell(init, { dataDir: data });
    const given = {
      args: ["--time-zone", "Africa/Accra", "--keep-attestations", "7y"],
      env: { TVS_OPERATOR: "bola" },
    };
    await (await startService({ dataDir: data, ...given })).stop();
    const changes: Change[] = await runJson(["changes"], { dataDir: data });
    const of = (subject: string) => changes.filter((one) => one.subject === subject);
    expect(of("setting:issuer")).toMatchObject([{ actor: "cli:ada", detail: "https://verify.example.org" }]);
    expect(of("setting:time_zone")).toMatchObject([
      { actor: "cli:bola", detail: "Africa/Accra" },
      { actor: "cli:ada", detail: "Africa/Lagos" },
    ]);
    for (const own of ["issuer_set", "keep_attestations_mac"]) expect(of(`setting:${own}`)).toEqual([]);
    expect(of("setting:keep_attestations")).toMatchObject([{ detail: "7y" }, { detail: "forever" }]);
    expect(of("setting:site")).toMatchObject([{ actor: "cli:ada", detail: null }]);
    // The service is the actor of its own work.
    expect(of("log:1")).toMatchObject([{ actor: "service", action: "log begun" }]);
  }));

/** Commands that change data of a live register, and that no test above runs with `--by`. */
const changing = [
  ...["serve", "restore", "log new", "webhooks retry", "webhooks release", "keys import"],
  ...["revoke", "reinstate", "hide", "unhide", "sweep"].map((name) => `teachers ${name}`),
];

test.each(changing)("tvs %s accepts --by", async (words) => {
  let command: TvsCommand = rootCommand;
  for (const word of words.split(" ")) {
    const load = subCommandsOf(command)[word];
    if (load === undefined) throw new Error(`there is no ${words}`);
    command = await load();
  }
  expect(argsOf(command).by).toMatchObject({ valueHint: "NAME" });
});
