/** Workbooks of some megabytes that unpack to hundreds: each is refused, in bounded memory. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { workbookParts, zipOf } from "../harness/archive.ts";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { childEnvironment, patienceMs, programWords } from "../harness/program.ts";

setDefaultTimeout(4 * patienceMs);

const mebibyte = 1024 * 1024;
const repeated = (open: string, piece: string, bytes: number) =>
  Buffer.concat([Buffer.from(open), Buffer.alloc(bytes, piece)]);

const bombs: Readonly<Record<string, () => Record<string, string | Buffer>>> = {
  rows: () =>
    workbookParts(repeated("<worksheet><sheetData>", '<row><c t="str"><v>x</v></c></row>', 600 * mebibyte)),
  texts: () => ({
    ...workbookParts("<worksheet/>"),
    "xl/sharedStrings.xml": repeated("<sst>", "<si><t>many small ones</t></si>", 600 * mebibyte),
  }),
};

test.each(Object.keys(bombs))("a decompression bomb of %s is refused within 512 MiB", async (name) => {
  await withTempDir(async (folder) => {
    const file = join(folder, "bomb.xlsx");
    writeFileSync(file, zipOf((bombs[name] as () => Record<string, string | Buffer>)()));
    const child = Bun.spawn([...programWords, "teachers", "map", file], {
      env: childEnvironment({}),
      stdout: "ignore",
      stderr: "pipe",
    });
    const most = mostMemory(child.pid, child.exited);
    const said = await new Response(child.stderr).text();
    expect({ code: await child.exited, said }).toEqual({
      code: 2,
      said: expect.stringMatching(/larger than tvs reads|damaged/),
    });
    expect(await most).toBeLessThan(512 * mebibyte);
  });
});

/** The most memory that a process has had, read while it lives: the figure at its end includes its parent's. */
async function mostMemory(pid: number, exited: Promise<number>): Promise<number> {
  let most = 0;
  let isOver = false;
  exited.then(() => {
    isOver = true;
  });
  while (!isOver) {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    most = Math.max(most, Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024);
    await sleep(50);
  }
  return most;
}
