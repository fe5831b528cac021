/** Tests the Debian package, and the systemd units that are also installed by hand. */

import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasDpkgDeb, makeDebianPackage } from "../../.ci/debian.ts";
import { postinst, postrm, prerm } from "../../.ci/debian-scripts.ts";
import { listWorks } from "../../.ci/notices.ts";
import words from "../../data/commands.json" with { type: "json" };
import { readServeConfig } from "../../src/config.ts";
import { readPrintedLines } from "../blackbox/printed-commands.ts";
import { withTempDir } from "../harness/folder.ts";

const parts = {
  architecture: "amd64",
  version: "0.1.0",
  description: "Teacher Verification Service: more",
  releasedAt: 1_700_000_000,
} as const;

/** Makes the Debian package of a fake program, and passes its file to `run`. */
function withPackage(run: (folder: string, file: string) => void): Promise<void> {
  return withTempDir(async (folder) => {
    const executable = join(folder, "program");
    writeFileSync(executable, "#!/bin/sh\n", { mode: 0o700 });
    const name = makeDebianPackage({ ...parts, executable }, folder);
    expect(name).toBe("tvs_0.1.0_amd64.deb");
    run(folder, join(folder, name));
  });
}

describe.skipIf(!hasDpkgDeb())("the Debian package", () => {
  test("the Debian package contains exactly the expected files, all owned by root, and its build is reproducible", () =>
    withPackage((folder, file) => {
      const first = readFileSync(file);
      const listed = spawnSync("dpkg-deb", ["--contents", file], { encoding: "utf8" }).stdout;
      const listing = [...listed.matchAll(/^(-\S+) (\S+) .* \.(\/\S+)$/gm)];
      const jobs = ["tvs-backup.service", "tvs-backup.timer", "tvs-import.service", "tvs-import.timer"];
      expect(listing.map(([, mode, owner, path]) => [path, owner, mode])).toEqual([
        ["/usr/bin/tvs", "root/root", "-rwxr-xr-x"],
        ...[
          ...[...jobs, "tvs.service"].map((name) => `/usr/lib/systemd/system/${name}`),
          "/usr/share/bash-completion/completions/tvs",
          "/usr/share/doc/tvs/changelog.gz",
          "/usr/share/doc/tvs/copyright",
          "/usr/share/fish/vendor_completions.d/tvs.fish",
          "/usr/share/lintian/overrides/tvs",
          "/usr/share/man/man1/tvs.1.gz",
          "/usr/share/tvs/tvs.env",
          "/usr/share/zsh/vendor-completions/_tvs",
        ].map((path) => [path, "root/root", "-rw-r--r--"]),
      ]);
      makeDebianPackage({ ...parts, executable: join(folder, "program") }, folder);
      expect(readFileSync(file).equals(first)).toBe(true);
    }));

  test("the Debian package's unit starts the package's program, and the package has every licence and correct checksums", () =>
    withPackage((folder, file) => {
      const files = join(folder, "files");
      spawnSync("dpkg-deb", ["--extract", file, files]);
      const read = (path: string) => readFileSync(join(files, path), "utf8");
      expect(read("usr/lib/systemd/system/tvs.service")).toContain("\nExecStart=/usr/bin/tvs serve\n");
      const copyright = read("usr/share/doc/tvs/copyright");
      for (const { folder: part } of listWorks()) expect(copyright).toContain(`\nFiles: ${part}/*\n`);
      const { stdout: input } = spawnSync("dpkg-deb", ["--info", file, "md5sums"], { encoding: "utf8" });
      expect(input).toContain("usr/bin/tvs\n");
      expect(spawnSync("md5sum", ["--check", "--quiet"], { cwd: files, input }).status).toBe(0);
    }));

  const noLintian = Bun.which("lintian") === null;
  test.skipIf(noLintian)("lintian finds no error and no warning in the Debian package", () =>
    withPackage((_, file) => {
      const { stdout } = spawnSync("lintian", ["--allow-root", file], { encoding: "utf8" });
      // The overrides are for the real executable, and do not match the fake program.
      const found = stdout.split("\n").filter((line) => /^[EW]: /.test(line));
      expect(found.filter((line) => !line.includes("mismatched-override"))).toEqual([]);
    }),
  );

  test("sh accepts the syntax of the Debian package's scripts", () => {
    for (const input of [postinst, prerm, postrm]) {
      const { status, stderr } = spawnSync("sh", ["-n"], { input, encoding: "utf8" });
      expect([status, stderr]).toEqual([0, ""]);
    }
  });
});

const isThere = (name: string) => Bun.which(name, { PATH: "/usr/sbin:/usr/bin" }) !== null;
/** Whether users can be made in a mount namespace with its own /etc and /var/lib, which needs root. */
const canMount =
  process.getuid?.() === 0 &&
  spawnSync("unshare", ["-m", "true"]).status === 0 &&
  ["useradd", "groupadd", "usermod"].every(isThere);

