import { beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runTvs } from "../../harness/command.ts";
import { sharedFolder } from "../../harness/folder.ts";
import type { RunOptions } from "../../harness/program.ts";

type Vector = {
  name: string;
  secret: string;
  now: string;
  body: string;
  signature: string;
  valid: boolean;
  reason: string | null;
};

const fixture = new URL("../../fixtures/webhooks/vectors.json", import.meta.url);
const vectors: Vector[] = JSON.parse(readFileSync(fixture, "utf8"));
const [genuine] = vectors as [Vector];

const folder = sharedFolder();
let bodyFile: string;

beforeAll(async () => {
  bodyFile = join(folder, "body.json");
  await writeFile(bodyFile, genuine.body);
});

function run(args: readonly string[], options: RunOptions = {}) {
  return runTvs(["verify-webhook", ...args], { dataDir: join(folder, "data"), ...options });
}

function flagsOf({ secret, signature, now }: Vector): string[] {
  return ["--secret", secret, "--signature", signature, "--now", now];
}

test("tvs verify-webhook names the event, or the reason and what to do", async () => {
  const good = await run([bodyFile, ...flagsOf(genuine)]);
  expect(good).toMatchObject({ code: 0, stderr: "" });
  expect(good.stdout).toMatch(/^genuine +true$/m);
  expect(good.stdout).toMatch(/^eventType +license\.revoked$/m);
  const bad = await run([bodyFile, ...flagsOf({ ...genuine, secret: "whsec_other" })]);
  expect(bad).toMatchObject({ code: 1, stderr: "" });
  expect(bad.stdout).toContain("SIGNATURE_MISMATCH");
  expect(bad.stdout).not.toContain("whsec_other");
});

test("tvs verify-webhook judges the bytes of the body as they are", async () => {
  const bytes = join(folder, "bytes");
  await writeFile(bytes, Uint8Array.from([0xef, 0xbb, 0xbf, 0xff, 0x0d, 0x0a]));
  const key = await crypto.subtle.importKey(
    "raw",
    Buffer.from("whsec_x"),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const signed = Buffer.concat([Buffer.from("1772366400."), readFileSync(bytes)]);
  const digest = Buffer.from(await crypto.subtle.sign("HMAC", key, signed)).toString("hex");
  const flags = flagsOf({ ...genuine, secret: "whsec_x", signature: `t=1772366400,v1=${digest}` });
  expect(JSON.parse((await run([bytes, ...flags, "--json"])).stdout)).toEqual({
    valid: true,
    reason: null,
    timestamp: 1772366400,
    event: null,
  });
  const people = await run([bytes, ...flags]);
  expect(people.stdout).toContain("no event of the contract");
  await writeFile(bytes, "\n", { flag: "a" });
  expect((await run([bytes, ...flags])).code).toBe(1);
});

test("the webhook secret may come from a file or the environment, and the flag comes first", async () => {
  const secretFile = join(folder, "secret.txt");
  const rest = ["--signature", genuine.signature, "--now", genuine.now];
  for (const end of ["", "\n", "\r\n"]) {
    await writeFile(secretFile, `${genuine.secret}${end}`);
    expect((await run([bodyFile, "--secret", `@${secretFile}`, ...rest])).code).toBe(0);
  }
  const env = { TVS_WEBHOOK_SECRET: genuine.secret };
  expect((await run([bodyFile, ...rest], { env })).code).toBe(0);
  expect((await run([bodyFile, ...rest, "--secret", "whsec_other"], { env })).code).toBe(1);
});

test.each<[name: string, content: string | Uint8Array, why: string]>([
  ["a byte order mark", `\uFEFF${genuine.secret}\n`, "byte order mark"],
  ["UTF-16 and a mark", Buffer.from(`\uFEFF${genuine.secret}`, "utf16le"), "UTF-16"],
  ["UTF-16 without a mark", Buffer.from(genuine.secret, "utf16le"), "UTF-16"],
  ["a space before it", ` ${genuine.secret}`, "white space"],
  ["two line ends", `${genuine.secret}\n\n`, "white space"],
  ["an accented letter", `${genuine.secret}\u00e9`, "characters that no secret has"],
  ["a byte that is no UTF-8", Buffer.concat([Buffer.from(genuine.secret), Buffer.of(0xe9)]), "characters"],
])("a secret file with %s is unreadable, and no webhook is refused", async (_name, content, why) => {
  const file = join(folder, "odd-secret.txt");
  await writeFile(file, content);
  const rest = ["--signature", genuine.signature, "--now", genuine.now];
  const { code, stdout, stderr } = await run([bodyFile, "--secret", `@${file}`, ...rest]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^tvs: .+\n$/);
  expect(stderr).toContain(why);
  expect(stderr).not.toContain(genuine.secret.slice(6));
});

test("tvs verify-webhook without --now goes by the machine's time", async () => {
  const { secret, signature } = genuine;
  const old = await run([bodyFile, "--secret", secret, "--signature", signature, "--json"]);
  expect(JSON.parse(old.stdout).reason).toBe("OUTSIDE_REPLAY_WINDOW");
});

test.each([
  ["no secret", ["FILE", "--signature", "x"], "--secret @FILE"],
  ["an empty secret", ["FILE", "--secret", "", "--signature", "x"], "--secret @FILE"],
  ["a secret's file that is not there", ["FILE", "--secret", "@/no/such", "--signature", "x"], "--secret"],
  ["no signature", ["FILE", "--secret", "whsec_x"], "--signature"],
  ["a time that is none", ["FILE", "--secret", "whsec_x", "--signature", "x", "--now", "now"], "--now"],
  ["a file that is not there", ["/no/such", "--secret", "whsec_x", "--signature", "x"], "cannot be read"],
  ["nothing on standard input", ["-", "--secret", "whsec_x", "--signature", "x"], "is empty"],
])("tvs verify-webhook with %s ends with 2 and one line", async (_name, words, named) => {
  const { code, stdout, stderr } = await run(words.map((word) => (word === "FILE" ? bodyFile : word)));
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^tvs: .+\n$/);
  expect(stderr).toContain(named);
  expect(stderr).not.toContain("whsec_x");
});

test("tvs verify-webhook makes no database", async () => {
  await run([bodyFile, ...flagsOf(genuine)]);
  expect(existsSync(join(folder, "data"))).toBe(false);
});
