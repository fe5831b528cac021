/** Tests workbooks of a few megabytes that unpack to hundreds of megabytes: each is refused, with little memory. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { makeZip, workbookParts } from "../harness/archive.ts";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { childEnvironment, programWords, testTimeoutMs } from "../harness/program.ts";

setDefaultTimeout(4 * testTimeoutMs);

const mebibyte = 1024 * 1024;
const repeated = (open: string, piece: string, bytes: number) =>
  Buffer.concat([Buffer.from(open), Buffer.alloc(bytes, piece)]);

const cells = '<row><c t="str"><v>x</v></c></row>';
const texts = "<si><t>many small ones</t></si>";
const bombs: [string, () => Record<string, string | Buffer>][] = [
  ["rows", () => workbookParts(repeated("<worksheet><sheetData>", cells, 600 * mebibyte))],
  [
    "texts",
    () => ({
      ...workbookParts("<worksheet/>"),
      "xl/sharedStrings.xml": repeated("<sst>", texts, 600 * mebibyte),
    }),
  ],
];

test.each(bombs)("a zip bomb of %s is refused within 512 MiB of memory", async (_what, makeParts) => {
  await withTempDir(async (folder) => {
    const file = join(folder, "bomb.xlsx");
    writeFileSync(file, makeZip(makeParts()));
    const child = Bun.spawn([...programWords, "teachers", "map", file], {
      env: childEnvironment({}),
      stdout: "ignore",
      stderr: "pipe",
    });
    const most = mostMemory(child);
    expect(await new Response(child.stderr).text()).toMatch(/larger than tvs reads|damaged/);
    expect(await child.exited).toBe(2);
    expect(await most).toBeLessThan(512 * mebibyte);
  });
});

/** Reads the peak memory of a process while it runs, because the figure after its end includes its parent's memory. */
async function mostMemory(child: Subprocess): Promise<number> {
  let most = 0;
  while (child.exitCode === null && child.signalCode === null) {
    const status = await readFile(`/proc/${child.pid}/status`, "utf8").catch(() => "");
    most = Math.max(most, Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024);
    await sleep(50);
  }
  return most;
}
