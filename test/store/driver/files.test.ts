import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { placeNewFile } from "../../../src/store/driver/files.ts";
import { withTempDir } from "../../harness/folder.ts";

test("placeNewFile gives a finished file its final name, and never replaces another file", () =>
  withTempDir(async (folder) => {
    const file = join(folder, "file");
    const finished = (text: string) => {
      const temporary = join(folder, text);
      writeFileSync(temporary, text);
      return temporary;
    };
    placeNewFile(finished("one"), file, true);
    expect(() => placeNewFile(finished("two"), file, true)).toThrow("already exists; choose another name");
    expect(() => placeNewFile(finished("three"), file)).toThrow("already exists; choose another name");
    expect(readFileSync(file, "utf8")).toBe("one");
    expect(existsSync(join(folder, "one"))).toBe(false);
  }));

// A folder acts as a file on a file system without hard links, because it cannot be linked.
test("placeNewFile renames the file if hard links fail, but throws if isFinal is set", () =>
  withTempDir(async (folder) => {
    const [key, output] = [join(folder, "key"), join(folder, "output")];
    mkdirSync(join(folder, "temporary"));
    expect(() => placeNewFile(join(folder, "temporary"), key, true)).toThrow(/EPERM|EISDIR/);
    expect(existsSync(key)).toBe(false);
    placeNewFile(join(folder, "temporary"), output);
    expect(existsSync(output)).toBe(true);
  }));
