import { expect, test } from "bun:test";
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { maxDocumentBytes } from "../../../cli/verify/files.ts";
import { refusalReasons } from "../../../src/partner/reasons.ts";
import { statement } from "../../api/openapi/examples.ts";
import { audience, folder, issuer, keys } from "../../fixtures/envelope-tokens.ts";
import { envelopes, offlinePack, pack, statusList } from "../../fixtures/status-lists.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import {
  inputPath,
  jwksFile,
  keyHistoryFile,
  readInput,
  runVerifyCommand,
  trustOptions,
} from "./verify-run.ts";

const temp = sharedFolder();

async function save(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(temp, name);
  await Bun.write(path, content);
  return path;
}

const file = inputPath("valid.json");
const signer = ["--issuer", issuer, "--audience", audience];

test.each([
  [["valid.json"], 0],
  [["valid.json", "outer-result.json"], 1],
  [["kid-unknown.json"], 2],
  [["kid-unknown.json", "outer-result.json"], 1],
  [["empty-array.json"], 2],
  [["valid.json", "no such file"], 2],
  [["batch-count.json"], 1],
])("tvs verify of the files %p exits with %p", async (names, code) => {
  expect((await runVerifyCommand([...trustOptions, ...names.map(inputPath)])).code).toBe(code);
});

test("tvs verify --json prints the line and the array index of each envelope", async () => {
  const text = await readInput("valid-batch.json");
  const path = await save("mixed.ndjson", `${JSON.stringify(JSON.parse(text))}\n\nno.such.jws\n`);
  const { objects } = await runVerifyCommand([...trustOptions, "--json", path]);
  expect(objects.map(({ line, index, reason }) => [line, index, reason])).toEqual([
    [1, 0, null],
    [1, 1, null],
    [3, undefined, "BASE64URL_NOT_CANONICAL"],
  ]);
});

test("tvs verify prints the verdicts on all envelopes that it read before its input stream broke off", async () => {
  const text = JSON.stringify(JSON.parse(await readInput("valid.json")));
  async function* breaking(): AsyncGenerator<Uint8Array> {
    // Above the limit for a whole document, each line is verified as it arrives.
    yield Buffer.from(`${text}\n`.repeat(5000));
    throw Object.assign(new Error("gone"), { code: "EIO" });
  }
  const { code, objects } = await runVerifyCommand([...trustOptions, "--json", "-"], { stream: breaking() });
  expect(code).toBe(2);
  expect(objects).toHaveLength(5001);
  expect(objects.at(-1)?.reason).toBe("FILE_UNREADABLE");
  expect(objects.filter(({ valid }) => valid === true)).toHaveLength(5000);
});

test("tvs verify reads a large NDJSON input line by line, across chunk borders", async () => {
  const good = JSON.stringify(JSON.parse(await readInput("valid.json")));
  const bad = JSON.stringify(JSON.parse(await readInput("outer-result.json")));
  const path = await save("large.ndjson", `${`${good}\n`.repeat(5999)}${bad}\n\n${good}`);
  expect((await stat(path)).size).toBeGreaterThan(8 * 1024 * 1024);
  const { code, objects } = await runVerifyCommand([...trustOptions, "--json", path]);
  expect(code).toBe(1);
  expect(objects).toHaveLength(6001);
  expect(objects.filter(({ valid }) => valid === false).map(({ line }) => line)).toEqual([6000]);
  expect(objects.at(-1)?.line).toBe(6002);
});

test("tvs verify of a JSON document above 32 MiB exits with 2 (INPUT_TOO_LARGE)", async () => {
  const chunk = Buffer.alloc(1024 * 1024, " ");
  async function* endless(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("[\n");
    for (let size = 0; size <= maxDocumentBytes; size += chunk.length) yield chunk;
  }
  const { code, objects } = await runVerifyCommand([...trustOptions, "--json", "-"], { stream: endless() });
  expect([code, objects.map(({ reason }) => reason)]).toEqual([2, ["INPUT_TOO_LARGE"]]);
});

