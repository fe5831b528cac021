import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { sharedFolder, withTempDir } from "../../harness/folder.ts";
import { patienceMs, runJson, runTvs, type Signal, startService } from "../../harness/program.ts";

setDefaultTimeout(patienceMs);

/** The service's user, whom every system has by this name or another: what root is to become, and the attacker. */
const uid = 65_534;
const name = readFileSync("/etc/passwd", "utf8")
  .split("\n")
  .map((line) => line.split(":"))
  .find((one) => one[2] === String(uid))?.[0];
/** Only root can become somebody else. */
const isRoot = process.geteuid?.() === 0 && name !== undefined;
const deno = ["node", "../../../node_modules/deno/bin.cjs", "run", "--allow-all", "../../../cli/main.ts"].map(
  (word) => (word.startsWith("..") ? join(import.meta.dir, word) : word),
);

type World = {
  readonly folder: string;
  readonly dataDir: string;
  /** Has one answer attested by a service that is killed before it has signed for it: the next command does. */
  attest(): Promise<void>;
};

/** Made once, with the key of its partner; each test has a copy. */
const template = sharedFolder();
let apiKey = "";

/** Has one answer attested by a service that is stopped then: by SIGKILL before it has signed the log for it. */
async function attest(dataDir: string, signal: Signal): Promise<void> {
  const service = await startService({ dataDir, args: ["--issuer", "https://verify.example.gov"] });
  const headers = { Authorization: `Bearer ${apiKey}` };
  const { status } = await fetch(`${service.url}/v1/inter-agency/lookup/by-tid/1`, { headers });
  await service.stop(signal);
  expect(status).toBe(200);
}

beforeAll(async () => {
  if (!isRoot) return;
  const dataDir = join(template, "data");
  const add = ["partners", "add", "board", "--name", "Board", "--scopes", "all", "--purposes", "all"];
  const quota = ["--per-minute", "99", "--per-day", "99"];
  ({ apiKey } = await runJson<{ apiKey: string }>([...add, ...quota], { dataDir }));
  await attest(dataDir, "SIGTERM");
});

/** A register of that user's with an evidence log, in a folder that root alone decides about. */
function withOthersRegister(act: (world: World) => Promise<void>): Promise<void> {
  return withTempDir(async (folder) => {
    chmodSync(folder, 0o755);
    const dataDir = join(folder, "data");
    cpSync(join(template, "data"), dataDir, { recursive: true });
    give(dataDir);
    const attestAndGive = async () => {
      await attest(dataDir, "SIGKILL");
      give(dataDir);
    };
    await act({ folder, dataDir, attest: attestAndGive });
  });
}

function give(dataDir: string): void {
  for (const file of readdirSync(dataDir)) lchownSync(join(dataDir, file), uid, uid);
  chownSync(dataDir, uid, uid);
}

const says = (dataDir: string) => `root becomes ${name}, the owner of ${dataDir}, for this command\n`;
const [checkpoint, rotate] = [
  ["log", "checkpoint"],
  ["keys", "rotate", "--now", "--yes"],
] as const;

test.if(isRoot)(
  "a command of root's makes nothing in another user's folder that this user could not make",
  () =>
    withOthersRegister(async ({ dataDir, attest }) => {
      await attest();
      // Root itself could: to it, no mode matters.
      chmodSync(dataDir, 0o500);
      const refused = await runTvs(checkpoint, { dataDir });
      expect([refused.code, refused.stderr.includes(says(dataDir))]).toEqual([1, true]);
      chmodSync(dataDir, 0o700);
      for (const words of [checkpoint, rotate, ["doctor"]]) {
        const done = await runTvs(words, { dataDir });
        expect([words, done.stderr.startsWith(says(dataDir))]).toEqual([words, true]);
      }
      const files = readdirSync(dataDir).map((file) => statSync(join(dataDir, file)));
      expect(files.map((file) => [file.uid, file.mode & 0o77])).toEqual(files.map(() => [uid, 0]));
    }),
);

