import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  appendTo,
  consistencyProof,
  leafHash,
  type ReadTiles,
  rootOf,
} from "../../../src/domain/evidence/tree.ts";
import { signCheckpoint } from "../../../src/partner/log-checkpoint.ts";
import { formatVerifierKey } from "../../../src/partner/signed-note.ts";
import { aCheckpointKey } from "../../harness/checkpoint-key.ts";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";

const origin = "log.example/log";

const key = aCheckpointKey();

/** Makes a tree of `size` leaves. All trees share their first `common` leaves. */
async function makeTree(size: number, common = size) {
  const leaves = Array.from({ length: size }, (_, at) => leafHash(at < common ? `${at}` : `other ${at}`));
  const tiles = new Map<string, Uint8Array>();
  const read: ReadTiles = async (addresses) =>
    addresses.map(({ level, position }) => tiles.get(`${level}/${position}`) ?? new Uint8Array());
  for (const { level, position, hashes } of await appendTo(0, leaves, read))
    tiles.set(`${level}/${position}`, hashes);
  return { size, read };
}

type Tree = ReturnType<typeof makeTree>;
type Signing = { by?: ReturnType<typeof aCheckpointKey>; as?: string; seconds?: number };

async function noteOf(tree: Tree, { by = key, as = origin, seconds }: Signing = {}): Promise<string> {
  const { size, read } = await tree;
  const root = new Uint8Array(await rootOf(size, read));
  return signCheckpoint({ origin: as, size, root }, seconds ?? Math.floor(Date.now() / 1000), by);
}

/** What the log shows at the moment, and what it has; a test changes it. */
let shown: { note: string; tree: Tree; consistency?: Response } = { note: "", tree: makeTree(1) };

const encode = (hashes: readonly Uint8Array[]) => hashes.map((hash) => Buffer.from(hash).toString("base64"));

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/tvs/v1/inter-agency/log/checkpoint") return new Response(shown.note);
    if (pathname !== "/tvs/v1/inter-agency/log/consistency") return new Response("", { status: 404 });
    if (shown.consistency !== undefined) return shown.consistency;
    const [from, to] = [Number(searchParams.get("from")), Number(searchParams.get("to"))];
    const { size, read } = await shown.tree;
    if (to > size) return new Response("", { status: 404 });
    return Response.json({ from, to, hashes: encode(await consistencyProof(from, to, read)) });
  },
});
afterAll(() => server.stop(true));

async function show(tree: Tree, signing?: Signing): Promise<void> {
  shown = { note: await noteOf(tree, signing), tree };
}

/** Shows the newest checkpoint of one tree, while the log has grown into another. */
async function showEarlier(tree: Tree, grown: Tree): Promise<void> {
  shown = { note: await noteOf(tree), tree: grown };
}

const vkey = await formatVerifierKey(origin, key.publicKey);

async function look(folder: string, ...more: string[]) {
  const state = join(folder, "seen.json");
  const options = ["--log-key", vkey, "--log-state", state, "--json"];
  const words = ["log", "check", ...options, `${server.url}tvs/`, ...more];
  const { code, stdout, stderr } = await runTvs(words);
  return { code, said: JSON.parse(stdout), stderr, state };
}