test("tvs verify of a folder verifies the files in order, skips key files, and reports a folder inside the folder", async () => {
  const folder = join(temp, "folder");
  await mkdir(join(folder, "older"), { recursive: true });
  await save("folder/b.json", await readInput("valid.json"));
  await save("folder/a.jws", await readInput("valid-bare.jws"));
  const set = await save("folder/jwks.json", await readFile(jwksFile));
  const { code, objects } = await runVerifyCommand(["--jwks", set, ...signer, "--json", folder]);
  expect(code).toBe(2);
  expect(objects.map(({ file, reason }) => [file, reason])).toEqual([
    [join(folder, "a.jws"), null],
    [join(folder, "b.json"), null],
    [join(folder, "older"), "FOLDER_NESTED"],
  ]);
});

test("tvs verify prints the signed values, every check and the reason", async () => {
  const { stdout } = await runVerifyCommand([...trustOptions, inputPath("outer-result.json")]);
  expect(stdout).toContain("OUTER_RESULT_DIFFERS: The unsigned result differs from the signed one.");
  expect(stdout).toContain("Ngozi Adé-Bello");
  expect(stdout).not.toContain("Somebody Else");
  expect(stdout).toContain("  FAILED   outer ");
  expect(stdout).toEndWith("0 valid, 1 refused, 0 undecidable\n");
});

