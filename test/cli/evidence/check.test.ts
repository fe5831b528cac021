import { afterAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import {
  appendToTree,
  computeRoot,
  leafHashOf,
  makeConsistencyProof,
  type TileReader,
} from "../../../src/domain/evidence/tree.ts";
import { signCheckpoint } from "../../../src/partner/log-checkpoint.ts";
import { formatVerifierKey } from "../../../src/partner/signed-note.ts";
import { aCheckpointKey } from "../../harness/checkpoint-key.ts";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";

const origin = "log.example/log";

const key = aCheckpointKey();

/** Makes a tree of `size` leaves. All trees share their first `common` leaves. */
async function makeTree(size: number, common = size) {
  const leaves = Array.from({ length: size }, (_, at) => leafHashOf(at < common ? `${at}` : `other ${at}`));
  const tiles = new Map<string, Uint8Array>();
  const read: TileReader = async (addresses) =>
    addresses.map(({ level, position }) => tiles.get(`${level}/${position}`) ?? new Uint8Array());
  for (const { level, position, hashes } of await appendToTree(0, leaves, read))
    tiles.set(`${level}/${position}`, hashes);
  return { size, read };
}

type Tree = ReturnType<typeof makeTree>;
type Signing = { by?: typeof key; as?: string; seconds?: number };

async function noteOf(tree: Tree, { by = key, as = origin, seconds }: Signing = {}): Promise<string> {
  const { size, read } = await tree;
  const root = new Uint8Array(await computeRoot(size, read));
  return signCheckpoint({ origin: as, size, root }, Math.floor(seconds ?? Date.now() / 1000), by);
}

/** The checkpoint that the served log shows, and the tree behind its proofs. Tests change both. */
let shown: { note: string; tree: Tree; checkpoint?: Response; consistency?: Response } = {
  note: "",
  tree: makeTree(1),
};

const encode = (hashes: readonly Uint8Array[]) => hashes.map((hash) => Buffer.from(hash).toString("base64"));

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (request.headers.get("Accept-Encoding") !== "identity") return new Response("", { status: 406 });
    if (pathname === "/tvs/v1/inter-agency/log/checkpoint")
      return shown.checkpoint ?? new Response(shown.note);
    if (pathname !== "/tvs/v1/inter-agency/log/consistency") return new Response("", { status: 404 });
    if (shown.consistency !== undefined) return shown.consistency;
    const [from, to] = [Number(searchParams.get("from")), Number(searchParams.get("to"))];
    const { size, read } = await shown.tree;
    if (to > size) return new Response("", { status: 404 });
    return Response.json({ from, to, hashes: encode(await makeConsistencyProof(from, to, read)) });
  },
});
afterAll(() => server.stop(true));

/** Makes the log show a signed checkpoint of a tree. @param grown the tree of the proofs @returns no option */
async function show(tree: Tree, signing?: Signing, grown = tree): Promise<string[]> {
  shown = { note: await noteOf(tree, signing), tree: grown };
  return [];
}

/** Makes the log show a tree as a later log with a new key. @returns the option with the key */
async function showNext(tree: Tree, number: number): Promise<string[]> {
  const next = aCheckpointKey();
  await show(tree, { by: next, as: `${origin}/${number}` });
  return ["--log-key", await formatVerifierKey(`${origin}/${number}`, next.publicKey)];
}

const vkey = await formatVerifierKey(origin, key.publicKey);

async function look(folder: string, ...more: string[]) {
  const state = join(folder, "seen.json");
  const options = ["--log-key", vkey, "--log-state", state, "--json"];
  const words = ["log", "check", ...options, `${server.url}tvs/`, ...more];
  const { code, stdout, stderr } = await runTvs(words);
  return { code, said: JSON.parse(stdout), stderr, state };
}

test("tvs log check stores the first checkpoint, and each later checkpoint that is proven to extend the stored one", () =>
  withTempDir(async (folder) => {
    await show(makeTree(3));
    const first = { verdict: "first", size: 3, checkpointAt: expect.stringMatching(/^20\d\d-/) };
    expect(await look(folder)).toMatchObject({ code: 0, said: first });
    expect(await look(folder)).toMatchObject({ code: 0, said: { verdict: "same" } });
    await show(makeTree(300));
    expect(await look(folder)).toMatchObject({ code: 0, said: { verdict: "grown", seenSize: 3 } });
    const { state, ...last } = await look(folder);
    expect(last).toMatchObject({ code: 0, said: { verdict: "same", size: 300 } });
    expect(JSON.parse(readFileSync(state, "utf8")).checkpoints).toEqual([shown.note]);
    expect(readdirSync(folder)).toEqual(["seen.json"]);
  }));

