import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { files } from "./files.ts";
import { namedSurvivors, readNamed } from "./score.ts";

const root = join(import.meta.dirname, "../..");

test("every file of the mutation test exists, and so do its tests", () => {
  const paths = Object.entries(files).flatMap(([file, tests]) => [file, ...tests]);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  expect([...namedSurvivors.keys()].filter((file) => !(file in files))).toEqual([]);
});

test("every surviving mutant is listed below its file with a reason", () => {
  const text = "# Said first.\na.ts\n  x → y\n  y → z @ x + y\n    Both are the same.\nb.ts\n";
  expect([...readNamed(text)]).toEqual([
    ["a.ts", ["x → y", "y → z @ x + y"]],
    ["b.ts", []],
  ]);
  for (const wrong of ["a.ts\n  x → y\nb.ts", "a.ts\n  x → y", "a.ts\n    why"])
    expect(() => readNamed(wrong)).toThrow("survivors.txt");
});
