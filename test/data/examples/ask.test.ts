import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { sharedFolder } from "../../harness/folder.ts";
import { runToEnd, type Service, startService } from "../../harness/program.ts";
import { environment, type Language, languages } from "./languages.ts";

const purpose = "BODYA_INVIGILATOR_ELIGIBILITY";
/** As nobody answers it: upper case, without spaces. */
const regNo = "tr/2019/la/ 000001";

const folder = sharedFolder();
let service: Service;
let apiKey: string;

beforeAll(async () => {
  service = await startService({ dataDir: join(folder, "data"), args: ["--sandbox"] });
  apiKey = /tvs_test_[0-9A-Za-z]{61}/.exec(service.stdout())?.[0] ?? "";
});
afterAll(() => service?.stop());

async function run(language: Language, words: readonly string[], key = apiKey) {
  const cwd = join(folder, `as-${language.name}`);
  await mkdir(cwd, { recursive: true });
  const env = environment(folder, { API_KEY: key });
  const { code, stdout: said, stderr: error } = await runToEnd(words, { cwd, env });
  return { code, said, error };
}

type Answer = { verificationId: string; verifiedAt: string; result: { certificate: { regNo: string } } };

/** What makes a genuine answer another one. Nothing is signed anew: to verify is another program's work. */
const changes = [
  {
    name: "another teacher",
    of: (answer: Answer) => {
      answer.result.certificate.regNo = "TR/2019/LA/000002";
    },
  },
  {
    name: "another verification",
    of: (answer: Answer) => {
      answer.verificationId = "019ca8bb-b5c2-7d10-a3fb-6c1e0b9a8f44";
    },
  },
  {
    name: "another time",
    of: (answer: Answer) => {
      answer.verifiedAt = new Date(Date.now() - 90_000).toISOString().replace(/\.\d+/, "");
    },
  },
];

/** The service as somebody between passes it on. */
function between(pass: (path: string, answer: Response) => Response | Promise<Response>) {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const body = request.method === "POST" ? { body: await request.text() } : {};
      const { method, headers } = request;
      return pass(pathname, await fetch(service.url + pathname, { method, headers, ...body }));
    },
  });
}

function changing({ of }: (typeof changes)[number]) {
  return between(async (path, answer) => {
    if (!path.endsWith("/eligibility-check")) return answer;
    const envelope = (await answer.json()) as Answer;
    of(envelope);
    const id = answer.headers.get("X-Verification-Id") ?? "";
    return Response.json(envelope, { headers: { "X-Verification-Id": id } });
  });
}

/** What is asked for the first time is not answered. */
function grudging() {
  const asked = new Set<string>();
  return between((path, answer) => {
    if (asked.has(path)) return answer;
    asked.add(path);
    return Response.json({ statusCode: 503, message: "not now" }, { status: 503 });
  });
}

describe.each([...languages])("$name's ask", (language) => {
  test.skipIf(!language.isHere)(
    `the example ask retries a sandbox, and verify accepts the saved answer, in ${language.name}`,
    async () => {
      const ask = await language.prepare("ask", folder);
      const somebody = grudging();
      const asked = await run(language, [...ask, somebody.url.origin, purpose, regNo]);
      await somebody.stop(true);
      expect(asked.code).toBe(0);
      expect(asked.said).toMatch(/"?status"?: ?"VALID"/);
      const verify = await language.prepare("verify", folder);
      const files = ["envelope.json", "jwks.json", "key-history.jose"];
      const verified = await run(language, [...verify, ...files, service.url, "demo"]);
      expect(verified).toEqual({ code: 0, said: "valid\n", error: "" });
    },
    120_000,
  );

  test.skipIf(!language.isHere)(
    `the example ask refuses a genuine answer to another question, in ${language.name}`,
    async () => {
      const ask = await language.prepare("ask", folder);
      const kept = join(folder, `as-${language.name}`, "envelope.json");
      for (const change of changes) {
        await rm(kept, { force: true });
        const somebody = changing(change);
        const asked = await run(language, [...ask, somebody.url.origin, purpose, regNo]);
        await somebody.stop(true);
        expect([change.name, asked.said, asked.error.trim()]).toEqual([
          change.name,
          "",
          "this answers another question",
        ]);
        expect(asked.code).not.toBe(0);
        expect(await Bun.file(kept).exists()).toBe(false);
      }
    },
    120_000,
  );

  test.skipIf(!language.isHere)(`the example ask says why it was refused, in ${language.name}`, async () => {
    const ask = await language.prepare("ask", folder);
    const refused = await run(language, [...ask, service.url, purpose, regNo], "tvs_test_nobody");
    expect(refused.code).not.toBe(0);
    expect(refused.error).toMatch(/CREDENTIAL_MISTYPED[\s\S]*API key/);
  });

  test.skipIf(!language.isHere)(
    `the example ask sends its key to no other address, in ${language.name}`,
    async () => {
      const taken: string[] = [];
      const elsewhere = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch(request) {
          taken.push(
            `${request.method} ${new URL(request.url).pathname} ${request.headers.get("Authorization")}`,
          );
          return Response.json({});
        },
      });
      const redirecting = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: () => new Response(null, { status: 302, headers: { Location: `${elsewhere.url}stolen` } }),
      });
      try {
        const ask = await language.prepare("ask", folder);
        const asked = await run(language, [...ask, redirecting.url.origin, purpose, regNo]);
        expect(taken).toEqual([]);
        expect(asked.code).not.toBe(0);
      } finally {
        await Promise.all([elsewhere.stop(true), redirecting.stop(true)]);
      }
    },
  );
});