/** Runs a script in a mount namespace, whose /etc and /var/lib are in `folder`. @returns the script's output */
function runApart(folder: string, lines: readonly string[]) {
  mkdirSync(join(folder, "lib"));
  const script = [
    "set -e",
    "cp -r --no-preserve=links /etc etc",
    "mount --bind etc /etc; mount --bind lib /var/lib",
    "sed -i '/^tvs:/d' /etc/passwd /etc/group /etc/shadow /etc/gshadow",
    ...lines,
  ].join("\n");
  const env = { ...process.env, PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
  const options = { cwd: folder, encoding: "utf8", env } as const;
  const { status, stdout, stderr } = spawnSync("unshare", ["-m", "sh", "-c", script], options);
  expect([status, status === 0 ? "" : stderr]).toEqual([0, ""]);
  return { stdout: stdout.trim(), stderr };
}

/** Configures the package in a mount namespace, between two shell scripts. @returns the output of the script `after` */
function configured(before: string, after: string): Promise<string> {
  return withTempDir(async (folder) => {
    writeFileSync(join(folder, "tvs.env"), "");
    writeFileSync(join(folder, "postinst"), postinst.replaceAll("/usr/share/tvs", folder));
    return runApart(folder, [before, `said='${folder}/said'; sh postinst configure >"$said"`, after]).stdout;
  });
}

const folderOwner = "stat -c '%U:%G %a' /var/lib/tvs";

describe.skipIf(!canMount)("configuring the Debian package", () => {
  test("the Debian package creates the user tvs, its group and its folder on a new machine", async () => {
    expect(await configured("", `${folderOwner}; id -gn tvs`)).toBe("tvs:tvs 700\ntvs");
  });

  test("the Debian package adds an existing user tvs with another primary group to the group tvs", async () => {
    const before = "useradd --system --gid daemon --no-create-home tvs";
    const after = `${folderOwner}; id -gn tvs; id -nG tvs; stat -c %G /etc/tvs/tvs.env`;
    expect(await configured(before, after)).toBe("tvs:tvs 700\ndaemon\ndaemon tvs\ntvs");
  });

  test("the Debian package gives a data folder that belongs to root, and its files, to the user tvs, and follows no link", async () => {
    const before = `mkdir -m 755 -p /var/lib/tvs/calls; touch /var/lib/tvs/tvs.db /var/lib/other
      ln -s ../other /var/lib/tvs/link; chmod -R go-w /var/lib/tvs`;
    const after = `${folderOwner}; cd /var/lib; stat -c '%n %U' tvs/calls tvs/tvs.db tvs/link other`;
    const owners = "tvs/calls tvs\ntvs/tvs.db tvs\ntvs/link root\nother root";
    expect(await configured(before, after)).toBe(`tvs:tvs 700\n${owners}`);
  });

  test("the Debian package changes no file's owner if other users could write to the data folder", async () => {
    const file = "/var/lib/tvs/mine";
    const before = `mkdir -m 777 /var/lib/tvs; ln /etc/shadow ${file} 2>/dev/null || touch ${file}`;
    expect(await configured(before, `${folderOwner}; stat -c %U ${file}`)).toBe("tvs:tvs 700\nroot");
  });

  test("the Debian package changes neither a symbolic link at its folder's path nor the link's target", async () => {
    const before = "mkdir -m 700 /var/lib/elsewhere; ln -s elsewhere /var/lib/tvs";
    const after = "stat -c '%U %a' /var/lib/elsewhere; readlink /var/lib/tvs";
    expect(await configured(before, after)).toBe("root 700\nelsewhere");
  });
});

const unitFolder = join(import.meta.dir, "../../data/systemd");
const units = readdirSync(unitFolder).filter((name) => name !== "tvs.env");
const textOf = (name: string) => readFileSync(join(unitFolder, name), "utf8");
const analyze = Bun.which("systemd-analyze");

test.skipIf(analyze === null)("systemd-analyze finds no error in the units", () =>
  withTempDir(async (copies) => {
    // systemd-analyze also looks for the programs of the units, which are not installed here.
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

test("tvs serve accepts every setting of tvs.env, and tvs.env says how a proxy deletes the header Client-Cert", () => {
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

test.skipIf(!canMount)(
  "the manual's commands for an installation by hand put each file into its folder",
  () =>
    withTempDir(async (home) => {
      cpSync(unitFolder, home, { recursive: true });
      writeFileSync(join(home, "tvs"), "#!/bin/sh\n");
      mkdirSync(join(home, "bin"));
      const lines = readPrintedLines("data/help/install.md", "Without the package")
        .map((line) => line.replace("sudo ", ""))
        .filter((line) => !/^systemctl|^-u tvs /.test(line));
      const paths = "/usr/local/bin/tvs /var/lib/tvs /etc/tvs/tvs.env /etc/systemd/system/tvs.service";
      const { stdout, stderr } = runApart(home, [
        "mkdir -p /etc/systemd/system; mount --bind bin /usr/local/bin",
        ...lines,
        `stat -c '%n %U:%G %a' ${paths}`,
        "ls /etc/systemd/system | grep -c '^tvs'",
      ]);
      const found = [
        "/usr/local/bin/tvs root:root 755",
        "/var/lib/tvs tvs:tvs 700",
        "/etc/tvs/tvs.env root:tvs 640",
        "/etc/systemd/system/tvs.service root:root 644",
        "5",
      ];
      expect([stdout.split("\n"), stderr]).toEqual([found, ""]);
    }),
);
