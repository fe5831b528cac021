import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runJson, runTvs } from "../../harness/command.ts";
import { attestSome, forgedNote, newestNote } from "../../harness/evidence-log.ts";
import { sharedFolder, withTempDir } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import {
  hasOpenssl,
  makeAuthority,
  openssl,
  serveAuthority,
  type TimeStampAuthority,
} from "../../harness/time-stamp-authority.ts";

const dataDir = sharedFolder();
beforeAll(() => attestSome(dataDir, 2));

const firstFile = "verify.example.gov-log-1-000000000002.checkpoint";

type Outcome = {
  id: number | null;
  kind: string;
  size: number;
  state: string;
  checked: number;
  file: string;
  timeStamp: { time: string; policy: string; serial: string } | null;
  check: string | null;
};

const anchor = (...words: string[]) => runTvs(["log", "anchor", ...words], { dataDir });

describe("tvs log anchor DIR", () => {
  test("writes the newest checkpoint as it is, once, and remembers that it did", () =>
    withTempDir(async (folder) => {
      const outcome = await runJson<Outcome>(["log", "anchor", folder], { dataDir });
      expect(outcome).toMatchObject({ kind: "folder", size: 2, state: "written", checked: 0 });
      expect(readdirSync(folder)).toEqual([firstFile]);
      expect(readFileSync(join(folder, firstFile), "utf8")).toBe(await newestNote(dataDir));
      expect(outcome).toMatchObject({ checkpointAt: expect.stringMatching(/^20\d\d-/) });
      const again = await runJson<Outcome>(["log", "anchor", folder], { dataDir });
      expect(again).toMatchObject({ id: null, state: "kept", checked: 1 });
      expect(readdirSync(folder)).toEqual([firstFile]);
      const [newest] = await runJson<Outcome[]>(["log", "anchor", "list"], { dataDir });
      expect(newest).toMatchObject({ id: outcome.id, kind: "folder", size: 2, place: folder });
    }));

  test.each([
    ["of other entries", () => forgedNote(dataDir, 1), "was signed for other entries"],
    [
      "of more entries than there are",
      () => forgedNote(dataDir, 9),
      "covers 9 entries, and this database has 2",
    ],
    [
      "that was changed",
      async () => (await newestNote(dataDir)).replace("\n2\n", "\n1\n"),
      "was not signed by this log's key, or was changed",
    ],
    ["that was cut short", async () => (await newestNote(dataDir)).slice(0, 60), "is damaged"],
  ])("is refused beside a checkpoint %s, which it names", async (_name, make, words) => {
    const note = await make();
    await withTempDir(async (folder) => {
      const file = join(folder, firstFile.replace("2.", "1."));
      writeFileSync(file, note);
      await expectRefusal(anchor(folder), 1, `${file} ${words}`);
      expect(readdirSync(folder)).toEqual([firstFile.replace("2.", "1.")]);
    });
  });

  test("passes over what is not of this log, and makes no folder", () =>
    withTempDir(async (folder) => {
      writeFileSync(join(folder, "other.example-log-1-000000000002.checkpoint"), "not ours");
      writeFileSync(join(folder, "notes.txt"), "not ours either");
      expect(await runJson<Outcome>(["log", "anchor", folder], { dataDir })).toMatchObject({ checked: 0 });
      await expectRefusal(anchor(join(folder, "absent")), 2, "there is no folder");
    }));
});

describe.skipIf(!hasOpenssl)("tvs log anchor URL", () => {
  let authority: TimeStampAuthority;
  const folder = sharedFolder();
  beforeAll(() => {
    authority = makeAuthority(folder);
    openssl(folder, "ts", "-query", "-data", "settings", "-sha256", "-cert", "-out", "old-query");
  });

  test("keeps the answer, and prints the line by which openssl judges it", async () => {
    const server = serveAuthority(authority);
    const words = ["log", "anchor", server.url, "--tsa-policy", "1.2.3.4.5"];
    const { id, timeStamp, check } = await runJson<Outcome>(words, { dataDir });
    expect(timeStamp).toEqual({ time: expect.any(String), policy: "1.2.3.4.5", serial: expect.any(String) });
    const file = "verify.example.gov-log-1-000000000002";
    expect(check).toBe(
      `tvs log anchor export ${id} . && openssl ts -verify -data ${file}.checkpoint -in ${file}-${id}.tsr -CAfile ROOT.pem`,
    );
    const out = join(folder, "case");
    mkdirSync(out);
    const files = await runJson<{ checkpoint: string; timeStamp: string; key: string; check: string }>(
      ["log", "anchor", "export", String(id), out],
      { dataDir },
    );
    expect(readFileSync(files.checkpoint, "utf8")).toBe(await newestNote(dataDir));
    expect(readFileSync(files.key, "utf8")).toBe((await runTvs(["log", "key"], { dataDir })).stdout);
    const [, ...verify] = files.check.replace("ROOT.pem", authority.rootFile).split(" ");
    openssl(folder, ...verify);
    openssl(out, ...(check?.replace("ROOT.pem", authority.rootFile).split(" ").slice(8) ?? []));
    // Nothing that lies there is replaced.
    expect(await anchor("export", String(id), out)).toMatchObject({ code: 1 });
    await server.stop();
  });

  test.each<[string, number, string, (query: Uint8Array) => Response | Promise<Response>, string[]?]>([
    [
      "answers another question",
      1,
      "something else than this checkpoint",
      () => new Response(new Uint8Array(authority.reply(readFileSync(join(folder, "old-query"))))),
    ],
    ["answers with a page", 2, "is not an answer of a time-stamp authority", () => new Response("<html>")],
    ["fails", 2, "answered HTTP 503", () => new Response("", { status: 503 })],
    ["sends elsewhere", 2, "sends elsewhere", () => Response.redirect("http://127.0.0.1:9/", 307)],
    ["talks too much", 2, "more than 1 MiB", () => new Response(new Uint8Array(1024 * 1024 + 1))],
    ["is silent", 2, "no whole answer within 1 s", () => new Promise(() => {}), ["--timeout", "1s"]],
  ])("is not content with an authority that %s", async (_name, code, words, answer, more = []) => {
    const server = serveAuthority(authority, answer);
    const { code: found, stderr } = await anchor(server.url, ...more);
    await server.stop();
    expect({ found, stderr }).toEqual({ found: code, stderr: expect.stringContaining(words) });
  });

  // At the end, whatever the tests' order: of all answers that were asked for, one was granted.
  afterAll(async () => {
    const kept = await runJson<Outcome[]>(["log", "anchor", "list"], { dataDir });
    expect(kept.filter(({ kind }) => kind === "rfc3161")).toHaveLength(1);
  });

  test("cannot decide where nobody listens", async () => {
    await expectRefusal(anchor("http://127.0.0.1:9/"), 2, "cannot be reached");
  });
});

test("there is nothing to hand out before the first attestation, or without a register", () =>
  withTempDir(async (folder) => {
    const empty = join(folder, "empty");
    await attestSome(empty, 0);
    // A timer that was set up before the first call does not fail.
    expect(await runTvs(["log", "anchor", folder], { dataDir: empty })).toMatchObject({
      code: 0,
      stdout: "nothing to hand out yet: the evidence log has no entry\n",
    });
    expect(await runTvs(["log", "anchor", folder, "--json"], { dataDir: empty })).toMatchObject({
      code: 0,
      stdout: "null\n",
    });
    expect(await runTvs(["log", "anchor", folder], { dataDir: join(folder, "none") })).toMatchObject({
      code: 2,
    });
  }));
