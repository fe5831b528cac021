/** The example programs that call a service. They call a sandbox, or a proxy before it. */

import { afterAll, beforeAll, expect } from "bun:test";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Events } from "tvs/partner";
import { runJson } from "../../harness/command.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { runToEnd, type Service, startService } from "../../harness/program.ts";
import { type Language, makeExampleEnvironment, testEachLanguage } from "./languages.ts";

const purpose = "BODYA_INVIGILATOR_ELIGIBILITY";
/** Answers have this number in upper case, without spaces. */
const regNo = "tr/2019/la/ 000001";

const folder = sharedFolder();
let service: Service;
let apiKey: string;

beforeAll(async () => {
  service = await startService({ dataDir: join(folder, "data"), args: ["--sandbox"] });
  apiKey = /tvs_test_[0-9A-Za-z]{61}/.exec(service.stdout())?.[0] ?? "";
});
afterAll(() => service?.stop());

const folderOf = ({ name }: Language) => join(folder, `as-${name}`);

/** Runs a program in its language's own folder. */
async function run(language: Language, words: readonly string[], key = apiKey) {
  const cwd = folderOf(language);
  await mkdir(cwd, { recursive: true });
  const env = makeExampleEnvironment(folder, { API_KEY: key });
  const { code, stdout: said, stderr: error } = await runToEnd(words, { cwd, env });
  return { code, said, error };
}

type Answering = (request: Request) => Response | Promise<Response>;

/** Runs a function with the address of a server that answers in this way. */
async function withServer<T>(answer: Answering, act: (origin: string) => Promise<T>): Promise<T> {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  try {
    return await act(server.url.origin);
  } finally {
    await server.stop(true);
  }
}

async function forward(request: Request, search = ""): Promise<Response> {
  const { method, headers } = request;
  const body = method === "POST" ? { body: await request.text() } : {};
  return fetch(service.url + new URL(request.url).pathname + search, { method, headers, ...body });
}

const problem = (code: string, statusCode: number) =>
  Response.json({ statusCode, message: "no" }, { status: statusCode, headers: { "X-Error-Code": code } });
const redirect = (Location: string) => new Response(null, { status: 302, headers: { Location } });

type Answer = { verificationId: string; verifiedAt: string; result: { certificate: { regNo: string } } };

/** Changes after which the answer belongs to another question. The signature stays, because `ask` does not check it. */
const changes: Readonly<Record<string, (answer: Answer) => Partial<Answer>>> = {
  "another teacher": ({ result }) => ({
    result: { ...result, certificate: { ...result.certificate, regNo: "TR/2019/LA/000002" } },
  }),
  "another verification": () => ({ verificationId: "019ca8bb-b5c2-7d10-a3fb-6c1e0b9a8f44" }),
  "another time": () => ({
    verifiedAt: new Date(Date.now() - 90_000).toISOString().replace(/\.\d+/, ""),
  }),
};

const changing = (change: (answer: Answer) => Partial<Answer>) => async (request: Request) => {
  const answer = await forward(request);
  if (!request.url.endsWith("/eligibility-check")) return answer;
  const envelope = (await answer.json()) as Answer;
  const headers = { "X-Verification-Id": answer.headers.get("X-Verification-Id") ?? "" };
  return Response.json({ ...envelope, ...change(envelope) }, { headers });
};

/** Answers the first request of each path with 503. */
function failingOnce(): Answering {
  const asked = new Set<string>();
  return async (request) => {
    if (asked.has(request.url)) return forward(request);
    asked.add(request.url);
    return problem("OVERLOADED", 503);
  };
}

testEachLanguage(
  "the example ask retries a sandbox, and verify accepts the saved answer",
  async (language) => {
    const ask = await language.prepare("ask", folder);
    const asked = await withServer(failingOnce(), (origin) =>
      run(language, [...ask, origin, purpose, regNo]),
    );
    expect(asked.code).toBe(0);
    expect(asked.said).toMatch(/"?status"?: ?"VALID"/);
    const verify = await language.prepare("verify", folder);
    const files = ["envelope.json", "jwks.json", "key-history.jose"];
    const verified = await run(language, [...verify, ...files, service.url, "demo"]);
    expect(verified).toEqual({ code: 0, said: "valid\n", error: "" });
  },
);