test("tvs verify escapes control characters of a file name and a key id", async () => {
  const header = Buffer.from('{"alg":"RS256","kid":"\\u001b[2Jgone\\u202e"}').toString("base64url");
  const path = await save("evil\u001b]0;x\u0007.jws", `${header}.e30.AA`);
  for (const flags of [[], ["--json"]]) {
    const { stdout } = await runVerifyCommand([...trustOptions, ...flags, path]);
    expect(stdout).toContain("\\u001b[2Jgone\\u202e");
    expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
});

test("tvs verify describes an error response or a web page in one line, with the verdict undecidable", async () => {
  const { code, stdout } = await runVerifyCommand([...trustOptions, inputPath("error-answer.json")]);
  expect(code).toBe(2);
  expect(stdout).toContain(
    "NOT_AN_ENVELOPE: This is an error answer (401: there was no valid credential), not an envelope.",
  );
  expect(stdout).not.toContain("a valid API key is needed");
  expect(stdout).not.toContain("Not reached");
  const page = await runVerifyCommand([...trustOptions, "--json", inputPath("web-page.html")]);
  expect([page.code, page.objects.map(({ reason }) => reason)]).toEqual([2, ["NOT_AN_ENVELOPE"]]);
});

test("tvs verify reads its settings from the environment", async () => {
  const full = { TVS_VERIFY_JWKS: jwksFile, TVS_VERIFY_ISSUER: issuer, TVS_VERIFY_AUDIENCE: audience };
  expect((await runVerifyCommand([file], { env: full })).code).toBe(0);
  const history = { ...full, TVS_VERIFY_JWKS: "", TVS_VERIFY_KEY_HISTORY: keyHistoryFile };
  expect((await runVerifyCommand([file], { env: history })).code).toBe(0);
});

test("tvs verify --now verifies as of the given time", async () => {
  const early = await runVerifyCommand([...trustOptions, "--json", "--now", "2026-03-01T09:28:59Z", file]);
  expect([early.code, early.objects[0]?.reason]).toEqual([1, "ISSUED_IN_FUTURE"]);
  expect((await runVerifyCommand([...trustOptions, "--now", "2046-03-01T00:00:00Z", file])).code).toBe(0);
});

test("tvs verify shows how many people a statement covers, and each row of the statement", async () => {
  const path = await save("statement.json", JSON.stringify(statement));
  const { code, stdout } = await runVerifyCommand([path, ...trustOptions]);
  expect(code).toBe(0);
  const people = "of the 2 named by the list, 2 different people; 1 of them eligible (50 %)";
  expect(stdout).toContain(`Statement on 1 March 2026: ${people}`);
  expect(stdout).toContain("Government College, Ikorodu, CENTRE-4711");
  expect(stdout).toMatch(/row 2 +999999, NOT_FOUND, not eligible, TEACHER_NOT_FOUND/);
  const { objects } = await runVerifyCommand([path, "--json", ...trustOptions]);
  const { rows, summary, statementId } = statement;
  expect(objects).toMatchObject([{ valid: true, verificationId: statementId, statement: { rows, summary } }]);
});

test.each([
  [
    "a genuine answer NOT_FOUND as valid, with the answer in red",
    [...trustOptions, inputPath("valid-not-found.json")],
    ["\u001b[31mAnswer on 1 March 2026: NOT_FOUND, not eligible, TEACHER_NOT_FOUND\u001b[0m"],
  ],
  [
    "in amber that the licence of an old answer has ended, with the URL of today's answer",
    [...trustOptions, "--now", "2030-06-01T00:00:00Z", file],
    [
      "\u001b[33mAnswer on 1 March 2026: VALID, eligible\u001b[0m",
      "\u001b[33mThe licence it speaks of ended on 31 May 2027. Today's answer: https://teachers.example/?tId=204417\u001b[0m",
    ],
  ],
])("tvs verify shows %s, and prints no word in green", async (_name, args, lines) => {
  const { code, stdout } = await runVerifyCommand(args, { color: true });
  expect(code).toBe(0);
  const [first, second, ...more] = stdout.split("\n");
  expect(first).toStartWith("valid  ");
  expect(second).toBe("  signature       genuine");
  expect(more.slice(0, lines.length)).toEqual(lines.map((line) => `  ${line}`));
  expect(stdout).not.toContain("\u001b[32m");
});

test('tvs verify prints FAILED for a failed check and "not made" for a skipped check', async () => {
  const { stdout } = await runVerifyCommand([...trustOptions, inputPath("compromised.json")]);
  expect(stdout).toContain("  FAILED   compromise ");
  expect(stdout).toContain("  not made window ");
  expect(stdout).not.toMatch(/^ *(NO|--) /m);
});

const alone = ["--key-history", keyHistoryFile, ...signer, file];

test("tvs verify says in its text and its JSON if trust rests on the key history alone", async () => {
  const both = await runVerifyCommand([...trustOptions, file]);
  expect([both.code, both.stdout]).toEqual([0, expect.not.stringContaining("rests on")]);
  const { code, stdout } = await runVerifyCommand(alone);
  const [kid, signedAt] = [keys.active.kid, "2026-02-01T00:00:00Z"];
  expect(code).toBe(0);
  expect(stdout).toContain(`trust rests on ${keyHistoryFile} alone, signed by key ${kid} on ${signedAt}`);
  const { objects } = await runVerifyCommand([...alone, "--json"]);
  const basis = { basis: "key-history", historySigner: kid, historySignedAt: signedAt };
  expect(objects[0]?.trust).toEqual(basis);
});

const listed = Object.values(envelopes)[0]?.input ?? "";

test("tvs verify shows the status list's verdict and the day of the list", async () => {
  const file = await save("listed.json", listed);
  const clear = await save("clear.jwt", statusList(pack()));
  const set = await save("set.jwt", statusList(pack(0)));
  const good = await runVerifyCommand([...trustOptions, "--status-list", clear, file]);
  expect(good.code).toBe(0);
  expect(good.stdout).toContain("status list     not withdrawn on 2026-03-01T11:00:00Z");
  const bad = await runVerifyCommand([...trustOptions, "--status-list", set, file]);
  expect(bad.code).toBe(1);
  expect(bad.stdout).toContain(`WITHDRAWN_SINCE: ${refusalReasons.WITHDRAWN_SINCE.explanation}`);
  expect(bad.stdout).toContain("status list     withdrawn on 2026-03-01T11:00:00Z");
  const { objects } = await runVerifyCommand([...trustOptions, "--json", "--status-list", set, file]);
  const found = { idx: 0, signedAt: "2026-03-01T11:00:00Z", withdrawn: true };
  expect(objects[0]?.statusList).toMatchObject(found);
});

test("tvs verify accepts a key history with the right --anchor, and refuses a wrong anchor or a stranger's history", async () => {
  const right = await runVerifyCommand([...alone, "--anchor", keys.active.kid, "--json"]);
  expect([right.code, right.objects[0]?.trust]).toMatchObject([0, { basis: "anchor" }]);
  const history = join(folder, "keys", "history-by-stranger.jose");
  for (const refused of [
    [...alone, "--anchor", keys.retired.kid, "--json"],
    ["--jwks", jwksFile, "--key-history", history, ...signer, inputPath("anchor-stranger.json"), "--json"],
  ]) {
    const { code, objects } = await runVerifyCommand(refused);
    expect([code, objects[0]?.reason]).toEqual([1, "KEY_HISTORY_NOT_ANCHORED"]);
  }
});

test("tvs verify --pack needs only the audience, and says that trust rests on the pack unless --anchor pins its key", async () => {
  const envelope = await save("packed/0.json", listed);
  const file = await save(
    "packed/pack.json",
    offlinePack(await readFile(keyHistoryFile, "utf8"), [statusList(pack())]),
  );
  const verify = (...words: string[]) => runVerifyCommand(["--pack", file, "--audience", audience, ...words]);
  const alone = await verify(envelope);
  expect(alone.code).toBe(0);
  const signed = `signed by key ${keys.active.kid} on 2026-02-01T00:00:00Z`;
  expect(alone.stdout).toContain(`trust rests on ${file} alone, ${signed}; --anchor pins its signer`);
  const pinned = await verify("--anchor", keys.active.kid, envelope);
  expect([pinned.code, pinned.stdout]).toEqual([0, expect.not.stringContaining("trust rests on")]);
  const wrong = await verify("--anchor", keys.retired.kid, "--json", envelope);
  expect(wrong.objects[0]?.reason).toBe("KEY_HISTORY_NOT_ANCHORED");
  // A folder's offline pack is not read as an envelope.
  const { objects } = await verify("--json", join(temp, "packed"));
  expect(objects.map((one) => one.file)).toEqual([envelope]);
});

const also = (...words: string[]) => [...trustOptions, file, ...words];
test.each<[string, string[], string]>([
  ["no keys", [...signer, file], "no keys to verify with"],
  ["no issuer", ["--jwks", jwksFile, "--audience", audience, file], "--issuer"],
  ["no audience", ["--jwks", jwksFile, "--issuer", issuer, file], "--audience"],
  ["no input", trustOptions, "nothing to verify"],
  ["a wrong --now", also("--now", "yesterday"), "--now"],
  ["a key set file that does not exist", ["--jwks", "/no/such", ...signer, file], "/no/such"],
  ["an endless key set", ["--jwks", "/dev/zero", ...signer, file], "larger than 4 MiB"],
  ["an anchor and no history", ["--jwks", jwksFile, ...signer, file, "--anchor", "x"], "--key-history FILE"],
  ["an empty anchor", [...alone, "--anchor", ""], "--anchor is empty"],
  ["a malformed anchor", [...alone, "--anchor", "active"], "43 characters"],
  ["--max-age alone", also("--max-age", "1d"), "--max-age is for status lists: give"],
  ["a wrong --max-age", also("--max-age", "soon", "--status-list", "x"), "--max-age must be a duration"],
  ["an empty --status-list", also("--status-list", ""), "--pack or --status-list is empty"],
  ["an empty --pack", also("--pack", ""), "--pack or --status-list is empty"],
  ["no status list file", also("--status-list", "x.jwt"), "x.jwt cannot be read: check the path"],
  ["no offline pack file", also("--pack", "x.json"), "x.json cannot be read: check the path"],
  ["a history as its pack", also("--pack", keyHistoryFile), `${keyHistoryFile} is no offline pack: fetch it`],
])("tvs verify with %s exits with 2 and one line", async (_name, args, expected) => {
  await expectRefusal(runVerifyCommand(args), 2, expected);
});