describe("tvs log check", () => {
  test("remembers the first checkpoint, and each that is proven to go on from it", () =>
    withTempDir(async (folder) => {
      await show(makeTree(3));
      expect(await look(folder)).toMatchObject({
        code: 0,
        said: { verdict: "first", size: 3, checkpointAt: expect.stringMatching(/^20\d\d-/) },
      });
      expect(await look(folder)).toMatchObject({ code: 0, said: { verdict: "same" } });
      await show(makeTree(300));
      expect(await look(folder)).toMatchObject({ code: 0, said: { verdict: "grown", seenSize: 3 } });
      const { code, said, state } = await look(folder);
      expect({ code, said }).toMatchObject({ code: 0, said: { verdict: "same", size: 300 } });
      expect(JSON.parse(readFileSync(state, "utf8")).checkpoints).toEqual([shown.note]);
      expect(readdirSync(folder)).toEqual(["seen.json"]);
    }));

  test.each([
    ["another tree of the same size", () => makeTree(5, 4), "forked"],
    ["a larger tree that does not go on from before", () => makeTree(9, 4), "forked"],
    ["a smaller tree, though the log knows no larger one", () => makeTree(4), "shrunk"],
  ])("exits 1 for %s, and prints both checkpoints as evidence", (_name, make, verdict) =>
    withTempDir(async (folder) => {
      await show(makeTree(5));
      await look(folder);
      const before = shown.note;
      await show(make());
      const { code, said, state } = await look(folder);
      expect({ code, verdict: said.verdict }).toEqual({ code: 1, verdict });
      expect([said.seenCheckpoint, said.checkpoint]).toEqual([before, shown.note]);
      // What was seen stays, so the next look says the same.
      expect(JSON.parse(readFileSync(state, "utf8")).checkpoints).toEqual([before]);
      expect(await look(folder)).toMatchObject({ code: 1, said: { verdict } });
    }),
  );

  test("takes an earlier checkpoint for the same log when the log has grown from there into what was seen", () =>
    withTempDir(async (folder) => {
      await show(makeTree(7));
      const { state } = await look(folder);
      const before = readFileSync(state, "utf8");
      await showEarlier(makeTree(5), makeTree(9));
      expect(await look(folder)).toMatchObject({ code: 0, said: { verdict: "same", size: 5, seenSize: 7 } });
      expect(readFileSync(state, "utf8")).toBe(before);
      await showEarlier(makeTree(5, 4), makeTree(9));
      expect(await look(folder)).toMatchObject({ code: 1, said: { verdict: "forked" } });
    }));

  test("says whether a new log, whatever its number, has everything that was seen of the one before", () =>
    withTempDir(async (folder) => {
      await show(makeTree(5));
      await look(folder);
      const next = aCheckpointKey();
      const signing = { by: next, as: `${origin}/3` };
      const more = ["--log-key", await formatVerifierKey(signing.as, next.publicKey)];
      await show(makeTree(6), signing);
      expect(await look(folder, ...more)).toMatchObject({ code: 0, said: { verdict: "grown", seenSize: 5 } });
    }));

  test.each([
    ["has fewer entries", () => makeTree(4)],
    ["has other entries", () => makeTree(7, 4)],
  ])("exits 2 once for a new log that %s, and watches it from then on", (_name, make) =>
    withTempDir(async (folder) => {
      await show(makeTree(5));
      await look(folder);
      const seen = shown.note;
      const next = aCheckpointKey();
      const signing = { by: next, as: `${origin}/2` };
      const more = ["--log-key", await formatVerifierKey(signing.as, next.publicKey)];
      await show(make(), signing);
      const lost = { verdict: "lost", seenSize: 5, seenCheckpoint: seen };
      expect(await look(folder, ...more)).toMatchObject({ code: 2, said: lost });
      expect(await look(folder, ...more)).toMatchObject({ code: 0, said: { verdict: "same" } });
    }),
  );

  test("exits 2 for a new log until its key is given, and 1 when the one before is shown again", () =>
    withTempDir(async (folder) => {
      await show(makeTree(5));
      await look(folder);
      const next = aCheckpointKey();
      await show(makeTree(5), { by: next, as: `${origin}/2` });
      const { code, stderr } = await look(folder);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringContaining(`a new log, ${origin}/2, whose key was not given`),
      });
      const more = ["--log-key", await formatVerifierKey(`${origin}/2`, next.publicKey)];
      expect(await look(folder, ...more)).toMatchObject({ code: 0, said: { verdict: "grown" } });
      await show(makeTree(6));
      expect(await look(folder, ...more)).toMatchObject({ code: 1, said: { verdict: "shrunk" } });
    }));

  test.each<[string, () => Promise<void>, string]>([
    ["of another log", () => show(makeTree(2), { as: "else.example/log" }), "a log that no --log-key is of"],
    ["by another key", () => show(makeTree(2), { by: aCheckpointKey() }), "was not signed by the key"],
    [
      "of tomorrow",
      () => show(makeTree(2), { seconds: Math.floor(Date.now() / 1000) + 86_400 }),
      "is from the future",
    ],
    [
      "with a line that would fill the state file",
      async () => {
        await show(makeTree(2));
        shown.note += `— ${'"'.repeat(500_000)} ${Buffer.alloc(12).toString("base64")}\n`;
      },
      "is longer than any log writes",
    ],
    [
      "with a proof that is none",
      async () => {
        await show(makeTree(8));
        shown.consistency = new Response("{}");
      },
      "as a proof of consistency is none",
    ],
  ])("cannot decide over a checkpoint %s, and remembers nothing of it", (_name, change, words) =>
    withTempDir(async (folder) => {
      await show(makeTree(1));
      const { state } = await look(folder);
      const before = readFileSync(state, "utf8");
      await change();
      const { code, stderr } = await look(folder);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(words) });
      expect(readFileSync(state, "utf8")).toBe(before);
    }),
  );

  test("refuses a state file and a key that are none, and a service that does not answer", () =>
    withTempDir(async (folder) => {
      await show(makeTree(1));
      writeFileSync(join(folder, "seen.json"), '{"checkpoints":[]}');
      expect((await look(folder)).stderr).toContain("is not a state file of a log's checkpoints");
      const state = join(folder, "new.json");
      const at = (keyText: string, url: string) =>
        runTvs(["log", "check", "--log-key", keyText, "--log-state", state, url]);
      expect(await at(vkey.slice(0, -2), `${server.url}tvs`)).toMatchObject({ code: 2 });
      expect(await at(join(folder, "seen.json"), `${server.url}tvs`)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("is none: Line 1 is not"),
      });
      expect(await at(vkey, "http://127.0.0.1:9/")).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("cannot be reached"),
      });
      expect(existsSync(state)).toBe(false);
    }));
});
