import { expect, test } from "bun:test";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defaultPolicy } from "../../../src/domain/policy.ts";
import { runJson, runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { withTestContext } from "../../harness/service.ts";

test("tvs policy show prints the policy in force, and with --json prints a document that tvs policy check accepts", () =>
  withTempDir(async (dataDir) => {
    const policy = withRule({ categories: ["A"] });
    const stored = { policy: JSON.stringify(policy) };
    await withTestContext(dataDir, ({ settings }) => settings.write(stored));
    const shown = await runTvs(["policy", "show", "--json"], { dataDir });
    expect(JSON.parse(shown.stdout)).toEqual(policy);
    const text = (await runTvs(["policy", "show"], { dataDir })).stdout;
    expect(text).toMatch(/^GENERAL_PUBLIC_VERIFICATION +VERIFIED +legacy +A +0$/m);
    expect(text).toMatch(/^EMPLOYER_BACKGROUND_CHECK +nobody: not in the policy/m);

    const file = join(dataDir, "policy.json");
    await writeFile(file, shown.stdout);
    const check = () => runJson<{ denied: string[] }>(["policy", "check", file], { dataDir });
    const checked = await check();
    expect(checked).toMatchObject({ valid: true, version: "2027-01", denied: { length: 9 } });
    await writeFile(file, `\ufeff${shown.stdout}`);
    expect(await check()).toEqual(checked);
  }));

function withRule(changes: object) {
  const rule = { certificate: ["VERIFIED"], sources: ["legacy"], categories: [], minDaysRemaining: 0 };
  return { version: "2027-01", purposes: { GENERAL_PUBLIC_VERIFICATION: { ...rule, ...changes } } };
}

test("tvs policy check needs no database, and exits with 1 for an invalid policy", () =>
  withTempDir(async (folder) => {
    const dataDir = join(folder, "data");
    const file = join(folder, "policy.json");
    const check = async (document: unknown) => {
      await writeFile(file, typeof document === "string" ? document : JSON.stringify(document));
      return runTvs(["policy", "check", file], { dataDir });
    };
    expect(await check(defaultPolicy)).toMatchObject({ code: 0, stderr: "" });

    const wrong = withRule({ certificate: ["GOOD"] });
    await expectRefusal(check(wrong), 1, "purposes.GENERAL_PUBLIC_VERIFICATION.certificate.0");
    await expectRefusal(check("not json"), 1, "JSON");
    expect((await runTvs(["policy", "check", join(folder, "absent.json")], { dataDir })).code).toBe(2);
    expect(await readdir(folder)).toEqual(["policy.json"]);
  }));
