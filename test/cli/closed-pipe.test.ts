import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { audience, folder, issuer } from "../fixtures/envelope-tokens.ts";
import { withTempDir } from "../harness/folder.ts";
import { programWords } from "../harness/program.ts";
import { makeRegister } from "../harness/service.ts";

/** Runs a command whose reader has gone before it writes. @returns its exit code */
async function codeUnread(args: readonly string[]): Promise<number> {
  const [program = "", ...words] = [...programWords, ...args];
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "ignore"] });
  child.stdout.destroy();
  const [code] = await once(child, "exit");
  return code;
}

test("a command whose output nobody reads to its end never says 0 for an envelope that it has refused or did not judge", async () => {
  const forged = join(folder, "inputs", "payload-changed.json");
  const keys = ["--jwks", join(folder, "keys", "jwks.json"), "--issuer", issuer, "--audience", audience];
  expect(await codeUnread(["verify", forged, ...keys])).toBe(2);
  expect(await codeUnread(["verify", "--json", join(folder, "inputs"), ...keys])).toBe(2);
});

test("a command whose output nobody reads to its end keeps its own exit code, and ends", () =>
  withTempDir(async (dataDir) => {
    await makeRegister(dataDir);
    const data = ["--data", dataDir];
    const envelope = join(folder, "inputs", "valid.json");
    expect(await codeUnread(["attestations", "check", envelope, ...data])).toBe(1);
    expect(await codeUnread(["partners", "list", ...data])).toBe(0);
  }));
