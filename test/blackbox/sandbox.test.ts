import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { waitForAnswer } from "../harness/eventually.ts";
import { makeFolder } from "../harness/folder.ts";
import { runTvs, type Service, startService, testTimeoutMs } from "../harness/program.ts";
import { api } from "./world.ts";

setDefaultTimeout(testTimeoutMs);

let folder: Awaited<ReturnType<typeof makeFolder>>;
let service: Service;
/** The output of the sandbox before it listens. */
let printed: string;

beforeAll(async () => {
  folder = makeFolder();
  service = await startService({ dataDir: folder.path, args: ["--sandbox"] });
  printed = service.stdout();
});

afterAll(async () => {
  const code = await service?.stop();
  await folder?.remove();
  expect(code).toBe(0);
});

const demoKey = () => /tvs_test_[0-9A-Za-z]{61}/.exec(printed)?.[0] ?? "";

function lookUp(tId: number, key: string): Promise<Response> {
  return fetch(`${service.url}${api}/lookup/by-tid/${tId}`, { headers: { "x-agency-api-key": key } });
}

test("a starting sandbox prints a demo key and a curl command, then its URL, then a link to its console", async () => {
  expect(demoKey()).not.toBe("");
  expect(printed).toContain("curl");
  expect(printed).toContain(service.url);
  const last = new RegExp(
    `\nlistening on ${service.url}\nconsole (http://127\\.0\\.0\\.1:\\d+/open\\S+) .*\n$`,
  );
  const link = await waitForAnswer(
    async () => last.exec(service.stdout())?.[1],
    (found) => found !== undefined,
  );
  expect((await fetch(link ?? "", { redirect: "manual" })).status).toBe(303);
});

test("the first screen of a sandbox shows where to begin: first the URLs, then the demo key", async () => {
  const places = ["/", "/verify-envelope", `${api}/getting-started`, `${api}/docs`];
  const at = places.map((path) => printed.indexOf(` ${service.url}${path}\n`));
  expect(at.every((place) => place > 0 && place < printed.indexOf("tvs_test_"))).toBe(true);
  expect(printed.trim().split("\n").length).toBeLessThan(25);
  expect(printed.match(/^listening on http:/gm)).toHaveLength(1);
  const teachers = await runTvs(["sandbox", "teachers"], { dataDir: folder.path });
  expect(teachers.stdout).toMatch(/^TR\/2019\/LA\/000003 +1003 +99900000003 +licence revoked$/m);
  expect((await lookUp(1003, demoKey())).status).toBe(200);
});
