/** The changelog, in the form of Keep a Changelog: the changes of each version, newest first. */

import { BuildError } from "./build.ts";

export type Release = {
  readonly version: string;
  /** `YYYY-MM-DD`; null for a version that is not released yet. */
  readonly date: string | null;
  /** The Markdown below the heading. */
  readonly notes: string;
};

/** The heading of a version: `## [1.2.0] - 2026-11-22`, or `## [1.2.0]` if it is not released yet. */
const heading = /^## \[([^\]\s]+)\](?: - (\d{4}-\d{2}-\d{2}))?$/m;

/** Lists the versions of a changelog, in its order. @throws {BuildError} if a heading has another form */
export function readChangelog(text: string): Release[] {
  return text
    .split(/^(?=## )/m)
    .filter((section) => section.startsWith("## "))
    .map((section) => {
      const [line, version = "", date = null] = heading.exec(section) ?? [];
      if (line === undefined || !section.startsWith(line)) {
        const [first] = section.split("\n");
        throw new BuildError(`CHANGELOG.md: "${first}" is not ## [VERSION] - YYYY-MM-DD`);
      }
      return { version, date, notes: section.slice(line.length).trim() };
    });
}
