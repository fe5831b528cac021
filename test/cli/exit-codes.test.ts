import { expect, setDefaultTimeout, test } from "bun:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { audience, folder as fixtures, issuer } from "../fixtures/envelope-tokens.ts";
import { runTvs } from "../harness/command.ts";
import { withTempDir } from "../harness/folder.ts";
import { programWords, testTimeoutMs } from "../harness/program.ts";
import { expectRefusal } from "../harness/refusal.ts";
import { makeRegister } from "../harness/service.ts";

setDefaultTimeout(testTimeoutMs);

/** Runs a command whose output nobody reads. @returns its exit code */
async function codeUnread(...args: readonly string[]): Promise<number> {
  const [program = "", ...words] = [...programWords, ...args];
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "ignore"] });
  child.stdout.destroy();
  return (await once(child, "exit"))[0];
}

const input = (name: string) => join(fixtures, "inputs", name);
const keys = ["--jwks", join(fixtures, "keys", "jwks.json"), "--issuer", issuer, "--audience", audience];

test("tvs verify never exits with 0 for an input without a valid envelope, even if nobody reads its output", async () => {
  expect(await codeUnread("verify", input("payload-changed.json"), ...keys)).toBe(2);
  expect(await codeUnread("verify", "--json", input(""), ...keys)).toBe(2);
});

test("tvs verify exits with 2 and one line if a setting is missing", async () => {
  const refused = runTvs(["verify", input("valid.json"), ...keys.slice(0, 2)]);
  await expectRefusal(refused, 2, /^tvs verify: the issuer is not known/);
});

test("a command whose output nobody reads exits with the same code as a command whose output is read", () =>
  withTempDir(async (dataDir) => {
    await makeRegister(dataDir);
    expect(await codeUnread("attestations", "check", input("valid.json"), "--data", dataDir)).toBe(1);
    expect(await codeUnread("partners", "list", "--data", dataDir)).toBe(0);
  }));

// On Bun a write to a pipe may be reported as done before the reader has everything.
test("a slow reader gets all of a long JSON output", () =>
  withTempDir(async (folder) => {
    const [file, noKeys] = [join(folder, "envelopes.json"), join(folder, "no-keys.json")];
    const count = 450;
    await Bun.write(file, JSON.stringify(Array.from({ length: count }, () => ({ signature: "a.b.c" }))));
    await Bun.write(noKeys, '{"keys":[]}');
    const words = [...programWords, "verify", file, "--jwks", noKeys, ...keys.slice(2), "--json"];
    const piped = Bun.spawn(["sh", "-c", '"$@" | cat', "sh", ...words], { stdout: "pipe" });
    const text = await new Response(piped.stdout).text();
    const lines = text.trimEnd().split("\n");
    expect(lines).toHaveLength(count);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ valid: false });
    expect(text.length).toBeGreaterThan(256 * 1024);
  }));

test("a command looks up a key id that begins with a dash like any other key id", () =>
  withTempDir(async (dataDir) => {
    await makeRegister(dataDir);
    const words = ["keys", "compromise", `-_${"a".repeat(41)}`, "--data", dataDir];
    await expectRefusal(runTvs([...words, "--since", "2026-01-01T00:00:00Z"]), 1, "no key has this kid");
    await expectRefusal(runTvs(words), 2, "--since");
  }));
