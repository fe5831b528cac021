import { afterAll, beforeAll, expect } from "bun:test";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { sharedFolder } from "../../harness/folder.ts";
import { runToEnd, type Service } from "../../harness/program.ts";
import { environment, type Language, startSandbox, testEach } from "./languages.ts";

const purpose = "BODYA_INVIGILATOR_ELIGIBILITY";
/** Answers spell it in upper case, without spaces. */
const regNo = "tr/2019/la/ 000001";

const folder = sharedFolder();
let service: Service;
let apiKey: string;

beforeAll(async () => {
  ({ service, apiKey } = await startSandbox(folder));
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

/** Changes that make the answer one to another question. The signature stays: `ask` does not verify it. */
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

/** A proxy before the service. */
function proxy(pass: (path: string, answer: Response) => Response | Promise<Response>) {
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
  return proxy(async (path, answer) => {
    if (!path.endsWith("/eligibility-check")) return answer;
    const envelope = (await answer.json()) as Answer;
    of(envelope);
    const id = answer.headers.get("X-Verification-Id") ?? "";
    return Response.json(envelope, { headers: { "X-Verification-Id": id } });
  });
}

/** A proxy that answers the first request of each path with 503. */
function failingOnce() {
  const asked = new Set<string>();
  return proxy((path, answer) => {
    if (asked.has(path)) return answer;
    asked.add(path);
    return Response.json({ statusCode: 503, message: "not now" }, { status: 503 });
  });
}

testEach("the example ask retries a sandbox, and verify accepts the saved answer", async (language) => {
  const ask = await language.prepare("ask", folder);
  const server = failingOnce();
  const asked = await run(language, [...ask, server.url.origin, purpose, regNo]);
  await server.stop(true);
  expect(asked.code).toBe(0);
  expect(asked.said).toMatch(/"?status"?: ?"VALID"/);
  const verify = await language.prepare("verify", folder);
  const files = ["envelope.json", "jwks.json", "key-history.jose"];
  const verified = await run(language, [...verify, ...files, service.url, "demo"]);
  expect(verified).toEqual({ code: 0, said: "valid\n", error: "" });
});

testEach("the example ask refuses a genuine answer to another question", async (language) => {
  const ask = await language.prepare("ask", folder);
  const kept = join(folder, `as-${language.name}`, "envelope.json");
  for (const change of changes) {
    await rm(kept, { force: true });
    const server = changing(change);
    const asked = await run(language, [...ask, server.url.origin, purpose, regNo]);
    await server.stop(true);
    expect([change.name, asked.said, asked.error.trim()]).toEqual([
      change.name,
      "",
      "this answers another question",
    ]);
    expect(asked.code).not.toBe(0);
    expect(await Bun.file(kept).exists()).toBe(false);
  }
});

testEach("the example ask says why it was refused", async (language) => {
  const ask = await language.prepare("ask", folder);
  const refused = await run(language, [...ask, service.url, purpose, regNo], "tvs_test_nobody");
  expect(refused.code).not.toBe(0);
  expect(refused.error).toMatch(/CREDENTIAL_MISTYPED[\s\S]*API key/);
});

testEach("the example ask sends its key to no other address", async (language) => {
  const received: string[] = [];
  const elsewhere = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      received.push(
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
    expect(received).toEqual([]);
    expect(asked.code).not.toBe(0);
  } finally {
    await Promise.all([elsewhere.stop(true), redirecting.stop(true)]);
  }
});
