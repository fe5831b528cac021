import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sharedFolder } from "../../harness/folder.ts";
import { freePort } from "../../harness/free-port.ts";
import { environment, judgedBy, languages } from "./languages.ts";

type Vector = {
  readonly name: string;
  readonly secret: string;
  readonly now: string;
  readonly body: string;
  readonly signature: string;
  readonly valid: boolean;
  readonly reason: string | null;
};

const vectors: Vector[] = await Bun.file(
  join(import.meta.dir, "../../fixtures/webhooks/vectors.json"),
).json();

const folder = sharedFolder();

async function check(start: readonly string[], { secret, now, body, signature }: Vector) {
  const file = join(folder, "body.json");
  await writeFile(file, body);
  const child = Bun.spawn([...start, "--check", file, signature, String(Date.parse(now) / 1000)], {
    env: environment(folder, { TVS_WEBHOOK_SECRET: secret }),
    stdout: "pipe",
    stderr: "inherit",
  });
  const said = await new Response(child.stdout).text();
  return [await child.exited, said.trim()];
}

async function statusOf(url: string, request: RequestInit): Promise<number> {
  const giveUpMs = performance.now() + 30_000;
  for (;;) {
    const answer = await fetch(url, request).catch(() => null);
    if (answer !== null) return answer.status;
    if (performance.now() > giveUpMs) throw new Error(`nothing listens at ${url}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A delivery of this moment, with as many digests as are given; `genuine` stands for the right one. */
function delivery(secret: string, digests: readonly string[], bytes = 0): RequestInit {
  const data = { tId: 1, regNo: "LA/2019/PRI/04417" };
  const event = JSON.stringify({ eventId: "1", eventType: "license.revoked", occurredAt: "", data });
  const body = event.padEnd(bytes, " ");
  const time = Math.floor(Date.now() / 1000);
  const genuine = createHmac("sha256", secret).update(`${time}.${body}`).digest("hex");
  const written = digests.map((digest) => `,v1=${digest === "genuine" ? genuine : digest}`).join("");
  return { method: "POST", body, headers: { "X-AGENCY-Signature": `t=${time}${written}` } };
}

describe.each([...languages])("$name's receive", (language) => {
  test.skipIf(!language.isHere)(
    `the example receive gives the verdicts of the vectors, in ${language.name}`,
    async () => {
      const start = await language.prepare("receive", folder);
      const judged = judgedBy(language, vectors);
      const found = [];
      for (const vector of judged) found.push([vector.name, ...(await check(start, vector))]);
      expect(found).toEqual(
        judged.map(({ name, valid, reason }) => [name, valid ? 0 : 1, reason ?? "valid"]),
      );
    },
    120_000,
  );

  test.skipIf(!language.isHere)(
    `the example receive refuses to start with a missing or malformed secret, in ${language.name}`,
    async () => {
      const start = await language.prepare("receive", folder);
      for (const secret of ["", "whsec_x\n", " whsec_x", "\uFEFFwhsec_x", "whsec_\u00e9"]) {
        const [{ body, signature }] = vectors as [Vector];
        await writeFile(join(folder, "body.json"), body);
        const child = Bun.spawn([...start, "--check", join(folder, "body.json"), signature, "0"], {
          env: environment(folder, { TVS_WEBHOOK_SECRET: secret }),
          stdout: "pipe",
          stderr: "pipe",
        });
        expect(await new Response(child.stderr).text()).toContain("TVS_WEBHOOK_SECRET");
        expect(await new Response(child.stdout).text()).toBe("");
        expect([secret, await child.exited]).toEqual([secret, 2]);
      }
    },
  );

  test(`the example receive in ${language.name} reads the header by the common pattern`, async () => {
    const source = await readFile(language.file("receive"), "utf8");
    expect(source).toContain("t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})");
  });
});

const servers = languages.filter(({ name }) => name !== "curl");

describe.each(servers)("$name's receive as a server (a shell is none)", (language) => {
  test.skipIf(!language.isHere)(
    `the example receive answers 204 to a genuine delivery, 400 to a forged one and 413 above 64 KiB, in ${language.name}`,
    async () => {
      const [secret, port] = ["whsec_receiver", await freePort()];
      const child = Bun.spawn([...(await language.prepare("receive", folder))], {
        cwd: folder,
        env: environment(folder, { TVS_WEBHOOK_SECRET: secret, PORT: String(port) }),
        stdout: "ignore",
        stderr: "ignore",
      });
      try {
        const deliver = (...digests: string[]) =>
          statusOf(`http://127.0.0.1:${port}/`, delivery(secret, digests));
        expect(await deliver("genuine")).toBe(204);
        expect(await deliver("0".repeat(64), "genuine")).toBe(204);
        expect(await deliver("0".repeat(64))).toBe(400);
        expect(await deliver()).toBe(400);
        const url = `http://127.0.0.1:${port}/`;
        const large = delivery(secret, ["genuine"], 64 * 1024);
        expect(await statusOf(url, large)).toBe(204);
        expect(await statusOf(url, delivery(secret, ["genuine"], 64 * 1024 + 1))).toBe(413);
        expect(await statusOf(url, { method: "POST", body: "x".repeat(4_000_000) })).toBe(413);
        expect(await deliver("genuine")).toBe(204);
        const unsigned = { method: "POST", body: "{}" };
        expect(await statusOf(`http://127.0.0.1:${port}/`, unsigned)).toBe(400);
      } finally {
        child.kill();
        await child.exited;
      }
    },
  );
});
