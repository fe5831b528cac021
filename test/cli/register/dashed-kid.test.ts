import { expect, test } from "bun:test";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { makeRegister } from "../../harness/service.ts";

const dashed = `-_${"a".repeat(41)}`;

test("a key id that begins with a dash is an operand, not options", async () => {
  await withTempDir(async (dataDir) => {
    await makeRegister(dataDir);
    const words = ["keys", "compromise", dashed, "--since", "2026-01-01T00:00:00Z"];
    const unknown = await runTvs(words, { dataDir });
    expect({ code: unknown.code, stderr: unknown.stderr }).toEqual({
      code: 1,
      stderr: "tvs: no key has this kid; `tvs keys list` shows them\n",
    });
    await expectRefusal(runTvs(["keys", "compromise", dashed], { dataDir }), 2, "--since");
  });
});

test("a key id that begins with a dash is the value of the option before it", async () => {
  await withTempDir(async (dataDir) => {
    const words = ["verify", "-", "--key-history", "nowhere.jose", "--anchor", dashed];
    const pinned = await runTvs([...words, "--issuer", "https://a.example", "--audience", "b"], { dataDir });
    expect({ code: pinned.code, stderr: pinned.stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("nowhere.jose"),
    });
  });
});