/** Puts a link to the victim in the place of whatever appears in the folder for a moment, as that user. */
const attack = (dataDir: string, victim: string) => `
  const { readdirSync, renameSync, symlinkSync } = require("node:fs");
  process.setgid(${uid}); process.setuid(${uid});
  console.log("ready");
  for (;;) for (const name of readdirSync(${JSON.stringify(dataDir)})) {
    if (!name.startsWith(".tvs-")) continue;
    const file = ${JSON.stringify(dataDir)} + "/" + name;
    try { renameSync(file, file.replace(".tvs-", ".was-")); symlinkSync(${JSON.stringify(victim)}, file); } catch {}
  }`;

test.if(isRoot)("who owns the data folder gains nothing of root's by links put there while root signs", () =>
  withOthersRegister(async ({ folder, dataDir, attest }) => {
    const victim = join(folder, "shadow");
    writeFileSync(victim, "root's", { mode: 0o600 });
    for (let round = 0; round < 2; round++) {
      rmSync(join(dataDir, "log.checkpoint"), { force: true });
      await attest();
      const attacker = Bun.spawn([process.execPath, "-e", attack(dataDir, victim)], { stdout: "pipe" });
      await attacker.stdout.getReader().read();
      await runTvs(checkpoint, { dataDir });
      attacker.kill("SIGKILL");
      await attacker.exited;
    }
    const { uid: owner, gid, mode } = statSync(victim);
    expect([owner, gid, mode & 0o777, readFileSync(victim, "utf8")]).toEqual([0, 0, 0o600, "root's"]);
  }),
);

test.if(isRoot)("a restore of root's follows no link that the folder's owner has put there", () =>
  withOthersRegister(async ({ folder, dataDir }) => {
    const [backup, victim, nowhere] = ["backup.db", "passwd", "nologin"].map((one) => join(folder, one));
    if (backup === undefined || victim === undefined || nowhere === undefined) throw new Error("three names");
    chmodSync(folder, 0o777);
    expect((await runTvs(["backup", backup], { dataDir })).code).toBe(0);
    chmodSync(folder, 0o755);
    writeFileSync(victim, "root's", { mode: 0o644 });
    renameSync(join(dataDir, "tvs.db"), join(dataDir, "kept.db"));
    symlinkSync(victim, join(dataDir, "tvs.db"));
    for (const lock of [null, join(dataDir, "tvs.db.lock")]) {
      if (lock !== null) {
        renameSync(join(dataDir, "kept.db"), join(dataDir, "tvs.db"));
        renameSync(lock, join(dataDir, "kept.lock"));
        symlinkSync(nowhere, lock);
      }
      const refused = await runTvs(["restore", backup, "--force", "--yes"], { dataDir });
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("is a symbolic link")]);
    }
    expect([readFileSync(victim, "utf8"), existsSync(nowhere)]).toEqual(["root's", false]);
    expect(readdirSync(folder).sort()).toEqual(["backup.db", "data", "passwd"]);
  }),
);

test.if(isRoot)("a service that root starts over another user's folder runs as that user", () =>
  withOthersRegister(async ({ dataDir }) => {
    const service = await startService({ dataDir, args: ["--threads", "2"] });
    const status = readFileSync(`/proc/${service.pid}/status`, "utf8");
    const ids = [uid, uid, uid, uid].join("\t");
    expect([/^Uid:\t(.*)$/m.exec(status)?.[1], /^Gid:\t(.*)$/m.exec(status)?.[1]]).toEqual([ids, ids]);
    expect(/^Groups:\t(.*)$/m.exec(status)?.[1]?.trim().split(" ")).not.toContain("0");
    expect((await fetch(`${service.url}/v1/inter-agency/health`)).status).toBe(200);
    expect(await service.stop()).toBe(0);
    expect(service.stderr()).toStartWith(says(dataDir));
  }),
);

test.if(isRoot)("what only root may read or write is told with whom root has become, and what to do", () =>
  withOthersRegister(async ({ folder, dataDir }) => {
    const own = join(folder, "own");
    mkdirSync(own, { mode: 0o700 });
    writeFileSync(join(own, "extract.csv"), "reg_no\n", { mode: 0o600 });
    const lines = [
      ["backup", join(own, "backup.db")],
      ["backup", join(folder, "backup.db")],
      ["teachers", "import", join(own, "extract.csv")],
    ];
    for (const words of lines) {
      const { code, stderr } = await runTvs(words, { dataDir });
      const end = `; root acts as ${name} here, the owner of ${dataDir}, so the user ${name} must be allowed to do that\n`;
      expect([words, code, stderr.endsWith(end)]).toEqual([words, 2, true]);
    }
  }),
);

