import { expect, test } from "bun:test";
import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { type Cells, csv, row } from "../../harness/imports.ts";
import { programWords } from "../../harness/program.ts";
import { makeRegister } from "../../harness/service.ts";

const withFolder = (run: (world: ReturnType<typeof worldIn>) => Promise<void>) =>
  withTempDir((folder) => run(worldIn(folder)));

function worldIn(folder: string) {
  const dataDir = join(folder, "data");
  return {
    ...{ folder, dataDir },
    async file(name: string, content: readonly Cells[] | string): Promise<string> {
      const path = join(folder, name);
      await writeFile(path, typeof content === "string" ? content : csv(content));
      return path;
    },
    run: (...words: string[]) => runTvs(["teachers", "import", ...words], { dataDir }),
  };
}

const many = (count: number) =>
  Array.from({ length: count }, (_, n) => row(n, { t_id: String(n + 1), nin: String(99_900_000_000 + n) }));

test.concurrent("tvs teachers import prints its counts as text or as one JSON value, and nothing on stderr", () =>
  withFolder(async ({ file, run }) => {
    const extract = await file("extract.csv", [row(1), row(2)]);
    const first = await run(extract, "--json");
    expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: "" });
    const counts = { rows: 2, inserted: 2, updated: 0, unchanged: 0, rejected: 0, warnings: 0, events: 4 };
    const { sha256, ...result } = JSON.parse(first.stdout);
    expect(result).toEqual({ file: "extract.csv", ...counts, firstRevokes: "nobody" });
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    const again = await run(extract);
    expect(again.stdout).toMatch(/unchanged +2\n/);
    expect(again.stderr).toBe("");
  }));

test.concurrent("tvs teachers import exits with 1 if a row was rejected, and its report names the row and the reason", () =>
  withFolder(async ({ file, run, folder }) => {
    const extract = await file("extract.csv", [row(1, { nin: "123", email: "x" }), row(2, { phone: "x" })]);
    const report = join(folder, "report.json");
    const { code, stdout, stderr } = await run(extract, "--json", "--report", report);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ inserted: 1, rejected: 1, warnings: 1 });
    expect(JSON.parse(readFileSync(report, "utf8"))).toMatchObject({
      file: "extract.csv",
      rows: 2,
      inserted: 1,
      rejected: [{ line: 2, field: "nin", code: "NIN_INVALID" }],
      warnings: [{ line: 3, field: "phone", code: "PHONE_INVALID" }],
      codes: { NIN_INVALID: expect.any(String), PHONE_INVALID: expect.any(String) },
    });
    expect(statSync(report).mode & 0o777).toBe(0o600);
  }));

test.concurrent("tvs teachers import prints the number of rows for each code and the first rejected rows, without values", () =>
  withFolder(async ({ file, run }) => {
    const dated = { license_expiry_date: "someday" };
    const wrong = [
      row(0, { ...dated, nin: "123" }),
      ...Array.from({ length: 6 }, (_, n) => row(n + 1, dated)),
    ];
    const { code, stdout, stderr } = await run(await file("extract.csv", wrong));
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout).toMatch(/^import +nothing changed, every row was rejected$/m);
    expect(stdout).toMatch(/^7 +rejected +DATE_INVALID +a date is written/m);
    expect(stdout).toMatch(/^1 +rejected +NIN_INVALID /m);
    const first = stdout.slice(stdout.indexOf("the first rejected rows:")).trimEnd().split("\n").slice(2);
    expect(first.map((line) => line.split(/ +/).slice(0, 3))).toEqual([
      ["2", "TR/2019/LA/0", "license_expiry_date"],
      ["2", "TR/2019/LA/0", "nin"],
      ...[3, 4, 5, 6].map((line) => [`${line}`, `TR/2019/LA/${line - 2}`, "license_expiry_date"]),
    ]);
    expect(stdout).not.toContain("someday");
  }));

test.concurrent("tvs teachers import exits with 0 if the last import rejected the same rows, and with 1 for a new rejected row", () =>
  withFolder(async ({ file, run }) => {
    const wrong = (number: number) => row(number, { nin: "123" });
    const first = await run(await file("1.csv", [wrong(1), row(2, { nin: "" }), row(3), row(4)]));
    expect([first.code, first.stderr]).toEqual([1, ""]);
    const again = await run(await file("2.csv", [row(2, { nin: "" }), row(3), row(4), wrong(1)]), "--json");
    expect(JSON.parse(again.stdout)).toMatchObject({
      sameRejections: true,
      rejectedRows: [{ line: 5, regNo: "TR/2019/LA/1", field: "nin", code: "NIN_INVALID" }],
    });
    expect([again.code, again.stderr]).toEqual([0, "1 row rejected, the same as last time\n"]);
    const another = await run(await file("3.csv", [wrong(1), row(2), wrong(3), row(4)]));
    expect([another.code, another.stderr]).toEqual([1, ""]);
  }));

