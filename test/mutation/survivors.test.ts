import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness/repository.ts";
import { mutatedFiles } from "./files.ts";
import { namedSurvivors, readSurvivors } from "./survivors.ts";

test("every mutated file and each of its test files exist", () => {
  const paths = [...mutatedFiles].flatMap(([file, tests]) => [file, ...tests]);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  expect([...namedSurvivors.keys()].filter((file) => !mutatedFiles.has(file))).toEqual([]);
});

test("survivors.txt names each survivor below its file, with a reason", () => {
  const text = "# Said first.\na.ts\n  x → y\n  y → z @ x + y\n    Both are the same.\nb.ts\n";
  expect([...readSurvivors(text)]).toEqual([
    ["a.ts", ["x → y", "y → z @ x + y"]],
    ["b.ts", []],
  ]);
  for (const wrong of ["a.ts\n  x → y\nb.ts", "a.ts\n  x → y", "a.ts\n    why"])
    expect(() => readSurvivors(wrong)).toThrow("survivors.txt");
});
