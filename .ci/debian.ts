/** Makes the Debian package of an executable, with Debian's own dpkg-deb. */

import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
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
import { dirname, join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { completionScripts } from "../cli/terminal/completion.ts";
import { BuildError, projectFolder } from "./build.ts";
import { readChangelog } from "./changelog.ts";
import { postinst, postrm, prerm } from "./debian-scripts.ts";
import { listWorks } from "./notices.ts";

/** The content and the metadata of a package. */
export type PackageParts = {
  readonly executable: string;
  /** The processor, as Debian names it. */
  readonly architecture: "amd64" | "arm64";
  readonly version: string;
  readonly description: string;
  /** The release date, in seconds. Every file gets this date, so that a second build gives the same bytes. */
  readonly releasedAt: number;
};

/** The folder of the systemd units and the settings file. A release also has them as plain files. */
export const systemdFolder = join(projectFolder, "data/systemd");

/** Whether this machine has dpkg-deb. Debian and its derivatives have it, other systems in their package `dpkg`. */
export function hasDpkgDeb(): boolean {
  return spawnSync("dpkg-deb", ["--version"]).status === 0;
}

/**
 * Makes a package. @param folder the folder for its file @returns the name of the file
 * @throws {BuildError} if dpkg-deb fails
 */
export function makeDebianPackage(parts: PackageParts, folder: string): string {
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

/** Writes the files to install, and below DEBIAN those that dpkg reads. */
function lay(root: string, parts: PackageParts): void {
  const put = (path: string, content: string | Uint8Array, mode = 0o644) => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
    writeFileSync(file, content);
    // The umask of the build may have removed bits of the mode.
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
  put("usr/share/bash-completion/completions/tvs", completionScripts.bash);
  put("usr/share/zsh/vendor-completions/_tvs", completionScripts.zsh);
  put("usr/share/fish/vendor_completions.d/tvs.fish", completionScripts.fish);
  const gzip = (text: string) => new Uint8Array(gzipSync(text, { level: 9 }));
  put("usr/share/doc/tvs/copyright", copyright());
  put("usr/share/lintian/overrides/tvs", lintianOverrides);
  put("usr/share/doc/tvs/changelog.gz", gzip(changes(parts)));
  put("usr/share/man/man1/tvs.1.gz", gzip(manualPage(parts)));
  put("DEBIAN/md5sums", md5sums(root));
  put("DEBIAN/postinst", postinst, 0o755);
  put("DEBIAN/prerm", prerm, 0o755);
  put("DEBIAN/postrm", postrm, 0o755);
  put("DEBIAN/control", control(parts, Math.ceil(statSync(parts.executable).size / 1024)));
}

/** Lists the checksums with which `dpkg --verify` and debsums check the installed files. */
function md5sums(root: string): string {
  const files = readdirSync(join(root, "usr"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
  const sum = (file: string) =>
    createHash("md5")
      .update(readFileSync(join(root, file)))
      .digest("hex");
  return files.map((file) => `${sum(file)}  ${file}\n`).join("");
}

/** Writes a text as a paragraph of a Debian control file: lines are indented, and an empty one is a dot. */
const indented = (text: string) => text.trim().replace(/^/gm, " ").replace(/^ $/gm, " .");

/** Makes the file `copyright`: the licence of the program and of each work in it, in the form of DEP 5. */
function copyright(): string {
  const ours = readFileSync(join(projectFolder, "LICENSE"), "utf8").trim();
  const paragraphs = listWorks().map(({ folder, title, license, text }) => {
    // The file may define a name only once, so each work gets a name of its own.
    const name = `${license.replace(/[()]/g, "")} ${folder.replaceAll("node_modules/", "")}`;
    return `Files: ${folder}/*
Comment: ${title}
Copyright: ${holdersIn(text).join("\n ") || "its authors"}
License: ${name.replace(/[^\w.+]+/g, "-")}
${indented(text.replace(apacheLicense, onDebian))}
`;
  });
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: tvs

Files: *
Copyright: ${holdersIn(ours).join("\n ")}
License: Expat
${indented(ours.replace(/^.*?(?=Permission)/s, ""))}

${paragraphs.join("\n")}`;
}

/** The text of the Apache License, instead of which Debian's policy demands a reference. */
const apacheLicense =
  /^ *Apache License$[\s\S]*?END OF TERMS AND CONDITIONS(?:[\s\S]*limitations under the License\.)?/m;
const onDebian = "The text of the Apache License, Version 2.0, is in /usr/share/common-licenses/Apache-2.0.";

/** The holders that a licence's text names in its copyright lines. */
function holdersIn(text: string): string[] {
  const lines = text.matchAll(/\bCopyright (?:\([cC]\) ?|© ?)?((?!License|Notice|Holder|Owner)[\dA-Z].*)$/gm);
  return [...lines].map(([, holder = ""]) => holder.trim());
}

/** Warnings of lintian that are accepted: the executable is Bun's own file, with the program after its code. */
const lintianOverrides = `# The program lies behind the code of the runtime, so the file cannot be stripped or linked again.
tvs: unstripped-binary-or-object [usr/bin/tvs]
tvs: embedded-library libjpeg [usr/bin/tvs]
tvs: hardening-no-pie [usr/bin/tvs]
tvs: hardening-no-relro [usr/bin/tvs]
tvs: hardening-no-bindnow [usr/bin/tvs]
tvs: spelling-error-in-binary *
# The folder is the service's own, and -xdev and the types keep the change inside it.
tvs: recursive-privilege-change *
`;

const maintainer = "tvs maintainers <maintainers@tvs.invalid>";

/** Writes the versions of the changelog in Debian's form. */
function changes({ releasedAt }: PackageParts): string {
  return readChangelog(readFileSync(join(projectFolder, "CHANGELOG.md"), "utf8"))
    .map(({ version, date, notes }) => {
      const points = [...notes.matchAll(/^- (.*)$/gm)].map(([, point]) =>
        `  * ${point}`.replace(/(.{1,76})(?: |$)/gm, "$1\n    ").trimEnd(),
      );
      const at = new Date(date ?? releasedAt * 1_000).toUTCString().replace("GMT", "+0000");
      const head = `tvs (${version}) stable; urgency=medium`;
      return `${head}\n\n${points.join("\n")}\n\n -- ${maintainer}  ${at}\n`;
    })
    .join("\n");
}

/** Makes the page tvs(1): every command with its options, in the words of `--help`. */
function manualPage({ version, releasedAt, description }: PackageParts): string {
  // In roff a line that begins with a dot or a quote is a request, and a plain hyphen is printed as a dash.
  const roff = (text: string) =>
    text
      .replace(/\\/g, "\\e")
      .replace(/-/g, "\\-")
      .replace(/^([.'])/gm, "\\&$1");
  const date = new Date(releasedAt * 1_000).toISOString().slice(0, 10);
  const commands = JSON.parse(readFileSync(join(projectFolder, "data/commands.json"), "utf8"));
  const sections = Object.entries(commands as Readonly<Record<string, Explained>>).map(
    ([name, { description: about, options = {} }]) => {
      const listed = Object.entries(options).map(([option, meaning]) => {
        const flag = /^[A-Z]/.test(option) ? option : `--${option}`;
        return `.TP\n.B ${roff(flag)}\n${roff(meaning)}\n`;
      });
      return `.SS tvs ${roff(name)}\n${roff(about)}\n${listed.join("")}`;
    },
  );
  return `.TH TVS 1 ${date} "tvs ${version}" "User Commands"
.SH NAME
tvs \\- ${roff(description)}
.SH SYNOPSIS
.B tvs
.I COMMAND
[\\fIOPTIONS\\fR]
.SH DESCRIPTION
.B tvs help
lists the topics of the manual, and
.B tvs COMMAND \\-\\-help
explains a command with examples.
.SH COMMANDS
${sections.join("")}`;
}

type Explained = { readonly description: string; readonly options?: Readonly<Record<string, string>> };

/**
 * Makes the file `control`, from which apt reads description and dependencies. The executable and libSQL load the
 * libraries in Depends. Those in Recommends sign faster; crypto_mb exists for amd64 only.
 */
function control({ architecture, version, description }: PackageParts, kibibytes: number): string {
  return `Package: tvs
Version: ${version}
Architecture: ${architecture}
Maintainer: ${maintainer}
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