test.if(isRoot)("root refuses a folder of which nobody can tell whose it is", () =>
  withTempDir(async (folder) => {
    chmodSync(folder, 0o755);
    const [theirs, open, nameless] = ["theirs", "open", "nameless"].map((one) => join(folder, one));
    if (theirs === undefined || open === undefined || nameless === undefined) throw new Error("three names");
    for (const one of [theirs, open, nameless]) mkdirSync(one, { mode: 0o755 });
    mkdirSync(join(theirs, "data"));
    chownSync(theirs, uid, uid);
    chmodSync(open, 0o777);
    chownSync(nameless, 4_242, 4_242);
    symlinkSync(folder, join(folder, "link"));
    lchownSync(join(folder, "link"), uid, uid);
    const lines: [dataDir: string, words: string][] = [
      [join(theirs, "data"), `but ${theirs} to ${name}, who can put something else in its place`],
      [join(open, "data"), `others can write in ${open}; chmod go-w ${open}`],
      [open, `others can write in ${open}; chmod go-w ${open}`],
      [nameless, "belongs to '#4242', whom /etc/passwd does not name"],
      [join(folder, "link", "data"), `but ${join(folder, "link")} to ${name}`],
    ];
    for (const [dataDir, words] of lines) {
      const { code, stdout, stderr } = await runTvs(
        ["init", "--issuer", "https://a.example", "--name", "A"],
        { dataDir },
      );
      expect([dataDir, code, stdout, stderr]).toEqual([dataDir, 2, "", expect.stringContaining(words)]);
      expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    }
    expect(readdirSync(theirs)).toEqual(["data"]);
    expect([open, nameless, join(theirs, "data")].flatMap((one) => readdirSync(one))).toEqual([]);
  }),
);

test.if(isRoot)("a folder that root has made in another user's is that user's", () =>
  withTempDir(async (folder) => {
    chmodSync(folder, 0o755);
    chownSync(folder, uid, uid);
    const dataDir = join(folder, "data");
    const made = await runTvs(["init", "--issuer", "https://a.example", "--name", "A"], { dataDir });
    expect([made.code, made.stderr.startsWith(says(dataDir))]).toEqual([0, true]);
    expect([statSync(dataDir).uid, statSync(join(dataDir, "master.key")).uid]).toEqual([uid, uid]);
  }),
);

test.if(isRoot)("on Deno, which cannot give up root's groups, root is refused", () =>
  withOthersRegister(async ({ dataDir }) => {
    const { code, stdout, stderr } = await runTvs(["status"], { dataDir, program: deno });
    const problem = `${dataDir} belongs to ${name}, and on this runtime root cannot become that user`;
    expect([code, stdout, stderr]).toEqual([2, "", `tvs: ${problem}; sudo -u ${name} tvs …\n`]);
  }),
);

test("whatever reads where a register is asks first whom to become", () => {
  const folder = join(import.meta.dir, "../../../cli");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const reading = files.filter((file) =>
    / read(Serve)?Config\(/.test(readFileSync(join(folder, file), "utf8")),
  );
  expect(reading.sort()).toEqual([
    "command.ts",
    "doctor/doctor.ts",
    "register/init.ts",
    "safe/migrate.ts",
    "serve/serve.ts",
    "service/import-timer.ts",
  ]);
  const asking = reading.filter((file) =>
    /\b(becomeOwner|serveConfigOf)\(/.test(readFileSync(join(folder, file), "utf8")),
  );
  expect(asking).toEqual(reading);
});

test.if(isRoot)("who ran a command as root is kept with what it changed, whomever root has become", () =>
  withOthersRegister(async ({ dataDir }) => {
    for (const [env, actor] of [
      [{ SUDO_USER: "" }, "cli:root"],
      [{ SUDO_USER: "amina" }, "cli:amina"],
    ] as const) {
      await runTvs(rotate, { dataDir, env });
      expect((await runJson<{ actor: string }[]>(["changes"], { dataDir }))[0]?.actor).toBe(actor);
    }
  }),
);
