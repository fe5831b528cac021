/** The changelog: what each version changed, newest first. */

import { BuildError } from "./build.ts";

export type Release = {
  readonly version: string;
  /** `YYYY-MM-DD`; null for one that is not released yet. */
  readonly date: string | null;
  /** What stands below the heading, Markdown. */
  readonly notes: string;
};

/** A version's heading: `## 1.2.0 (2026-11-22)`, or `## 1.2.0 (not released yet)`. */
const heading = /^## (\S+) \((\d{4}-\d{2}-\d{2}|not released yet)\)$/m;

/** The versions of a changelog, in its order. @throws {BuildError} for a heading of another form */
export function readChangelog(text: string): Release[] {
  return text
    .split(/^(?=## )/m)
    .filter((section) => section.startsWith("## "))
    .map((section) => {
      const [line, name = "", date = ""] = heading.exec(section) ?? [];
      if (line === undefined || !section.startsWith(line)) {
        const [first] = section.split("\n");
        throw new BuildError(`CHANGELOG.md: "${first}" is not ## VERSION (YYYY-MM-DD)`);
      }
      const isReleased = /^\d/.test(date);
      return { version: name, date: isReleased ? date : null, notes: section.slice(line.length).trim() };
    });
}
