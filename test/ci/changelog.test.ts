import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readChangelog } from "../../.ci/changelog.ts";
import manifest from "../../package.json" with { type: "json" };

const text = readFileSync(join(import.meta.dir, "../../CHANGELOG.md"), "utf8");

test("the changelog begins with the version in package.json, and every earlier version has a date", () => {
  const releases = readChangelog(text);
  expect(releases[0]?.version).toBe(manifest.version);
  expect(releases.slice(1).filter(({ date }) => date === null)).toEqual([]);
});

test("readChangelog lists the versions with their notes, and refuses a malformed heading", () => {
  const two = "# Changelog\n\nWords.\n\n## [0.2.0] - 2026-12-01\n\n- More.\n\n## [0.1.0]\n\n- First.\n";
  expect(readChangelog(two)).toEqual([
    { version: "0.2.0", date: "2026-12-01", notes: "- More." },
    { version: "0.1.0", date: null, notes: "- First." },
  ]);
  const malformed = "# Changelog\n\n## 0.2\n\n- More.\n";
  expect(() => readChangelog(malformed)).toThrow('"## 0.2" is not ## [VERSION] - YYYY-MM-DD');
});
