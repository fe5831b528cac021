/** The Debian package of an executable, made by Debian's own dpkg-deb: the service as its operators' machines install things. */

import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { scripts } from "../cli/terminal/completion.ts";
import { BuildError, projectFolder } from "./build.ts";
import { postinst, postrm, prerm } from "./debian-scripts.ts";

/** What a package is made of. */
export type PackageParts = {
  readonly executable: string;
  /** As Debian names processors. */
  readonly architecture: "amd64" | "arm64";
  readonly version: string;
  readonly description: string;
  /** When the version was released, in seconds: every file has this date, so that a second build gives the same bytes. */
  readonly releasedAt: number;
};

/** The units, and the settings that postinst copies: plain files, for who installs without the package too. */
export const systemdFolder = join(projectFolder, "data/systemd");

/** Whether this machine can make packages: Debian and its children can, others by their own package `dpkg`. */
export function canPackage(): boolean {
  return spawnSync("dpkg-deb", ["--version"]).status === 0;
}

/**
 * Makes a package.
 * @param folder where it is put
 * @returns its file's name, as Debian names packages
 * @throws {BuildError} when dpkg-deb does not make it
 */
export function packageFor(parts: PackageParts, folder: string): string {
  const name = `tvs_${parts.version}_${parts.architecture}.deb`;
  const root = mkdtempSync(join(folder, ".deb-"));
  try {
    chmodSync(root, 0o755);
    lay(root, parts);
    const env = { ...process.env, SOURCE_DATE_EPOCH: String(parts.releasedAt) };
    execFileSync("dpkg-deb", ["--root-owner-group", "-Zxz", "-z1", "--build", root, join(folder, name)], {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    return name;
  } catch (error) {
    const { stderr } = error as { stderr?: Buffer };
    throw stderr === undefined ? error : new BuildError(`dpkg-deb: ${stderr.toString().trim()}`);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Lays out what is installed, and below DEBIAN what dpkg reads. */
function lay(root: string, parts: PackageParts): void {
  const put = (path: string, content: string | Uint8Array, mode = 0o644) => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
    writeFileSync(file, content);
    // Whatever the builder's umask is.
    chmodSync(file, mode);
  };
  put("usr/bin/tvs", "", 0o755);
  copyFileSync(parts.executable, join(root, "usr/bin/tvs"));
  chmodSync(join(root, "usr/bin/tvs"), 0o755);
  for (const name of readdirSync(systemdFolder)) {
    const folder = name === "tvs.env" ? "usr/share/tvs" : "usr/lib/systemd/system";
    const text = readFileSync(join(systemdFolder, name), "utf8");
    put(`${folder}/${name}`, text.replaceAll("/usr/local/bin/", "/usr/bin/"));
  }
  put("usr/share/bash-completion/completions/tvs", scripts.bash);
  put("usr/share/zsh/vendor-completions/_tvs", scripts.zsh);
  put("usr/share/fish/vendor_completions.d/tvs.fish", scripts.fish);
  put("usr/share/doc/tvs/copyright", readFileSync(join(projectFolder, "LICENSE"), "utf8"));
  const changes = readFileSync(join(projectFolder, "CHANGELOG.md"));
  put("usr/share/doc/tvs/changelog.gz", new Uint8Array(gzipSync(changes, { level: 9 })));
  put("DEBIAN/postinst", postinst, 0o755);
  put("DEBIAN/prerm", prerm, 0o755);
  put("DEBIAN/postrm", postrm, 0o755);
  put("DEBIAN/control", control(parts, Math.ceil(statSync(parts.executable).size / 1024)));
}

/**
 * What apt shows and resolves. The libraries are those that the executable and its database engine load, and with which
 * it signs; there is a crypto_mb for one architecture.
 */
function control({ architecture, version, description }: PackageParts, kibibytes: number): string {
  return `Package: tvs
Version: ${version}
Architecture: ${architecture}
Maintainer: tvs maintainers <tvs@localhost>
Installed-Size: ${kibibytes}
Depends: libc6 (>= 2.28), libgcc-s1, passwd
Recommends: ca-certificates, libssl3t64 | libssl3, systemd${architecture === "amd64" ? ", libcrypto-mb11" : ""}
Section: net
Priority: optional
Description: ${description.split(":")[0]}
 Public lookup of teachers' licences, and signed verification envelopes for
 partner agencies, in one executable. After the installation \`tvs init\` makes
 the register; the service is not started before.
`;
}
