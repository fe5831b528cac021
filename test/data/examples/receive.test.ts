import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import vectors from "../../fixtures/webhooks/vectors.json" with { type: "json" };
import { waitForAnswer } from "../../harness/eventually.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { freePort } from "../../harness/free-port.ts";
import { runToEnd } from "../../harness/program.ts";
import { chooseForLanguage, languages, makeExampleEnvironment, testEachLanguage } from "./languages.ts";

type Vector = (typeof vectors)[number];

const folder = sharedFolder();

async function check(start: readonly string[], { secret, now, body, signature }: Vector) {
  const file = join(folder, "body.json");
  await writeFile(file, body);
  const words = [...start, "--check", file, signature, String(Date.parse(now) / 1000)];
  return runToEnd(words, { env: makeExampleEnvironment(folder, { TVS_WEBHOOK_SECRET: secret }) });
}

/** Sends a request as soon as the receiver listens. @returns the status of the answer */
async function statusOf(url: string, request: RequestInit): Promise<number | undefined> {
  const ask = () => fetch(url, request).catch(() => null);
  return (await waitForAnswer(ask, (answer) => answer !== null))?.status;
}

/** Makes a delivery of this moment with these digests; `genuine` means the right digest. */
function delivery(secret: string, digests: readonly string[], bytes = 0): RequestInit {
  const data = { tId: 1, regNo: "LA/2019/PRI/04417" };
  const event = JSON.stringify({ eventId: "1", eventType: "license.revoked", occurredAt: "", data });
  const body = event.padEnd(bytes, " ");
  const time = Math.floor(Date.now() / 1000);
  const genuine = createHmac("sha256", secret).update(`${time}.${body}`).digest("hex");
  const written = digests.map((digest) => `,v1=${digest === "genuine" ? genuine : digest}`).join("");
  return { method: "POST", body, headers: { "X-AGENCY-Signature": `t=${time}${written}` } };
}

testEachLanguage("the example receive gives the verdicts of the webhook test vectors", async (language) => {
  const start = await language.prepare("receive", folder);
  const chosen = chooseForLanguage(language, vectors);
  const found = [];
  for (const vector of chosen) {
    const { code, stdout, stderr } = await check(start, vector);
    found.push([vector.name, code, stdout.trim(), stderr]);
  }
  expect(found).toEqual(
    chosen.map(({ name, valid, reason }) => [name, valid ? 0 : 1, reason ?? "valid", ""]),
  );
});

testEachLanguage(
  "the example receive refuses to start with a missing or malformed secret",
  async (language) => {
    const start = await language.prepare("receive", folder);
    const [vector] = vectors as [Vector];
    for (const secret of ["", "whsec_x\n", " whsec_x", "\uFEFFwhsec_x", "whsec_\u00e9"]) {
      const { code, stdout, stderr } = await check(start, { ...vector, secret });
      expect([secret, code, stdout]).toEqual([secret, 2, ""]);
      expect(stderr).toContain("TVS_WEBHOOK_SECRET");
    }
  },
);

test("the example receive of each language parses the signature header with the pattern that all languages share", async () => {
  const sources = languages.map((one) => readFile(one.file("receive"), "utf8"));
  for (const source of await Promise.all(sources))
    expect(source).toContain("t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})");
});

testEachLanguage(
  "the example receive answers 204 to a genuine delivery, 400 to a forged delivery and 413 above 64 KiB",
  async (language) => {
    const [secret, port] = ["whsec_receiver", await freePort()];
    const child = Bun.spawn([...(await language.prepare("receive", folder))], {
      cwd: folder,
      env: makeExampleEnvironment(folder, { TVS_WEBHOOK_SECRET: secret, PORT: String(port) }),
      stdout: "ignore",
      stderr: "ignore",
    });
    try {
      const url = `http://127.0.0.1:${port}/`;
      const deliver = (...digests: string[]) => statusOf(url, delivery(secret, digests));
      expect(await deliver("genuine")).toBe(204);
      expect(await deliver("0".repeat(64), "genuine")).toBe(204);
      expect(await deliver("0".repeat(64))).toBe(400);
      expect(await deliver()).toBe(400);
      const large = delivery(secret, ["genuine"], 64 * 1024);
      expect(await statusOf(url, large)).toBe(204);
      expect(await statusOf(url, delivery(secret, ["genuine"], 64 * 1024 + 1))).toBe(413);
      expect(await statusOf(url, { method: "POST", body: "x".repeat(4_000_000) })).toBe(413);
      expect(await deliver("genuine")).toBe(204);
      expect(await statusOf(url, { method: "POST", body: "{}" })).toBe(400);
    } finally {
      child.kill();
      await child.exited;
    }
  },
  120_000,
  languages.filter(({ name }) => name !== "curl"), // a shell cannot listen
);
