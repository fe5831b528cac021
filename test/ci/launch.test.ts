import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { withTempDir } from "../harness/folder.ts";

const root = resolve(import.meta.dir, "../..");

type Lock = { packages: Record<string, { version: string; integrity?: string; resolved?: string }> };

const lock: Lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
const bunPath = Object.keys(lock.packages).find(
  (path) => path !== "" && process.execPath.endsWith(`${path}/bin/bun`),
) as string;

test("the lock file has a checksum for every package of every platform, and has no registry URL", () => {
  const packages = Object.entries(lock.packages).filter(([path]) => path !== "");
  expect(packages.length).toBeGreaterThan(200);
  const unchecked = packages.filter(([, { integrity = "" }]) => !/^sha512-[\w+/]{86}==$/.test(integrity));
  expect(unchecked.map(([path]) => path)).toEqual([]);
  expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});

/** A fake npm that records its own arguments, and unpacks a fake Bun that prints its first argument. */
const npm = `
import fs from "node:fs";
fs.writeFileSync("seen", process.argv.slice(2).join(" "));
fs.mkdirSync(process.env.BUN + "/bin", { recursive: true });
fs.writeFileSync(process.env.BUN + "/bin/bun", "#!/bin/sh\\necho $1\\n", { mode: 0o755 });
`;

async function launch(unpacks: string) {
  return withTempDir(async (folder) => {
    for (const name of [".ci", "node_modules", "npm", "test"]) mkdirSync(join(folder, name));
    for (const name of [".ci/launch.mjs", "package.json", "package-lock.json"])
      copyFileSync(join(root, name), join(folder, name));
    copyFileSync(join(root, "package-lock.json"), join(folder, "node_modules/.package-lock.json"));
    const npmFile = join(folder, "npm/npm-cli.js");
    writeFileSync(npmFile, npm);
    const env = { ...process.env, npm_execpath: npmFile, BUN: unpacks };
    const done = spawnSync("node", [join(folder, ".ci/launch.mjs"), "pages"], { env, encoding: "utf8" });
    return { ...done, seen: readFileSync(join(folder, "seen"), "utf8") };
  });
}

test("if Bun is missing, the launcher runs npm ci with optional packages, and builds the bundles", async () => {
  const { stdout, status, seen } = await launch(bunPath);
  expect({ stdout, status }).toEqual({ stdout: ".ci/bundles.ts\ntest/run.ts\n", status: 0 });
  expect(seen).toStartWith("ci ");
  expect(seen).toContain("--include=optional");
});

test("the launcher prints one line if npm has no Bun for this machine", async () => {
  const { stdout, stderr, status } = await launch("node_modules/elsewhere");
  expect({ stdout, status }).toEqual({ stdout: "", status: 1 });
  expect(stderr).toContain("launch: npm has no Bun for ");
});