test.concurrent("tvs teachers import --template prints an empty extract on stdout and explains it on stderr", () =>
  withFolder(async ({ file, run }) => {
    const { code, stdout, stderr } = await run("--template");
    expect(code).toBe(0);
    expect(stderr).toMatch(/^reg_no +yes +registration number/m);
    const extract = await file("extract.csv", stdout);
    const refused = await run(extract);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("no row below the header")]);
    const empty = await run(extract, "--allow-change", "--json");
    expect([empty.code, JSON.parse(empty.stdout)]).toMatchObject([0, { rows: 0, rejected: 0, warnings: 0 }]);
    const [column] = JSON.parse((await run("--template", "--json")).stdout);
    expect(column).toMatchObject({ column: "reg_no", member: "regNo", required: true });
    expect((await run("--template", "extract.csv")).code).toBe(2);
    expect((await run()).stderr).toContain("--template");
  }));

test.concurrent("tvs teachers import exits with 1 if --strict stops it, or if it would remove too many licences", () =>
  withFolder(async ({ file, run }) => {
    await run(await file("a.csv", [row(1), row(2)]));
    const loss = await file("b.csv", [row(1, { license_expiry_date: "2020-01-01" })]);
    const braked = await run(loss, "--json");
    expect(braked.code).toBe(1);
    expect(JSON.parse(braked.stdout)).toMatchObject({
      updated: 0,
      stopped: { by: "brake", losses: [{ kind: "validLicenses", lost: 1, of: 2 }] },
    });
    expect(braked.stderr).toContain("1 of 2 valid licences");
    expect(braked.stderr).toContain("--allow-change");
    expect((await run(loss, "--allow-change", "--json")).code).toBe(0);
    const strict = await run(await file("c.csv", [row(3), row(4, { nin: "x" })]), "--strict");
    expect(strict.code).toBe(1);
    expect(strict.stderr).toContain("nothing was changed");
  }));

test.concurrent("tvs teachers import names unknown columns, and refuses a file with a misspelled column", () =>
  withFolder(async ({ file, run }) => {
    const known = [row(1, { lga: "Ikeja", "Remarks (old)": "x" })];
    const people = await run(await file("known.csv", known));
    expect([people.code, people.stderr, people.stdout]).toEqual([
      0,
      "",
      expect.stringMatching(/^not known +lga, Remarks \(old\)$/m),
    ]);
    const json = JSON.parse((await run(await file("again.csv", known), "--json")).stdout);
    expect(json.unknownColumns).toEqual(["lga", "Remarks (old)"]);
    const misspelled = csv([row(1)]).replace("license_expiry_date", "license_expiry_dat");
    const stopped = await run(await file("misspelled.csv", misspelled));
    expect(stopped.code).toBe(1);
    expect(stopped.stdout).toMatch(/^import +stopped, nothing changed$/m);
    const said = "the column license_expiry_dat is not known (did you mean license_expiry_date?)";
    expect(stopped.stderr).toContain(`nothing was changed: ${said}`);
    expect(stopped.stderr).toContain("import again with --allow-change");
  }));

test.concurrent("tvs teachers import exits with 2 and one line if it cannot read the file", () =>
  withFolder(async ({ file, run, folder, dataDir }) => {
    const broken = await file("broken.csv", `${csv([row(1)])}"TR/2019/LA/2,Ada`);
    for (const path of [broken, join(folder, "none.csv"), folder]) {
      const { code, stderr } = await run(path);
      expect(code).toBe(2);
      expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    }
    expect((await run(broken)).stderr).toContain("line 3");
    expect(readdirSync(dataDir).filter((name) => name.startsWith("import-"))).toEqual([]);
  }));

test("a tvs teachers import that is interrupted while it reads the file reports the interruption, and changes nothing", () =>
  withTempDir(async (folder) => {
    const [extract, dataDir] = [join(folder, "extract.csv"), join(folder, "data")];
    execFileSync("mkfifo", [extract]);
    await makeRegister(dataDir);
    const child = startImport(extract, dataDir);
    const stderr = text(child.stderr);
    const ended = new Promise((done) => child.once("exit", done));
    // A pipe opens when its reader has opened it.
    const pipe = await open(extract, "w");
    child.kill("SIGINT");
    const rows = csv(many(1_000));
    while (child.exitCode === null) await pipe.write(rows).catch(() => ended);
    await pipe.close();
    expect({ code: child.exitCode, stderr: await stderr }).toEqual({
      code: 1,
      stderr: "tvs: stopped before anything was changed\n",
    });
  }));

function startImport(extract: string, dataDir: string) {
  const [program = "", ...words] = [...programWords, "teachers", "import", extract];
  const env = { ...process.env, TVS_DATA: dataDir };
  return spawn(program, words, { env, stdio: ["ignore", "ignore", "pipe"] });
}
