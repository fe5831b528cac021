import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canPackage, packageFor } from "../../.ci/debian.ts";
import { postinst, postrm, prerm } from "../../.ci/debian-scripts.ts";
import { withTempDir } from "../harness/folder.ts";

const parts = {
  architecture: "amd64",
  version: "0.1.0",
  description: "Teacher Verification Service: more",
  releasedAt: 1_700_000_000,
} as const;

describe.skipIf(!canPackage())("the Debian package", () => {
  test("installs the program, its unit, completions and settings as root's, and is the same when it is built again", () =>
    withTempDir(async (folder) => {
      const executable = join(folder, "program");
      writeFileSync(executable, "#!/bin/sh\n", { mode: 0o700 });
      const name = packageFor({ ...parts, executable }, folder);
      expect(name).toBe("tvs_0.1.0_amd64.deb");
      const first = readFileSync(join(folder, name));
      const listed = spawnSync("dpkg-deb", ["--contents", join(folder, name)], { encoding: "utf8" }).stdout;
      const files = [...listed.matchAll(/^(-\S+) (\S+) .* \.(\/\S+)$/gm)].map((match) =>
        match.slice(1).join(" "),
      );
      expect(files).toEqual(
        [
          "-rwxr-xr-x root/root /usr/bin/tvs",
          "-rw-r--r-- root/root /usr/lib/systemd/system/tvs.service",
          "-rw-r--r-- root/root /usr/share/bash-completion/completions/tvs",
          "-rw-r--r-- root/root /usr/share/doc/tvs/changelog.gz",
          "-rw-r--r-- root/root /usr/share/doc/tvs/copyright",
          "-rw-r--r-- root/root /usr/share/fish/vendor_completions.d/tvs.fish",
          "-rw-r--r-- root/root /usr/share/tvs/tvs.env",
          "-rw-r--r-- root/root /usr/share/zsh/vendor-completions/_tvs",
        ].map((line) => expect.stringMatching(new RegExp(`^${line}$`))),
      );
      packageFor({ ...parts, executable }, folder);
      expect(readFileSync(join(folder, name)).equals(first)).toBe(true);
    }));

  test.each(Object.entries({ postinst, prerm, postrm }))("has a %s that every shell reads", (_, script) => {
    expect(spawnSync("sh", ["-n"], { input: script, encoding: "utf8" })).toMatchObject({
      status: 0,
      stderr: "",
    });
  });
});