testEachLanguage("the example ask refuses a genuine answer to another question", async (language) => {
  const ask = await language.prepare("ask", folder);
  const kept = join(folderOf(language), "envelope.json");
  for (const [name, change] of Object.entries(changes)) {
    await rm(kept, { force: true });
    const asked = await withServer(changing(change), (origin) =>
      run(language, [...ask, origin, purpose, regNo]),
    );
    expect([name, asked.said, asked.error.trim()]).toEqual([name, "", "this answers another question"]);
    expect(asked.code).not.toBe(0);
    expect(await Bun.file(kept).exists()).toBe(false);
  }
});

testEachLanguage("the example ask says why it was refused", async (language) => {
  const ask = await language.prepare("ask", folder);
  const refused = await run(language, [...ask, service.url, purpose, regNo], "tvs_test_nobody");
  expect(refused.code).not.toBe(0);
  expect(refused.error).toMatch(/CREDENTIAL_MISTYPED[\s\S]*API key/);
});

testEachLanguage("the example ask sends its key to no other address", async (language) => {
  const received: string[] = [];
  const elsewhere = ({ method, url, headers }: Request) => {
    received.push(`${method} ${new URL(url).pathname} ${headers.get("Authorization")}`);
    return Response.json({});
  };
  const ask = await language.prepare("ask", folder);
  const asked = await withServer(elsewhere, (stolen) =>
    withServer(
      () => redirect(`${stolen}/stolen`),
      (origin) => run(language, [...ask, origin, purpose, regNo]),
    ),
  );
  expect(received).toEqual([]);
  expect(asked.code).not.toBe(0);
});

/** Causes three events. @returns a line for each event of the sandbox, as the example prints it */
async function announce(): Promise<string[]> {
  const types = ["license.revoked", "license.expired", "teacher.deactivated"];
  for (const type of types) await runJson(["trigger", type], { dataDir: join(folder, "data") });
  const headers = { Authorization: `Bearer ${apiKey}` };
  const answer = await fetch(`${service.url}/v1/inter-agency/events`, { headers });
  const { data } = (await answer.json()) as Events;
  expect(data.map(({ eventType }) => eventType)).toEqual(expect.arrayContaining(types));
  return data.map(({ eventId, eventType, data: { regNo } }) => `${eventId} ${eventType} ${regNo}`);
}
let announced: Promise<string[]> | undefined;

testEachLanguage(
  "the example events fetches each event once, continues from its cursor, and says why a fetch failed",
  async (language) => {
    announced ??= announce();
    const lines = await announced;
    const start = await language.prepare("events", folder);
    const asked: [path: string, after: string | null, key: string | null][] = [];
    let answer: Answering = () => problem("OVERLOADED", 503);
    // This proxy asks the service for pages of one event.
    const inPages: Answering = (request) => {
      const { searchParams } = new URL(request.url);
      searchParams.set("limit", "1");
      return forward(request, `?${searchParams}`);
    };
    const listed: Answering = (request) => {
      const { pathname, searchParams } = new URL(request.url);
      asked.push([pathname, searchParams.get("after"), request.headers.get("Authorization")]);
      return answer(request);
    };
    await withServer(listed, async (origin) => {
      const fetchEvents = () => run(language, [...start, origin]);
      const early = await fetchEvents();
      expect(early).toMatchObject({ said: "", error: expect.stringContaining("OVERLOADED") });
      answer = inPages;
      const said = lines.map((line) => `${line}\n`).join("");
      expect(await fetchEvents()).toEqual({ code: 0, said, error: "" });
      const calls = asked.length;
      expect(calls).toBe(1 + lines.length);
      expect(await fetchEvents()).toEqual({ code: 0, said: "", error: "" });
      answer = () => redirect(`${origin}/stolen`);
      const led = await fetchEvents();
      answer = () => problem("EVENTS_GONE", 410);
      const gone = await fetchEvents();
      expect(gone).toMatchObject({ said: "", error: expect.stringContaining("EVENTS_GONE") });
      for (const { code } of [early, led, gone]) expect(code).not.toBe(0);
      // Each run asks from its cursor, also after a failure, and follows no redirect.
      const places = new Set(asked.slice(calls).map(String));
      expect([asked.length - calls, places.size]).toEqual([3, 1]);
      expect(asked.at(-1)).toEqual(["/v1/inter-agency/events", expect.any(String), `Bearer ${apiKey}`]);
    });
  },
);
