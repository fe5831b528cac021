import { expect, test } from "bun:test";
import { copyFile, mkdir, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { LogCases } from "../../fixtures/log-cases.ts";
import { logFolder } from "../../fixtures/log-notes.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { runVerifyCommand } from "./verify-run.ts";

const at = (path: string) => join(logFolder, path);
const index: LogCases = JSON.parse(await readFile(at("cases.json"), "utf8"));
const { issuer, audience } = index;
const settings = ["--jwks", at(index.jwks), "--key-history", at(index.keyHistory)];
settings.push("--issuer", issuer, "--audience", audience, "--now", index.now);

const current = at("envelopes/current.json");
const logKey = at("keys/log.vkey");
const cutKey = index.keys[0]?.key.slice(0, -4) ?? "";
const proofOf = (name: string) => ["--proof", at(`proofs/${name}.tlog-proof`)];
const withProof = (name: string) => [...settings, ...proofOf(name), "--log-key", logKey];

const temp = sharedFolder();

async function copyOf(path: string, name: string): Promise<string> {
  await copyFile(at(path), join(temp, name));
  return join(temp, name);
}

test("tvs verify --proof compares each of several envelopes with the proof", async () => {
  const files = [at("envelopes/another.json"), current, at("envelopes/current.jws")];
  const { code, objects } = await runVerifyCommand([...withProof("current"), "--json", ...files]);
  expect(code).toBe(1);
  expect(objects.map(({ reason }) => reason)).toEqual(["PROOF_OF_ANOTHER_ENVELOPE", null, null]);
});

test("tvs verify of a folder does not read its proof, log key and state file as envelopes", async () => {
  const folder = join(temp, "folder");
  await mkdir(folder);
  for (const path of ["envelopes/current.json", "proofs/current.tlog-proof", "keys/log.vkey"])
    await copyFile(at(path), join(folder, path.split("/")[1] ?? ""));
  const named = (name: string) => join(folder, name);
  const args = ["--proof", named("current.tlog-proof"), "--log-key", named("log.vkey")];
  args.push("--log-state", named("state.json"));
  const { code, objects } = await runVerifyCommand([...settings, ...args, "--json", folder]);
  expect([code, objects.map(({ file }) => file)]).toEqual([0, [named("current.json")]]);
});

const larger = "current-clock-ahead";

test("tvs verify --log-state creates the state file, and replaces its checkpoint only by a larger one", async () => {
  const state = join(temp, "state.json");
  const checked = async (name: string) => {
    const { code } = await runVerifyCommand([...withProof(name), "--log-state", state, current]);
    const { checkpoints } = JSON.parse(await readFile(state, "utf8")) as { checkpoints: string[] };
    return [code, ...checkpoints.map((note) => note.split("\n", 2).join(" "))];
  };
  expect(await checked("current")).toEqual([0, "teachers.example/log 12"]);
  expect(await checked(larger)).toEqual([0, "teachers.example/log 13"]);
  const before = await stat(state);
  expect(await checked("current")).toEqual([0, "teachers.example/log 13"]);
  expect((await stat(state)).ino).toBe(before.ino);
});

test("the state file keeps the larger of two checkpoints that are stored at the same time, and no other file is left", async () => {
  const folder = join(temp, "at-once");
  await mkdir(folder);
  const state = join(folder, "state.json");
  const check = (name: string) => runVerifyCommand([...withProof(name), "--log-state", state, current]);
  for (let round = 0; round < 5; round++) {
    const codes = await Promise.all([larger, "current", larger, "current"].map(check));
    expect(codes.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(await readFile(state, "utf8")).toContain("teachers.example/log\\n13\\n");
    expect(await readdir(folder)).toEqual(["state.json"]);
    await rm(state);
  }
});

test("tvs verify does not store a refused checkpoint in the state file", async () => {
  const state = join(temp, "never.json");
  for (const name of ["unsigned-size", "of-tomorrow", "of-another-log"]) {
    expect((await runVerifyCommand([...withProof(name), "--log-state", state, current])).code).toBe(1);
  }
  expect(await stat(state).catch(() => null)).toBeNull();
  const forked = await copyOf("states/forked.json", "forked.json");
  expect((await runVerifyCommand([...withProof("current"), "--log-state", forked, current])).code).toBe(1);
  expect(await readFile(forked, "utf8")).toBe(await readFile(at("states/forked.json"), "utf8"));
});

test("tvs verify with an unreadable or unwritable state file ends before any verdict", async () => {
  const link = join(temp, "link.json");
  await symlink(at("states/empty.json"), link);
  const states = ["not-json", "another-format", "no-list", "no-checkpoint", "two-of-one-log"];
  const paths = states.map((name) => at(`states/unreadable-${name}.json`));
  for (const state of [...paths, temp, link, join(temp, "no folder", "state.json")]) {
    const refused = runVerifyCommand([...withProof("current"), "--log-state", state, current]);
    await expectRefusal(refused, 2, state);
  }
});

test("tvs verify reads the log's settings from the environment too, and accepts several --log-key options", async () => {
  const text = (await readFile(logKey, "utf8")).trim();
  const state = join(temp, "environment-state.json");
  const env = { TVS_VERIFY_LOG_KEY: logKey, TVS_VERIFY_LOG_STATE: state };
  const words = [...settings, ...proofOf("current"), current];
  expect((await runVerifyCommand(words, { env })).code).toBe(0);
  expect((await stat(state)).isFile()).toBe(true);
  const keys = ["--log-key", at("keys/other.vkey"), "--log-key", text];
  expect((await runVerifyCommand([...keys, ...words], { env: {} })).code).toBe(0);
});

test.each([
  ["a proof without the log's key", [...proofOf("current")], "--log-key KEY"],
  ["a log key without a proof", ["--log-key", logKey], "--proof FILE"],
  ["an empty proof option", ["--proof", "", "--log-key", logKey], "--proof is empty"],
  ["a proof file that does not exist", ["--proof", "no-such", "--log-key", logKey], "no-such cannot be read"],
  ["a key that was cut short", [...proofOf("current"), "--log-key", cutKey], "cut short or changed"],
  [
    "an envelope in place of a key",
    [...proofOf("current"), "--log-key", current],
    "is neither: Line 1 is not",
  ],
])("tvs verify is refused in one line with invalid log settings: %s", async (_name, args, advice) => {
  await expectRefusal(runVerifyCommand([...settings, ...args, current]), 2, advice);
});
