import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canPackage, packageFor } from "../../.ci/debian.ts";
import { postinst, postrm, prerm } from "../../.ci/debian-scripts.ts";
import { works } from "../../.ci/notices.ts";
import { withTempDir } from "../harness/folder.ts";

const parts = {
  architecture: "amd64",
  version: "0.1.0",
  description: "Teacher Verification Service: more",
  releasedAt: 1_700_000_000,
} as const;

describe.skipIf(!canPackage())("the Debian package", () => {
  test("the Debian package holds the program, unit, completions and settings of root, and is reproducible", () =>
    withTempDir(async (folder) => {
      const executable = join(folder, "program");
      writeFileSync(executable, "#!/bin/sh\n", { mode: 0o700 });
      const name = packageFor({ ...parts, executable }, folder);
      expect(name).toBe("tvs_0.1.0_amd64.deb");
      const first = readFileSync(join(folder, name));
      const listed = spawnSync("dpkg-deb", ["--contents", join(folder, name)], { encoding: "utf8" }).stdout;
      const listing = [...listed.matchAll(/^(-\S+) (\S+) .* \.(\/\S+)$/gm)].map((match) =>
        match.slice(1).join(" "),
      );
      expect(listing).toEqual(
        [
          "-rwxr-xr-x root/root /usr/bin/tvs",
          "-rw-r--r-- root/root /usr/lib/systemd/system/tvs-backup.service",
          "-rw-r--r-- root/root /usr/lib/systemd/system/tvs-backup.timer",
          "-rw-r--r-- root/root /usr/lib/systemd/system/tvs-import.service",
          "-rw-r--r-- root/root /usr/lib/systemd/system/tvs-import.timer",
          "-rw-r--r-- root/root /usr/lib/systemd/system/tvs.service",
          "-rw-r--r-- root/root /usr/share/bash-completion/completions/tvs",
          "-rw-r--r-- root/root /usr/share/doc/tvs/changelog.gz",
          "-rw-r--r-- root/root /usr/share/doc/tvs/copyright",
          "-rw-r--r-- root/root /usr/share/fish/vendor_completions.d/tvs.fish",
          "-rw-r--r-- root/root /usr/share/lintian/overrides/tvs",
          "-rw-r--r-- root/root /usr/share/man/man1/tvs.1.gz",
          "-rw-r--r-- root/root /usr/share/tvs/tvs.env",
          "-rw-r--r-- root/root /usr/share/zsh/vendor-completions/_tvs",
        ].map((line) => expect.stringMatching(new RegExp(`^${line}$`))),
      );
      packageFor({ ...parts, executable }, folder);
      expect(readFileSync(join(folder, name)).equals(first)).toBe(true);
      const files = join(folder, "files");
      spawnSync("dpkg-deb", ["--extract", join(folder, name), files]);
      const unit = readFileSync(join(files, "usr/lib/systemd/system/tvs.service"), "utf8");
      expect(unit).toContain("\nExecStart=/usr/bin/tvs serve\n");
      const copyright = readFileSync(join(files, "usr/share/doc/tvs/copyright"), "utf8");
      for (const { folder: part } of works()) expect(copyright).toContain(`\nFiles: ${part}/*\n`);
      const sums = spawnSync("dpkg-deb", ["--info", join(folder, name), "md5sums"], {
        encoding: "utf8",
      }).stdout;
      const checked = spawnSync("md5sum", ["--check", "--quiet"], {
        cwd: files,
        input: sums,
        encoding: "utf8",
      });
      expect([checked.status, sums.split("\n")]).toEqual([
        0,
        expect.arrayContaining([expect.stringMatching(/ usr\/bin\/tvs$/)]),
      ]);
    }));

  test.skipIf(Bun.which("lintian") === null)(
    "lintian finds no error and no warning in the Debian package",
    () =>
      withTempDir(async (folder) => {
        const executable = join(folder, "program");
        writeFileSync(executable, "#!/bin/sh\n", { mode: 0o700 });
        const file = join(folder, packageFor({ ...parts, executable }, folder));
        const { stdout } = spawnSync("lintian", ["--allow-root", file], { encoding: "utf8" });
        // What the overrides name concerns the real executable.
        expect(
          stdout.split("\n").filter((line) => /^[EW]: /.test(line) && !line.includes("mismatched-override")),
        ).toEqual([]);
      }),
  );

  test.each(Object.entries({ postinst, prerm, postrm }))(
    "the %s of the Debian package is readable by every shell",
    (_, script) => {
      expect(spawnSync("sh", ["-n"], { input: script, encoding: "utf8" })).toMatchObject({
        status: 0,
        stderr: "",
      });
    },
  );
});

