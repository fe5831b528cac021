import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { readServeConfig } from "../../../src/config.ts";
import { readTimer } from "../../../src/domain/import/source.ts";
import { runJson, runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { makeRegister, withTestOperator } from "../../harness/service.ts";

type Report = { files: { path: string; state: string }[]; next: string[] };

const words = (root: string, ...more: string[]) => [
  "service",
  "install",
  "--executable",
  "/usr/local/bin/tvs",
  "--root",
  root,
  ...more,
];
const analyze = Bun.which("systemd-analyze");
const unitIn = (root: string) => join(root, "etc/systemd/system/tvs.service");
const environmentIn = (root: string) => join(root, "etc/tvs/tvs.env");

describe("service install", () => {
  test("writes a unit, its user and its settings, and says what to do next", () =>
    withTempDir(async (root) => {
      const { files, next } = await runJson<Report>(words(root));
      expect(files.map(({ state }) => state)).toEqual(["written", "written", "written"]);
      expect(next).toContain("sudo systemctl enable --now tvs");
      // Who runs commands as the service's user finds the register by this file.
      expect(next).toContain("sudo chmod 640 /etc/tvs/tvs.env");
      expect(next).toContain("sudo -u tvs /usr/local/bin/tvs status");
      expect(statSync(unitIn(root)).mode & 0o777).toBe(0o644);
      expect(statSync(environmentIn(root)).mode & 0o777).toBe(0o600);
      expect(readFileSync(join(root, "etc/sysusers.d/tvs.conf"), "utf8")).toContain("u tvs - ");
    }));

  test("hardens the unit, and lets systemd make the data folder", () =>
    withTempDir(async (root) => {
      await runJson(words(root));
      const lines = readFileSync(unitIn(root), "utf8").split("\n");
      for (const line of [
        "ExecStart=/usr/local/bin/tvs serve",
        "User=tvs",
        "StateDirectory=tvs",
        "StateDirectoryMode=0700",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "MemoryMax=75%",
        "LimitNOFILE=65536",
        "CapabilityBoundingSet=",
      ]) {
        expect(lines).toContain(line);
      }
    }));

  test("gives settings that serve understands", () =>
    withTempDir(async (root) => {
      await runJson(words(root));
      const text = readFileSync(environmentIn(root), "utf8");
      const pairs = text.split("\n").filter((line) => /^#?TVS_\w+=./.test(line));
      const environment = Object.fromEntries(
        pairs.map((line) => line.replace(/^#/, "").split("=", 2) as [string, string]),
      );
      const config = readServeConfig({}, environment);
      expect(config).toMatchObject({ dataDir: "/var/lib/tvs", port: 8080, trustedProxies: ["127.0.0.1"] });
      expect(config.issuer).toBe("https://verify.example.gov");
      expect(config.adminPort).toBe(9464);
    }));

  test("prints the unit and writes nothing; a proxy whose Client-Cert is believed deletes what callers send, as the help says", () =>
    withTempDir(async (root) => {
      expect((await runTvs(words(root, "--print"))).stdout).toContain("[Service]");
      const { environment } = await runJson<{ environment: string }>(words(root, "--print"));
      expect(readdirSync(root)).toEqual([]);
      expect(environment).toContain("#TVS_CLIENT_CERT_FROM=127.0.0.1");
      expect(environment).toContain('nginx: proxy_set_header Client-Cert "";');
      expect(environment).toContain("Caddy: header_up -Client-Cert");
      const { stdout } = await runTvs(["serve", "--help"]);
      expect(stdout.replace(/\s+/g, " ")).toContain("Each must delete the Client-Cert that callers send");
    }));

  test("keeps the operator's settings and renews the unit", () =>
    withTempDir(async (root) => {
      await runJson(words(root));
      writeFileSync(environmentIn(root), "TVS_PORT=9000\n");
      const { files } = await runJson<Report>(words(root, "--data", "/srv/tvs"));
      expect(files.map(({ state }) => state)).toEqual(["written", "kept", "written"]);
      expect(readFileSync(environmentIn(root), "utf8")).toBe("TVS_PORT=9000\n");
      expect(readFileSync(unitIn(root), "utf8")).toContain("ReadWritePaths=/srv/tvs");
    }));

  test("follows no link: neither one in the place of a file nor one that lies in wait beside it", () =>
    withTempDir(async (root) => {
      await runJson(words(root));
      const victim = join(root, "victim");
      writeFileSync(victim, readFileSync(unitIn(root)));
      rmSync(unitIn(root));
      symlinkSync(victim, unitIn(root));
      await expectRefusal(runTvs(words(root)), 1, "move it away");
      rmSync(unitIn(root));
      symlinkSync(victim, `${unitIn(root)}.new`);
      writeFileSync(victim, "mine");
      rmSync(environmentIn(root));
      symlinkSync(join(root, "nowhere"), environmentIn(root));
      const { files } = await runJson<Report>(words(root));
      expect(files.map(({ state }) => state)).toEqual(["unchanged", "kept", "written"]);
      expect(readFileSync(victim, "utf8")).toBe("mine");
      expect(existsSync(join(root, "nowhere"))).toBe(false);
    }));

  test("does not replace a unit that somebody else wrote", () =>
    withTempDir(async (root) => {
      await runJson(words(root));
      writeFileSync(unitIn(root), "[Unit]\n");
      await expectRefusal(runTvs(words(root)), 1, "was not written by this command");
      expect(readFileSync(unitIn(root), "utf8")).toBe("[Unit]\n");
    }));

  test("writes timers for backups and for checkpoints, each with where it may write", () =>
    withTempDir(async (root) => {
      const more = [
        "--backup-to",
        "/srv/backups",
        "--backup-keep",
        "7",
        "--anchor-to",
        "https://tsa.example/a%20b",
      ];
      const { files, next } = await runJson<Report>(words(root, ...more));
      expect(files.map(({ path }) => path.slice(root.length)).slice(3)).toEqual([
        "/etc/systemd/system/tvs-backup.service",
        "/etc/systemd/system/tvs-backup.timer",
        "/etc/systemd/system/tvs-anchor.service",
        "/etc/systemd/system/tvs-anchor.timer",
      ]);
      expect(next).toContain("sudo systemctl enable --now tvs-backup.timer");
      expect(next).toContain("sudo install -d -o tvs -g tvs -m 750 /srv/backups");
      const read = (name: string) => readFileSync(join(root, "etc/systemd/system", name), "utf8").split("\n");
      expect(read("tvs-backup.service")).toEqual(
        expect.arrayContaining([
          "Type=oneshot",
          "ExecStart=/usr/local/bin/tvs backup /srv/backups --keep 7",
          "ReadWritePaths=/srv/backups",
          "ProtectSystem=strict",
          "User=tvs",
        ]),
      );
      expect(read("tvs-backup.timer")).toEqual(
        expect.arrayContaining(["OnCalendar=02:30", "Persistent=true"]),
      );
      expect(read("tvs-anchor.service")).toContain(
        "ExecStart=/usr/local/bin/tvs log anchor https://tsa.example/a%%20b",
      );
      expect(read("tvs-anchor.timer")).toContain("OnCalendar=hourly");
    }));

  test("writes a timer for alerts, of a program that the service can run", () =>
    withTempDir(async (root) => {
      const path = "/usr/local/bin/tell";
      mkdirSync(join(root, "usr/local/bin"), { recursive: true });
      const install = (program: string) => runTvs(words(root, "--alert-command", program));
      const refusal = async (program: string) => (await install(program)).stderr;
      expect(await refusal("tell")).toContain("--alert-command must be an absolute path");
      expect(await refusal("/home/me/tell")).toContain("is where the service sees nothing");
      expect(await refusal(path)).toContain("is not there");
      writeFileSync(join(root, path), "#!/bin/sh\n", { mode: 0o644 });
      expect(await refusal(path)).toContain("cannot run it");
      expect(existsSync(join(root, "etc"))).toBe(false);
      chmodSync(join(root, path), 0o755);
      const { code, stdout } = await install(path);
      expect([code, stdout]).toEqual([0, expect.stringContaining("enable --now tvs-alert.timer")]);
      const read = (name: string) => readFileSync(join(root, "etc/systemd/system", name), "utf8").split("\n");
      expect(read("tvs-alert.service")).toContain(
        "ExecStart=/usr/local/bin/tvs doctor --alert-command /usr/local/bin/tell",
      );
      expect(read("tvs-alert.timer")).toContain("OnCalendar=*:0/5");
    }));

  test("writes a timer that imports by itself, and takes what the source asks for from root's own file", () =>
    withTempDir(async (root) => {
      const auth = join(root, "auth");
      writeFileSync(auth, "board:secret\n", { mode: 0o644 });
      const more = ["--import", "https://registry.example/a%20b.csv", "--every", "6h", "--source-auth", auth];
      await expectRefusal(runTvs(words(root, ...more)), 2, "chmod 600");
      chmodSync(auth, 0o600);
      const { next } = await runJson<Report>(words(root, ...more));
      expect(next).toContain("sudo systemctl enable --now tvs-import.timer");
      const read = (name: string) => readFileSync(join(root, "etc/systemd/system", name), "utf8").split("\n");
      expect(read("tvs-import.service")).toEqual(
        expect.arrayContaining([
          "ExecStart=/usr/local/bin/tvs teachers import https://registry.example/a%%20b.csv --if-changed --every 6h " +
            // biome-ignore lint/suspicious/noTemplateCurlyInString: systemd fills it in
            "--source-auth ${CREDENTIALS_DIRECTORY}/source-auth",
          `LoadCredential=source-auth:${auth}`,
          "ProtectSystem=strict",
        ]),
      );
      expect(read("tvs-import.timer")).toEqual(
        expect.arrayContaining(["OnBootSec=5min", "OnUnitActiveSec=21600s"]),
      );
      expect(read("tvs-import.timer")).not.toContain("Persistent=true");
    }));

  test("tells the register of the service of the timer, and uninstall makes it forget", () =>
    withTempDir(async (root) => {
      const dataDir = join(root, "var/lib/tvs");
      await makeRegister(dataDir);
      const install = words(root, "--import", "/srv/registry/board.csv");
      const remembered = () =>
        withTestOperator(dataDir, async ({ stores }) => readTimer(await stores.settings.read()));
      const timer = { source: "/srv/registry/board.csv", everyMs: 86_400_000 };
      await runJson(install);
      const first = await remembered();
      expect(first).toMatchObject(timer);
      await runJson(install);
      expect(await remembered()).toEqual(first);
      await runJson([...install, "--every", "12h"]);
      expect(await remembered()).toMatchObject({ ...timer, everyMs: 43_200_000 });
      await runJson(["service", "uninstall", "--timers", "--root", root]);
      expect(await remembered()).toBeNull();
    }));

  test("prints a timer without a look at what it needs", async () => {
    const more = ["--import", "https://registry.example/a.csv", "--source-auth", "/nowhere", "--print"];
    const { timers } = await runJson<{ timers: Record<string, string> }>(words("/", ...more));
    expect(Object.keys(timers)).toEqual(["tvs-import.service", "tvs-import.timer"]);
  });

  test.skipIf(analyze === null)("writes units that systemd finds nothing wrong with", () =>
    withTempDir(async (root) => {
      mkdirSync(join(root, "usr/bin"), { recursive: true });
      writeFileSync(join(root, "usr/bin/tell"), "", { mode: 0o755 });
      const alerts = ["--alert-command", "/usr/bin/tell"];
      const more = ["--executable", "/bin/true", "--anchor-to", "https://tsa.example/a%20b", ...alerts];
      const auth = join(root, "auth");
      writeFileSync(auth, "Bearer secret\n", { mode: 0o600 });
      more.push("--import", "https://registry.example/a%20b.csv", "--source-auth", auth);
      await runJson(["service", "install", "--root", root, "--backup-to", "/srv/backups", ...more]);
      const folder = join(root, "etc/systemd/system");
      for (const name of readdirSync(folder)) {
        const { exitCode, stderr } = Bun.spawnSync(
          [analyze ?? "", "verify", "--man=no", join(folder, name)],
          {
            stderr: "pipe",
          },
        );
        expect({ name, exitCode, said: stderr.toString() }).toEqual({ name, exitCode: 0, said: "" });
      }
    }),
  );

  test("is taken away again by uninstall, but for what is enabled, settings and what others wrote", () =>
    withTempDir(async (root) => {
      mkdirSync(join(root, "usr/bin"), { recursive: true });
      writeFileSync(join(root, "usr/bin/tell"), "", { mode: 0o755 });
      const more = ["--backup-to", "/srv/backups", "--anchor-to", "/mnt/evidence"];
      await runJson(words(root, ...more, "--alert-command", "/usr/bin/tell"));
      const uninstall = (...more: string[]) => runTvs(["service", "uninstall", "--root", root, ...more]);
      const timers = await uninstall("--timers", "--json");
      expect(timers.json<Report>().files).toHaveLength(6);
      expect(existsSync(unitIn(root))).toBe(true);
      const wants = join(root, "etc/systemd/system/multi-user.target.wants");
      mkdirSync(wants);
      symlinkSync("../tvs.service", join(wants, "tvs.service"));
      await expectRefusal(uninstall(), 1, "sudo systemctl disable --now tvs.service");
      rmSync(wants, { recursive: true });
      expect((await uninstall("--print")).stdout).toContain("found");
      expect(existsSync(unitIn(root))).toBe(true);
      expect(await uninstall()).toMatchObject({ code: 0 });
      expect(existsSync(unitIn(root))).toBe(false);
      expect(existsSync(environmentIn(root))).toBe(true);
      writeFileSync(unitIn(root), "[Unit]\n");
      expect(await uninstall()).toMatchObject({ code: 1 });
      expect(existsSync(unitIn(root))).toBe(true);
    }));

  test.each([
    [["--user", "Root user"], "--user must be"],
    [["--data", "data"], "--data must be an absolute path"],
    [["--data", "/srv/my data"], "--data must be an absolute path"],
    [["--backup-to", "backups"], "--backup-to must be an absolute path"],
    [["--backup-keep", "3"], "--backup-keep goes with --backup-to"],
    [["--backup-to", "/srv/b", "--backup-keep", "0"], "--backup-keep must be at least 1"],
    [["--backup-to", "/srv/b", "--backup-at", "daily\nUser=root"], "--backup-at must be a calendar"],
    [["--anchor-to", "https://user:word@tsa.example/"], "without a user or password"],
    [["--every", "24h"], "--every goes with --import"],
    [["--import", "board.csv"], "--import must be an absolute path"],
    [["--import", "/home/me/board.csv"], "the service cannot see /home/me/board.csv"],
    [["--import", "/srv/a.csv", "--every", "4m"], "--every must be at least 5m"],
    [["--import", "https://me:word@registry.example/a.csv"], "a password in it is refused"],
    [["--import", "https://registry.example/a.csv?k=$x"], "without white space, quotes or $"],
  ])("refuses %p", (more, message) =>
    withTempDir(async (root) => {
      await expectRefusal(runTvs(words(root, ...more)), 2, message);
      expect(existsSync(join(root, "etc"))).toBe(false);
    }),
  );
});

describe("service install beside the Debian package", () => {
  test("writes timers only: a unit of its own would hide the package's from the next upgrade", () =>
    withTempDir(async (root) => {
      const packaged = join(root, "usr/lib/systemd/system/tvs.service");
      mkdirSync(join(packaged, ".."), { recursive: true });
      writeFileSync(packaged, "# Of the package tvs.\n[Service]\nExecStart=/usr/local/bin/tvs serve\n");
      const { files, next } = await runJson<Report>(words(root, "--backup-to", "/srv/backups"));
      expect(files).toContainEqual({ path: packaged, state: "kept" });
      expect(readdirSync(join(root, "etc/systemd/system")).sort()).toEqual([
        "tvs-backup.service",
        "tvs-backup.timer",
      ]);
      expect(existsSync(join(root, "etc/sysusers.d"))).toBe(false);
      expect(next).not.toContain("sudo systemd-sysusers");
      expect(next.at(-1)).toBe("sudo systemctl enable --now tvs-backup.timer");
    }));
});
