/** The changelog: what each version changed, newest first, as the program carries it along. */

import changes from "../CHANGELOG.md" with { type: "text" };
import { TvsError } from "../src/domain/errors.ts";
import { command, version } from "./command.ts";
import { laidOut } from "./terminal/manual.ts";
import { print } from "./terminal/output.ts";

export type Release = {
  readonly version: string;
  /** `YYYY-MM-DD`; null for one that is not released yet. */
  readonly date: string | null;
  /** What stands below the heading, Markdown. */
  readonly notes: string;
};

/** A version's heading: `## 1.2.0 (2026-11-22)`, or `## 1.2.0 (not released yet)`. */
const heading = /^## (\S+) \((\d{4}-\d{2}-\d{2}|not released yet)\)$/m;

/** The versions of a changelog, in its order. @throws TvsError INPUT_UNREADABLE for a heading of another form */
export function readChangelog(text: string): Release[] {
  return text
    .split(/^(?=## )/m)
    .filter((section) => section.startsWith("## "))
    .map((section) => {
      const [line, name = "", date = ""] = heading.exec(section) ?? [];
      if (line === undefined || !section.startsWith(line)) {
        const [first] = section.split("\n");
        throw new TvsError("INPUT_UNREADABLE", `CHANGELOG.md: "${first}" is not ## VERSION (YYYY-MM-DD)`);
      }
      const isReleased = /^\d/.test(date);
      return { version: name, date: isReleased ? date : null, notes: section.slice(line.length).trim() };
    });
}

/** The releases that came after one; of all of them, the newest where none is named. @throws TvsError USAGE */
function releasesSince(releases: readonly Release[], since: string | undefined): readonly Release[] {
  if (since === undefined) return releases.slice(0, 1);
  const at = releases.findIndex((release) => release.version === since);
  if (at >= 0) return releases.slice(0, at);
  const known = releases.map((release) => release.version).join(", ");
  throw new TvsError("USAGE", `--since must be one of ${known}`);
}

export const changelogCommand = command({
  name: "changelog",
  description:
    "Print what this version changed, or everything since another one: to be read before an upgrade",
  example: "tvs changelog\n  tvs changelog --since 0.1.0",
  args: {
    since: { type: "string", valueHint: "VERSION", description: "All that changed after this version" },
  },
  async run({ args }) {
    const found = releasesSince(readChangelog(changes), args.since);
    print(args, found, () => {
      if (found.length === 0) return `nothing changed since ${args.since}; this is tvs ${version}`;
      const markdown = found.map(
        ({ version: name, date, notes }) => `## ${name} (${date ?? "not released yet"})\n\n${notes}`,
      );
      return process.stdout.isTTY === true ? laidOut(markdown.join("\n\n")) : markdown.join("\n\n");
    });
  },
});
