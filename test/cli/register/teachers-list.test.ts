import { beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runTvs } from "../../harness/command.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { type Cells, csv, row } from "../../harness/imports.ts";

const folder = sharedFolder();
const dataDir = join(folder, "data");
const run = (...words: string[]) => runTvs(["teachers", ...words], { dataDir });
const numbers = (stdout: string) => (JSON.parse(stdout) as { regNo: string }[]).map(({ regNo }) => regNo);

const contacts = { nin: "99900000001", email: "ada@example.org", phone: "08031234567" };
const teachers: readonly Cells[] = [
  row(1, { t_id: "77", state: "Lagos", ...contacts }),
  row(2, { name: "=Bọ́lá Adéyẹmí", state: "Oyo", phone: contacts.phone, license_expiry_date: "2022-02-28" }),
  row(3, { name: "Chidi\u00a0Okafor", certificate_status: "CLAIMED", active: "false" }),
];

beforeAll(async () => {
  await writeFile(join(folder, "extract.csv"), csv(teachers));
  expect((await run("import", join(folder, "extract.csv"), "--baseline")).code).toBe(0);
});

test.concurrent("tvs teachers list sorts by registration number and shows the status of each teacher", async () => {
  const { stdout, stderr } = await run("list", "--json");
  expect({ stderr, all: numbers(stdout) }).toEqual({
    stderr: "",
    all: ["TR/2019/LA/1", "TR/2019/LA/2", "TR/2019/LA/3"],
  });
  expect(JSON.parse(stdout)[0]).toEqual({
    regNo: "TR/2019/LA/1",
    tId: 77,
    name: "Adaeze Okafor",
    state: "Lagos",
    category: null,
    active: true,
    hidden: false,
    licenseStatus: "VALID",
    licenseExpiryDate: "2090-02-28",
    certificateStatus: "VERIFIED",
    updatedAt: expect.stringMatching(/Z$/),
  });
  const people = await run("list");
  expect(people.stdout).toMatch(/^TR\/2019\/LA\/2 +- +=Bọ́lá Adéyẹmí +Oyo +EXPIRED +2022-02-28 +VERIFIED *$/m);
  expect(people.stdout).toMatch(/^TR\/2019\/LA\/3 .* deactivated /m);
});

test.concurrent("tvs teachers list prints the option that shows the next page", async () => {
  const first = await run("list", "--limit", "2", "--json");
  expect({ page: numbers(first.stdout).length, stderr: first.stderr.trim() }).toEqual({
    page: 2,
    stderr: "there are more; the next ones: --after TR/2019/LA/2",
  });
  const rest = await run("list", "--after", "TR/2019/LA/2", "--json");
  expect({ page: numbers(rest.stdout), stderr: rest.stderr }).toEqual({ page: ["TR/2019/LA/3"], stderr: "" });
});

test.concurrent("tvs teachers list filters by certificate and status, and refuses an unknown filter", async () => {
  const listed = async (...words: string[]) => numbers((await run("list", "--json", ...words)).stdout);
  expect(await listed("--status", "expired")).toEqual(["TR/2019/LA/2"]);
  expect(await listed("--certificate", "CLAIMED", "--status", "NOT_FOUND")).toEqual(["TR/2019/LA/3"]);
  expect(await listed("--certificate", "VERIFIED")).toHaveLength(2);
  for (const words of [
    ["--status", "VALLID"],
    ["--expires-before", "2026-02-30"],
  ])
    expect((await run("list", ...words)).code).toBe(2);
});

test.concurrent("tvs teachers find exits with 1 if it finds nobody and with 2 without a search term, and never repeats the term", async () => {
  const nobody = await run("find", "99988877766", "--json");
  expect({ code: nobody.code, stdout: nobody.stdout }).toEqual({ code: 1, stdout: "[]\n" });
  expect((await run("find", "Zzz")).stdout).toBe("nobody was found\n");
  expect(await run("find", "???")).toMatchObject({ code: 2, stdout: "" });
  const read = await runTvs(["teachers", "find", "-"], { dataDir, stdin: `${contacts.nin}\n` });
  expect({ code: read.code, is: read.stdout.includes("TR/2019/LA/1") }).toEqual({ code: 0, is: true });
  for (const { stdout, stderr } of [nobody, read])
    expect(`${stdout}${stderr}`).not.toMatch(/999\d{8}|example\.org|0803/);
  expect((await runTvs(["teachers", "find", "-"], { dataDir, stdin: "x".repeat(5_000) })).code).toBe(2);
});

test("tvs teachers export writes a file that only its owner can read, and replaces no file", async () => {
  for (const name of ["register.csv", "register.ndjson"]) {
    const file = join(folder, name);
    const { code, stdout, stderr } = await run("export", file, "--json");
    const format = name.endsWith("csv") ? "csv" : "ndjson";
    expect({ code, stderr, ...JSON.parse(stdout) }).toEqual({
      code: 0,
      stderr: "",
      file,
      format,
      teachers: 3,
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).not.toMatch(/999\d{8}|example\.org|0803/);
    expect((await run("export", file)).code).toBe(2);
    expect((await run("export", file, "--force", "--state", "Oyo")).stdout).toContain("1 teacher written");
  }
  const nobody = await run("export", join(folder, "nobody.csv"), "--state", "Nowhere");
  expect([nobody.code, nobody.stdout]).toEqual([1, ""]);
  expect(nobody.stderr).toContain("there is no teacher to write, so no file was written");
  expect(readdirSync(folder).filter((name) => name.includes("nobody"))).toEqual([]);
  expect((await run("export", join(dataDir, "inside.csv"))).code).toBe(2);
  expect(readFileSync(join(folder, "register.csv"), "utf8")).toContain(",'=Bọ́lá Adéyẹmí,");
});
