import { describe, expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { sharedFolder } from "../../harness/folder.ts";
import { environment, languages } from "./languages.ts";

const folder = sharedFolder();

/** What the service has to tell, a page each; an iterator is the number of pages before, in characters to be encoded. */
const pages = [
  [{ eventId: "e1", eventType: "license.revoked", data: { regNo: "TR/2019/LA/000001" } }, { eventId: "e2" }],
  [{ eventId: "e3", eventType: "license.expired", data: { regNo: "TR/2019/LA/000002" } }],
].map((page) =>
  page.map((one) => ({ eventType: "license.verified", data: { regNo: "A/B/C/1" }, set: "x", ...one })),
);

const problem = (code: string, statusCode: number) =>
  Response.json({ statusCode, message: "no" }, { status: statusCode, headers: { "X-Error-Code": code } });

/** A service with these pages that answers otherwise when it is told to. */
function startEvents() {
  const asked: string[] = [];
  const state = { answer: null as (() => Response) | null };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      asked.push(`${pathname} ${searchParams.get("after") ?? "-"} ${request.headers.get("Authorization")}`);
      if (state.answer !== null) return state.answer();
      const at = Number(searchParams.get("after")?.replace("+/= ", "") ?? 0);
      const next = Math.min(at + 1, pages.length);
      return Response.json({ data: pages[at] ?? [], iterator: `+/= ${next}`, done: next === pages.length });
    },
  });
  return { asked, state, server };
}

describe.each([...languages])("$name's events", (language) => {
  test.skipIf(!language.isHere)(
    `fetches each event once, goes on where it was, and says why it could not, in ${language.name}`,
    async () => {
      const cwd = join(folder, `as-${language.name}`);
      await mkdir(cwd, { recursive: true });
      const start = await language.prepare("events", folder);
      const { asked, state, server } = startEvents();
      const run = async () => {
        const env = environment(folder, { API_KEY: "tvs_test_key" });
        const issuer = server.url.origin;
        const child = Bun.spawn([...start, issuer], { cwd, env, stdout: "pipe", stderr: "pipe" });
        const texts = [new Response(child.stdout).text(), new Response(child.stderr).text()];
        const [said = "", error = ""] = await Promise.all(texts);
        return { code: await child.exited, lines: said.split("\n").filter(Boolean), error };
      };
      try {
        state.answer = () => problem("OVERLOADED", 503);
        const early = await run();
        expect(early).toMatchObject({ lines: [], error: expect.stringContaining("OVERLOADED") });
        state.answer = null;
        expect(await run()).toEqual({
          code: 0,
          lines: [
            "e1 license.revoked TR/2019/LA/000001",
            "e2 license.verified A/B/C/1",
            "e3 license.expired TR/2019/LA/000002",
          ],
          error: "",
        });
        expect(await run()).toEqual({ code: 0, lines: [], error: "" });
        state.answer = () => Response.redirect(`${server.url}stolen`);
        const led = await run();
        state.answer = () => problem("EVENTS_GONE", 410);
        const gone = await run();
        expect(gone).toMatchObject({ lines: [], error: expect.stringContaining("EVENTS_GONE") });
        for (const { code } of [early, led, gone]) expect(code).not.toBe(0);
        expect(asked).toEqual(
          ["-", "-", "+/= 1", "+/= 2", "+/= 2", "+/= 2"].map(
            (after) => `/v1/inter-agency/events ${after} Bearer tvs_test_key`,
          ),
        );
      } finally {
        await server.stop(true);
      }
    },
    120_000,
  );
});
