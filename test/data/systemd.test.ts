import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import words from "../../data/commands.json" with { type: "json" };
import { readServeConfig } from "../../src/config.ts";
import { printedLines } from "../blackbox/printed-commands.ts";
import { withTempDir } from "../harness/folder.ts";

const folder = join(import.meta.dir, "../../data/systemd");
const units = readdirSync(folder).filter((name) => name !== "tvs.env");
const textOf = (name: string) => readFileSync(join(folder, name), "utf8");
const analyze = Bun.which("systemd-analyze");

test.skipIf(analyze === null)("systemd-analyze finds no error in the units", () =>
  withTempDir(async (copies) => {
    // systemd looks for the program too, which is not installed here.
    const programs = /\/usr\/(local\/bin\/tvs|bin\/curl)/g;
    for (const name of units)
      writeFileSync(join(copies, name), textOf(name).replaceAll(programs, "/bin/true"));
    for (const name of units) {
      const command = [analyze ?? "", "verify", "--man=no", join(copies, name)];
      const { exitCode, stderr } = Bun.spawnSync(command, { stderr: "pipe" });
      expect([name, exitCode, `${stderr}`]).toEqual([name, 0, ""]);
    }
  }),
);

test("the units of backup and import have the same hardening as the service's unit", () => {
  const hardening = (name: string) => textOf(name).split("UMask=0077\n")[1]?.split("\n[Install]")[0]?.trim();
  const service = hardening("tvs.service");
  for (const line of ["NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "MemoryMax=75%"])
    expect(service?.split("\n")).toContain(line);
  for (const name of ["tvs-backup.service", "tvs-import.service"]) {
    expect([name, hardening(name)]).toEqual([name, service]);
    expect(textOf(name)).toContain("\nUser=tvs\nGroup=tvs\n");
  }
});

test("tvs serve reads every setting of tvs.env, which says how a proxy deletes Client-Cert", () => {
  const text = textOf("tvs.env");
  const pairs = text.split("\n").filter((line) => /^#?TVS_\w+=./.test(line));
  const environment = Object.fromEntries(pairs.map((line) => line.replace("#", "").split(/=(.*)/)));
  expect(readServeConfig({}, environment)).toMatchObject({
    ...{ dataDir: "/var/lib/tvs", port: 8080, adminPort: 9464, accessLog: true },
    ...{ issuer: "https://verify.example.gov", trustedProxies: ["127.0.0.1"] },
  });
  for (const line of ['proxy_set_header Client-Cert "";', "header_up -Client-Cert"])
    expect(text).toContain(line);
  const deletes = "Each must delete the Client-Cert that callers send";
  expect(words.serve.options["client-cert-from"]).toContain(deletes);
});

/** Real users and owners, in folders that stand in for this machine's. */
const canMount =
  process.getuid?.() === 0 &&
  spawnSync("unshare", ["-m", "true"]).status === 0 &&
  Bun.which("useradd", { PATH: "/usr/sbin:/usr/bin" }) !== null;

test.skipIf(!canMount)(
  "the manual's commands for an installation by hand put each file into its folder",
  () =>
    withTempDir(async (home) => {
      cpSync(folder, home, { recursive: true });
      writeFileSync(join(home, "tvs"), "#!/bin/sh\n");
      for (const name of ["bin", "lib"]) mkdirSync(join(home, name));
      const lines = printedLines("data/help/install.md", "Without the package")
        .map((line) => line.replace("sudo ", ""))
        .filter((line) => !/^systemctl|^-u tvs /.test(line));
      const paths = "/usr/local/bin/tvs /var/lib/tvs /etc/tvs/tvs.env /etc/systemd/system/tvs.service";
      const script = [
        "set -e",
        "cp -r --no-preserve=links /etc etc",
        "mkdir -p etc/systemd/system",
        "mount --bind etc /etc; mount --bind bin /usr/local/bin; mount --bind lib /var/lib",
        "sed -i '/^tvs:/d' /etc/passwd /etc/group /etc/shadow /etc/gshadow",
        ...lines,
        `stat -c '%n %U:%G %a' ${paths}`,
        "ls /etc/systemd/system | grep -c '^tvs'",
      ].join("\n");
      const env = { ...process.env, PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
      const options = { cwd: home, encoding: "utf8", env } as const;
      const { stdout, stderr } = spawnSync("unshare", ["-m", "sh", "-c", script], options);
      const found = [
        "/usr/local/bin/tvs root:root 755",
        "/var/lib/tvs tvs:tvs 700",
        "/etc/tvs/tvs.env root:tvs 640",
        "/etc/systemd/system/tvs.service root:root 644",
        "5",
      ];
      expect([stdout.trim().split("\n"), stderr]).toEqual([found, ""]);
    }),
);
