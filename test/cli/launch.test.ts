import { describe, expect, test } from "bun:test";
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

describe("the lock file", () => {
  test("has a checksum for every package, of other platforms too, and names no registry", () => {
    const packages = Object.entries(lock.packages).filter(([path]) => path !== "");
    expect(packages.length).toBeGreaterThan(200);
    const unchecked = packages.filter(([, { integrity = "" }]) => !/^sha512-[\w+/]{86}==$/.test(integrity));
    expect(unchecked.map(([path]) => path)).toEqual([]);
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });
});

/** Stands for npm: keeps what it was given, and unpacks a "Bun" that says hello. */
const npm = `
import fs from "node:fs";
fs.copyFileSync("package-lock.json", process.env.SEEN);
fs.mkdirSync(process.env.BUN + "/bin", { recursive: true });
fs.writeFileSync(process.env.BUN + "/bin/bun", "#!/bin/sh\\necho hello\\n", { mode: 0o755 });
if (process.argv[2] !== "ci") process.exit(1);
`;

/** Runs the launcher in a project that is installed, but for Bun. */
async function launch(lockText: string) {
  return withTempDir(async (folder) => {
    for (const name of ["cli", "node_modules", "npm", "test"]) mkdirSync(join(folder, name));
    copyFileSync(join(root, "cli/launch.mjs"), join(folder, "cli/launch.mjs"));
    copyFileSync(join(root, "package.json"), join(folder, "package.json"));
    writeFileSync(join(folder, "package-lock.json"), lockText);
    writeFileSync(join(folder, "node_modules/.package-lock.json"), lockText);
    const [npmFile, seenFile] = [join(folder, "npm/npm-cli.js"), join(folder, "seen.json")];
    writeFileSync(npmFile, npm);
    const env = { ...process.env, npm_execpath: npmFile, SEEN: seenFile, BUN: bunPath };
    const done = spawnSync("node", [join(folder, "cli/launch.mjs"), "pages"], { env, encoding: "utf8" });
    const seen = done.status === 0 ? (JSON.parse(readFileSync(seenFile, "utf8")) as Lock) : null;
    return { ...done, seen };
  });
}

describe("the launcher", () => {
  test("has npm check a Bun that it fetches by itself against the lock file's checksum", async () => {
    const { stdout, status, seen } = await launch(JSON.stringify(lock));
    expect({ stdout, status }).toEqual({ stdout: "hello\n", status: 0 });
    const { version, integrity } = lock.packages[bunPath] ?? {};
    expect(seen?.packages[bunPath]).toEqual({ version, integrity } as never);
  });

  test("fetches no Bun for which the lock file has no checksum", async () => {
    const packages = { ...lock.packages, [bunPath]: { version: "1.4.5" } };
    const { stdout, stderr, status } = await launch(JSON.stringify({ ...lock, packages }));
    expect({ stdout, status }).toEqual({ stdout: "", status: 1 });
    expect(stderr).toStartWith("launch: there is no Bun for ");
  });
});