const grown = makeTree(9);
test.each<[tree: string, change: () => Promise<string[]>, verdict: string, code: number]>([
  ["another tree of the same size", () => show(makeTree(5, 4)), "forked", 1],
  ["a larger tree that does not extend the stored one", () => show(makeTree(9, 4)), "forked", 1],
  ["a smaller tree if the log cannot prove a larger one", () => show(makeTree(4)), "shrunk", 1],
  ["an earlier tree that grew into the stored one", () => show(makeTree(4), {}, grown), "same", 0],
  ["an earlier tree that did not", () => show(makeTree(4, 3), {}, grown), "forked", 1],
  ["a new log of any number with all stored entries", () => showNext(makeTree(6), 3), "grown", 0],
  ["a new log with fewer entries", () => showNext(makeTree(4), 2), "lost", 2],
  ["a new log with different entries", () => showNext(makeTree(7, 4), 2), "lost", 2],
])("tvs log check gives the right verdict on %s, and at the next check", (_tree, change, verdict, code) =>
  withTempDir(async (folder) => {
    await show(makeTree(5));
    await look(folder);
    const before = shown.note;
    const more = await change();
    const { state, ...first } = await look(folder, ...more);
    // Both checkpoints are printed, because two that contradict each other are evidence.
    const said = { verdict, seenSize: 5, seenCheckpoint: before, checkpoint: shown.note };
    expect(first).toMatchObject({ code, said });
    const stored = more.length > 0 ? [before, shown.note] : [before];
    expect(JSON.parse(readFileSync(state, "utf8")).checkpoints).toEqual(stored);
    const next = code === 1 ? { code, said: { verdict } } : { code: 0, said: { verdict: "same" } };
    expect(await look(folder, ...more)).toMatchObject(next);
  }),
);

test("tvs log check exits with 2 until the new log's key is given, and with 1 if the old log is shown again", () =>
  withTempDir(async (folder) => {
    await show(makeTree(5));
    await look(folder);
    const more = await showNext(makeTree(5), 2);
    const stderr = expect.stringContaining(`a new log, ${origin}/2, whose key was not given`);
    expect(await look(folder)).toMatchObject({ code: 2, stderr });
    expect(await look(folder, ...more)).toMatchObject({ code: 0, said: { verdict: "grown" } });
    await show(makeTree(6));
    expect(await look(folder, ...more)).toMatchObject({ code: 1, said: { verdict: "shrunk" } });
  }));

test.each<[string, () => Promise<unknown>, string]>([
  ["of another log", () => show(makeTree(2), { as: "else.example/log" }), "a log that no --log-key is of"],
  ["by another key", () => show(makeTree(2), { by: aCheckpointKey() }), "was not signed by the key"],
  ["of tomorrow", () => show(makeTree(2), { seconds: Date.now() / 1000 + 86_400 }), "is from the future"],
  [
    "with a line that would fill the state file",
    async () => {
      await show(makeTree(2));
      shown.note += `— ${'"'.repeat(500_000)} ${Buffer.alloc(12).toString("base64")}\n`;
    },
    "is longer than any log writes",
  ],
  [
    "in a compressed response, which may expand to any size",
    async () => {
      const headers = { "Content-Encoding": "gzip" };
      shown.checkpoint = new Response(gzipSync(shown.note), { headers });
    },
    "packed its answer unasked, which is not read",
  ],
  [
    "with an unreadable proof",
    async () => {
      await show(makeTree(8));
      shown.consistency = new Response("{}");
    },
    "something else as a proof of consistency",
  ],
])("tvs log check exits with 2 for a checkpoint %s, and does not store it", (_name, change, words) =>
  withTempDir(async (folder) => {
    await show(makeTree(1));
    const { state } = await look(folder);
    const before = readFileSync(state, "utf8");
    await change();
    expect(await look(folder)).toMatchObject({ code: 2, stderr: expect.stringContaining(words) });
    expect(readFileSync(state, "utf8")).toBe(before);
  }),
);

test("tvs log check exits with 2 for an unreadable state file or key, or if the service does not answer", () =>
  withTempDir(async (folder) => {
    await show(makeTree(1));
    writeFileSync(join(folder, "seen.json"), '{"checkpoints":[]}');
    expect((await look(folder)).stderr).toContain("is not a state file of a log's checkpoints");
    const state = join(folder, "new.json");
    const at = (keyText: string, url: string) =>
      runTvs(["log", "check", "--log-key", keyText, "--log-state", state, url]);
    expect(await at(vkey.slice(0, -2), `${server.url}tvs`)).toMatchObject({ code: 2 });
    const noKey = at(join(folder, "seen.json"), `${server.url}tvs`);
    await expectRefusal(noKey, 2, "is neither: Line 1 is not");
    await expectRefusal(at(vkey, "http://127.0.0.1:9/"), 2, "cannot be reached");
    expect(existsSync(state)).toBe(false);
  }));
