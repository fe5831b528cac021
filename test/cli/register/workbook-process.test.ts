import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { makeSheetReader } from "../../../cli/register/workbook-process.ts";
import { withTempDir } from "../../harness/folder.ts";
import { catchError } from "../../harness/rejection.ts";

const main = new URL("../../../cli/main.ts", import.meta.url).href;

/** An endless program with the limits of a workbook's reader. */
const watched = (memory: number) => `import { Worker } from "node:worker_threads";
new Worker(new URL(${JSON.stringify(main)}), {
  workerData: { role: "workbook-watch", memory: ${memory}, parent: process.ppid },
});
setInterval(() => {}, 1000);`;

test("a workbook that needs more than the memory limit is refused, and the process that reads it is killed", () =>
  withTempDir(async (folder) => {
    const file = join(folder, "reader.ts");
    await writeFile(file, watched(1));
    const read = makeSheetReader(pathToFileURL(file));
    expect(String(await catchError(read(new Uint8Array(10), {})))).toMatch(/larger than tvs reads/);
  }));
