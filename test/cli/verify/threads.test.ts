import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startVerifiers } from "../../../cli/verify/threads.ts";
import { runVerify } from "../../../cli/verify/verify.ts";
import { audience, folder, issuer, now } from "../../fixtures/envelope-tokens.ts";
import { makeFolder } from "../../harness/folder.ts";
import { rejection } from "../../harness/rejection.ts";

const entry = new URL("../../../cli/main.ts", import.meta.url);
const jwks = join(folder, "keys", "jwks.json");
const keyHistory = join(folder, "keys", "history.jose");
const settings = ["--jwks", jwks, "--key-history", keyHistory, "--issuer", issuer, "--audience", audience];
const threaded = { workerEntry: entry, threads: 2 };

let temp: string;
let remove: () => Promise<void>;

beforeEach(async () => {
  ({ path: temp, remove } = await makeFolder());
});
afterEach(() => remove());

async function run(args: string[], more: { workerEntry?: URL; threads?: number } = {}) {
  const parts: string[] = [];
  const code = await runVerify([...settings, ...args], {
    stdout: (piece) => {
      parts.push(piece);
    },
    stderr: () => {},
    env: {},
    now: () => new Date(now),
    ...more,
  });
  return { code, stdout: parts.join("") };
}

/** Every fixture on one line of its own, the hostile ones included, and lines that no envelope has. */
async function hostileLines(): Promise<Buffer[]> {
  const cases: { input: string }[] = JSON.parse(await readFile(join(folder, "cases.json"), "utf8"));
  const names = [...new Set(cases.map(({ input }) => input))];
  const contents = await Promise.all(names.map((name) => readFile(join(folder, "inputs", name))));
  const flat = contents.map((bytes) => Buffer.from(bytes.toString("latin1").replaceAll("\n", " "), "latin1"));
  const good = JSON.stringify(JSON.parse(await readFile(join(folder, "inputs", "valid.json"), "utf8")));
  const odd = [
    "",
    "\r",
    " ",
    "{}",
    "[]",
    "null",
    "a.b.c",
    "\u0000",
    '{"verificationId":"',
    `${good}\r`,
    ` ${good}`,
  ];
  return [good, ...odd, `${good}${good}`].map((line) => Buffer.from(line)).concat(flat, Buffer.from([0xff]));
}

/** Above the size from which lines are judged while they are read. */
async function writeLarge(): Promise<string> {
  const lines = await hostileLines();
  const round = Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")]));
  const path = join(temp, "large.ndjson");
  const first = Buffer.concat([lines[0] ?? Buffer.alloc(0), Buffer.from("\n")]);
  const rounds = Math.ceil((9 * 1024 * 1024) / round.length);
  await writeFile(path, Buffer.concat([first, ...Array.from({ length: rounds }, () => round)]));
  return path;
}

describe("on several threads", () => {
  test.each([[["--json"]], [[]]])("%p gives the same bytes as on one", async (flags) => {
    const path = await writeLarge();
    const [one, several] = [await run([...flags, path]), await run([...flags, path], threaded)];
    expect(several.code).toBe(one.code);
    expect(several.stdout.length).toBeGreaterThan(1_000_000);
    expect(several.stdout === one.stdout).toBe(true);
  });

  test("the short cut says what the strict reader says", async () => {
    const path = await writeLarge();
    const lines = (await readFile(path)).toString("latin1").split("\n");
    const part = join(temp, "part.ndjson");
    // Small enough to be read as a whole, where no short cut is taken.
    await writeFile(part, Buffer.from(lines.slice(0, 400).join("\n"), "latin1"));
    const strict = (await run(["--json", part])).stdout.replaceAll("part.ndjson", "large.ndjson");
    const fast = (await run(["--json", path], threaded)).stdout;
    expect(strict.length).toBeGreaterThan(10_000);
    expect(fast.startsWith(strict)).toBe(true);
  });
});

describe("a thread that fails", () => {
  const told = {
    sources: { issuer, jwks: "{}" },
    issuer,
    audience,
    nowMs: Date.parse(now),
    json: true,
    color: false,
  };

  test("at its start fails the start", async () => {
    const nowhere = new URL("./no-such-entry.ts", import.meta.url);
    expect(String(await rejection(startVerifiers(nowhere, told, 2)))).toContain("a verifier thread");
  });

  test("at its work fails the block, and every later one", async () => {
    const threads = await startVerifiers(entry, told, 2);
    const bytes = new Uint8Array(8);
    await threads.close();
    const block = { bytes, linesBefore: 0 };
    expect(String(await rejection(threads.judge(block, "x")))).toContain("verifier thread");
    expect(String(await rejection(threads.judge(block, "x")))).toContain("verifier thread");
  });
});
