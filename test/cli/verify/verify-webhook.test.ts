import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import vectors from "../../fixtures/webhooks/vectors.json" with { type: "json" };
import { runTvs } from "../../harness/command.ts";
import { sharedFolder } from "../../harness/folder.ts";
import type { RunOptions } from "../../harness/program.ts";
import { expectRefusal } from "../../harness/refusal.ts";

const [{ secret, signature, now, body }] = vectors as [(typeof vectors)[number]];

const folder = sharedFolder();
const bodyFile = join(folder, "body.json");
writeFileSync(bodyFile, body);

function run(args: readonly string[], options: RunOptions = {}) {
  return runTvs(["verify-webhook", ...args], { dataDir: join(folder, "data"), ...options });
}

const rest = ["--signature", signature, "--now", now];

test("tvs verify-webhook prints the event, or the reason for the refusal and the remedy, and creates no database", async () => {
  const good = await run([bodyFile, "--secret", secret, ...rest]);
  expect(good).toMatchObject({ code: 0, stderr: "" });
  expect(good.stdout).toMatch(/^genuine +true$/m);
  expect(good.stdout).toMatch(/^eventType +license\.revoked$/m);
  const bad = await run([bodyFile, "--secret", "whsec_other", ...rest]);
  expect(bad).toMatchObject({ code: 1, stderr: "" });
  expect(bad.stdout).toContain("SIGNATURE_MISMATCH");
  expect(bad.stdout).not.toContain("whsec_other");
  expect(existsSync(join(folder, "data"))).toBe(false);
});

test("tvs verify-webhook checks the unchanged bytes of the body", async () => {
  const file = join(folder, "bytes");
  const bytes = Uint8Array.from([0xef, 0xbb, 0xbf, 0xff, 0x0d, 0x0a]);
  writeFileSync(file, bytes);
  const digest = createHmac("sha256", "whsec_x").update("1772366400.").update(bytes).digest("hex");
  const flags = ["--secret", "whsec_x", "--signature", `t=1772366400,v1=${digest}`, "--now", now];
  const { stdout } = await run([file, ...flags, "--json"]);
  expect(JSON.parse(stdout)).toEqual({ valid: true, reason: null, timestamp: 1772366400, event: null });
  expect((await run([file, ...flags])).stdout).toContain("no event of the contract");
  writeFileSync(file, "\n", { flag: "a" });
  expect((await run([file, ...flags])).code).toBe(1);
});

test("tvs verify-webhook reads the secret from an option, a file or the environment, and the option takes precedence", async () => {
  const secretFile = join(folder, "secret.txt");
  for (const end of ["", "\n", "\r\n"]) {
    writeFileSync(secretFile, `${secret}${end}`);
    expect((await run([bodyFile, "--secret", `@${secretFile}`, ...rest])).code).toBe(0);
  }
  const env = { TVS_WEBHOOK_SECRET: secret };
  expect((await run([bodyFile, ...rest], { env })).code).toBe(0);
  expect((await run([bodyFile, ...rest, "--secret", "whsec_other"], { env })).code).toBe(1);
});

test.each<[name: string, content: string | Uint8Array, why: string]>([
  ["a byte order mark", `\uFEFF${secret}\n`, "byte order mark"],
  ["two line breaks", `${secret}\n\n`, "white space"],
  ["a byte that is no UTF-8", Buffer.concat([Buffer.from(secret), Buffer.of(0xe9)]), "characters"],
])("tvs verify-webhook exits with 2 if the secret file has %s", async (_name, content, why) => {
  const file = join(folder, "odd-secret.txt");
  writeFileSync(file, content);
  const refused = await run([bodyFile, "--secret", `@${file}`, ...rest]);
  await expectRefusal(refused, 2, why);
  expect(refused.stderr).not.toContain(secret.slice(6));
});

test("tvs verify-webhook without --now uses the current time", async () => {
  const old = await run([bodyFile, "--secret", secret, "--signature", signature, "--json"]);
  expect(JSON.parse(old.stdout).reason).toBe("OUTSIDE_REPLAY_WINDOW");
});

const signed = ["--signature", "x"];
const known = ["--secret", "whsec_x"];

test.each([
  ["no secret", ["FILE", ...signed], "--secret @FILE"],
  ["an empty secret", ["FILE", "--secret", "", ...signed], "--secret @FILE"],
  ["a secret file that does not exist", ["FILE", "--secret", "@/no/such", ...signed], "--secret"],
  ["no signature", ["FILE", ...known], "--signature"],
  ["a wrong --now", ["FILE", ...known, ...signed, "--now", "now"], "--now"],
  ["a body file that does not exist", ["/no/such", ...known, ...signed], "cannot be read"],
  ["nothing on standard input", ["-", ...known, ...signed], "is empty"],
])("tvs verify-webhook with %s exits with 2 and one line", async (_name, words, named) => {
  const refused = await run(words.map((word) => (word === "FILE" ? bodyFile : word)));
  await expectRefusal(refused, 2, named);
  expect(refused.stderr).not.toContain("whsec_x");
});
