import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { projectFolder } from "../../.ci/build.ts";
import { bundles, watchedFolders } from "../../.ci/bundles.ts";
import { listWorks } from "../../.ci/notices.ts";
import { schemaTypes, typesFile } from "../../.ci/schema-types.ts";
import manifest from "../../package.json" with { type: "json" };

// A stale bundle would verify by outdated rules. `npm run bundle` makes a new bundle.
test("the bundled scripts and types equal a new build of the current sources", async () => {
  const quick = Object.entries(bundles).filter(([file]) => file.endsWith(".js") || file === typesFile);
  expect(quick).toHaveLength(4);
  for (const [file, make] of quick)
    expect(readFileSync(file, "utf8") === (await make()) ? "fresh" : `${file} is stale: npm run bundle`).toBe(
      "fresh",
    );
});

test("the folders that are watched for stale bundles contain every source of the bundles", async () => {
  const isWatched = (path: string) => watchedFolders.includes(dirname(path));
  for (const entry of ["src/site/verify-envelope/app.ts", "src/partner/partner.ts"]) {
    const { metafile } = await Bun.build({
      entrypoints: [join(projectFolder, entry)],
      root: projectFolder,
      metafile: true,
    });
    const sources = Object.keys(metafile?.inputs ?? {}).filter((path) => /^(?:src|data)\//.test(path));
    expect(sources).toContain(entry);
    expect(sources.filter((path) => !isWatched(path))).toEqual([]);
  }
});

test("the bill of materials (SBOM) names Bun and every package that the licence notices list", () => {
  const words = [process.execPath, join(projectFolder, ".ci/release.ts"), "--bill"] as const;
  const { stdout } = spawnSync(words[0], words.slice(1), { encoding: "utf8" });
  const { components } = JSON.parse(stdout) as { components: { name: string; version: string }[] };
  const named = components.map(({ name, version }) => `${name} ${version}`);
  const packages = listWorks().map(({ title }) => title.replace(/ \(.*$/, ""));
  expect(packages.length).toBeGreaterThan(40);
  for (const name of packages.slice(0, -1)) expect(named).toContain(name);
  expect(named).toContain(`bun ${manifest.devDependencies.bun}`);
});

test("the type generator refuses a missing schema and a schema without a known type", () => {
  expect(() => schemaTypes({ One: { title: "?" } }, ["One"])).toThrow("no type is known");
  expect(() => schemaTypes({}, ["One"])).toThrow("no schema One");
});