/** Real users and owners, in a mount namespace of its own with an /etc and a /var/lib of its own, which only root may make. */
const canMount =
  process.getuid?.() === 0 &&
  spawnSync("unshare", ["-m", "true"]).status === 0 &&
  ["useradd", "groupadd", "usermod"].every(
    (name) => Bun.which(name, { PATH: "/usr/sbin:/usr/bin" }) !== null,
  );

/**
 * Configures the package on a machine of which some things are made before.
 * @param before lines of a shell
 * @param after lines whose output is given back
 */
async function configured(before: string, after: string): Promise<string> {
  return withTempDir(async (folder) => {
    mkdirSync(join(folder, "lib"));
    writeFileSync(join(folder, "tvs.env"), "");
    writeFileSync(join(folder, "postinst"), postinst.replaceAll("/usr/share/tvs", folder));
    const setUp = [
      "set -e",
      `cp -r --no-preserve=links /etc '${folder}/etc'`,
      `mount --bind '${folder}/etc' /etc`,
      `mount --bind '${folder}/lib' /var/lib`,
      "sed -i '/^tvs:/d' /etc/passwd /etc/group /etc/shadow /etc/gshadow",
      before,
      `said='${folder}/said'; sh '${folder}/postinst' configure >"$said"`,
      after,
    ].join("\n");
    const env = { ...process.env, PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
    const ended = spawnSync("unshare", ["-m", "sh", "-c", setUp], { encoding: "utf8", env });
    expect({ code: ended.status, stderr: ended.status === 0 ? "" : ended.stderr }).toEqual({
      code: 0,
      stderr: "",
    });
    return ended.stdout.trim();
  });
}

const folderOwner = "stat -c '%U:%G %a' /var/lib/tvs";

describe.skipIf(!canMount)("configuring the Debian package", () => {
  test("the package makes the user, its group and its folder on a new machine", async () => {
    expect(await configured("", `${folderOwner}; id -gn tvs`)).toBe("tvs:tvs 700\ntvs");
  });

  test("the package adds a user tvs with another primary group to the group tvs", async () => {
    const before = "useradd --system --gid daemon --no-create-home tvs";
    const after = `${folderOwner}; id -gn tvs; id -nG tvs; stat -c %G /etc/tvs/tvs.env`;
    expect(await configured(before, after)).toBe("tvs:tvs 700\ndaemon\ndaemon tvs\ntvs");
  });

  test("the package gives root's folder to the service, with root's files in it, and follows no link", async () => {
    const before = `mkdir -m 755 -p /var/lib/tvs/calls; touch /var/lib/tvs/tvs.db /var/lib/other
      ln -s ../other /var/lib/tvs/link; chmod -R go-w /var/lib/tvs`;
    const after = `${folderOwner}; cd /var/lib; stat -c '%n %U' tvs/calls tvs/tvs.db tvs/link other`;
    expect(await configured(before, after)).toBe(
      "tvs:tvs 700\ntvs/calls tvs\ntvs/tvs.db tvs\ntvs/link root\nother root",
    );
  });

  test("the package gives the service only the folder where others could have put files into it", async () => {
    const before =
      "mkdir -m 777 /var/lib/tvs; ln /etc/shadow /var/lib/tvs/mine 2>/dev/null || touch /var/lib/tvs/mine";
    const after = `${folderOwner}; stat -c %U /var/lib/tvs/mine`;
    expect(await configured(before, after)).toBe("tvs:tvs 700\nroot");
  });

  test("the package leaves a link in the folder's place and its target as they are", async () => {
    const before = "mkdir -m 700 /var/lib/elsewhere; ln -s elsewhere /var/lib/tvs";
    expect(await configured(before, "stat -c '%U %a' /var/lib/elsewhere; readlink /var/lib/tvs")).toBe(
      "root 700\nelsewhere",
    );
  });
});
