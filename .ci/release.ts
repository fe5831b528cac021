// Makes a release: executables for every platform, Debian packages, systemd units, release notes from the changelog,
// checksums and the bill of materials (`npm run release`). With `--bill` it only prints the bill. Packages for other
// platforms are downloaded in the versions of the lock file, and their hashes are compared with it.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json" with { type: "json" };
import lock from "../package-lock.json" with { type: "json" };
import { BuildError, build, projectFolder, readTarget, runScript, targetPackages } from "./build.ts";
import { type Release, readChangelog } from "./changelog.ts";
import { hasDpkgDeb, makeDebianPackage, type PackageParts, systemdFolder } from "./debian.ts";
import { bundledPackages } from "./notices.ts";

const targets = ["linux-x64", "linux-x64-musl", "linux-arm64", "linux-arm64-musl", "darwin-arm64"];
const maxBillBytes = 64 * 1024 * 1024;
const cache = join(projectFolder, ".cache/release");

type Locked = { version: string; integrity?: string };

/** Downloads a package into the cache, unless it is there. @throws {BuildError} if its hash is not the locked one */
function fetchPackage(name: string): void {
  const entries = lock.packages as unknown as Readonly<Record<string, Locked | undefined>>;
  const locked = entries[`node_modules/${name}`];
  if (locked?.integrity === undefined) throw new BuildError(`the lock file has no hash for ${name}`);
  const folder = join(cache, "node_modules", name);
  const mark = join(folder, ".integrity");
  if (existsSync(mark) && readFileSync(mark, "utf8") === locked.integrity) return;
  const wanted = `${name}@${locked.version}`;
  mkdirSync(cache, { recursive: true });
  const words = ["pack", wanted, "--json", "--loglevel=error", "--pack-destination", cache];
  const [packed] = JSON.parse(execFileSync("npm", words, { encoding: "utf8" })) as { filename: string }[];
  const tarball = join(cache, (packed?.filename ?? "").replace("@", "").replace("/", "-"));
  const digest = createHash("sha512").update(readFileSync(tarball)).digest("base64");
  if (`sha512-${digest}` !== locked.integrity)
    throw new BuildError(`${wanted} is not what the lock file names`);
  const fresh = `${folder}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "-C", fresh, "--strip-components=1"]);
  writeFileSync(join(fresh, ".integrity"), locked.integrity);
  rmSync(folder, { recursive: true, force: true });
  renameSync(fresh, folder);
  rmSync(tarball);
}

async function buildOne(platform: string, folder: string): Promise<string> {
  const name = `bun-${platform}`;
  const packages = targetPackages(name);
  for (const one of [packages.addon, packages.runtime]) fetchPackage(one);
  const file = `tvs-${platform}`;
  await build(readTarget(name, join(cache, "node_modules")), join(folder, file));
  console.log(`${file}: built`);
  return file;
}

/** Lists the checksums of files in the form that `sha256sum --check` reads. */
function checksums(folder: string, files: readonly string[]): string {
  const line = (file: string) =>
    `${createHash("sha256")
      .update(readFileSync(join(folder, file)))
      .digest("hex")}  ${file}\n`;
  return files.map(line).join("");
}

type BillOfMaterials = {
  metadata: { component: { name: string; "bom-ref": string } };
  components: { "bom-ref": string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
};

/**
 * Makes the bill of materials (CycloneDX): every package in the executables, with version, licence and hash. npm writes
 * it, and three things are corrected: the program has its folder's name, Bun is missing, and tools are listed too
 * (`--omit=dev` would also omit packages that program and tools share).
 */
function billOfMaterials(): string {
  const form = ["--sbom-format=cyclonedx", "--sbom-type=application"];
  const words = ["sbom", ...form, "--package-lock-only", "--loglevel=error"];
  const text = execFileSync("npm", words, { cwd: projectFolder, encoding: "utf8", maxBuffer: maxBillBytes });
  const { metadata, components, dependencies, ...rest } = JSON.parse(text) as BillOfMaterials;
  const refs = bundledPackages.map(
    ([path, one]) => `${path.replace(/^.*node_modules\//, "")}@${one.version}`,
  );
  const isInside = (ref: string) => refs.includes(ref);
  const bun = { type: "platform", name: "bun", version: manifest.devDependencies.bun };
  const ref = `bun@${bun.version}`;
  const bill = {
    ...rest,
    metadata: { ...metadata, component: { ...metadata.component, name: manifest.name } },
    components: [
      ...components.filter((one) => isInside(one["bom-ref"])),
      { "bom-ref": ref, ...bun, purl: `pkg:npm/${ref}` },
    ],
    dependencies: dependencies
      .filter((one) => isInside(one.ref) || one.ref === metadata.component["bom-ref"])
      .map((one) => ({ ...one, dependsOn: one.dependsOn.filter(isInside) })),
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}

const debianNames: Readonly<Record<string, PackageParts["architecture"]>> = {
  "linux-x64": "amd64",
  "linux-arm64": "arm64",
};

/** Makes the Debian packages of the executables. If this machine cannot, it prints why and makes none. */
function debianPackages(platforms: readonly string[], folder: string, { date }: Release): string[] {
  const wanted = platforms.flatMap((platform) => {
    const architecture = debianNames[platform];
    return architecture === undefined ? [] : [{ platform, architecture }];
  });
  if (wanted.length > 0 && !hasDpkgDeb()) {
    console.error("no .deb is made: this machine has no dpkg-deb (the package dpkg brings it)");
    return [];
  }
  const { version, description } = manifest;
  const releasedAt = Math.floor((date === null ? Date.now() : Date.parse(date)) / 1_000);
  return wanted.map(({ platform, architecture }) => {
    const executable = join(folder, `tvs-${platform}`);
    const file = makeDebianPackage({ executable, architecture, version, description, releasedAt }, folder);
    console.log(`${file}: built`);
    return file;
  });
}

/** Reads the version's section of the changelog. @throws {BuildError} if the section is missing */
function releaseOf(version: string): Release {
  const text = readFileSync(join(projectFolder, "CHANGELOG.md"), "utf8");
  const release = readChangelog(text).find((one) => one.version === version);
  if (release === undefined)
    throw new BuildError(`CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD"; write its changes`);
  if (release.date === null)
    console.error(`CHANGELOG.md has no date for ${version}: add it before you publish the release`);
  return release;
}

async function main(): Promise<void> {
  const options = {
    out: { type: "string", default: join(projectFolder, "dist/release") },
    target: { type: "string", multiple: true, default: targets },
    bill: { type: "boolean", default: false },
  } as const;
  const { out, target, bill } = parseArgs({ options }).values;
  if (bill) {
    process.stdout.write(billOfMaterials());
    return;
  }
  const folder = resolve(out);
  const release = releaseOf(manifest.version);
  mkdirSync(folder, { recursive: true });
  const files: string[] = [];
  for (const platform of target) files.push(await buildOne(platform, folder));
  files.push(...debianPackages(target, folder, release));
  cpSync(systemdFolder, folder, { recursive: true });
  files.push(...readdirSync(systemdFolder));
  writeFileSync(join(folder, "sbom.cdx.json"), billOfMaterials());
  writeFileSync(join(folder, "RELEASE-NOTES.md"), `# tvs ${release.version}\n\n${release.notes}\n`);
  files.push("sbom.cdx.json", "RELEASE-NOTES.md");
  writeFileSync(join(folder, "SHA256SUMS"), checksums(folder, files));
  console.log(`${folder}: ${files.length} files, and their checksums in SHA256SUMS`);
}

await runScript("release", main);
